//! HTTP in front of [`Devchain::handle`].

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::{Devchain, rpc};

const REQUEST_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The interval of checks of the schedule while no mining interval is set.
const IDLE_POLL: Duration = Duration::from_millis(250);

/// Serves until `shutdown`, then lets the requests in flight end.
pub(crate) async fn serve(chain: Devchain, listener: TcpListener, shutdown: CancellationToken) -> Result<()> {
    let router = Router::new()
        .route("/", post(answer))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(chain.clone());
    let server = axum::serve(listener, router).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let mining = tokio::spawn(shutdown.run_until_cancelled_owned(mine_at_intervals(chain)));
    let served = server.await.map_err(Error::Serve);
    mining.abort();
    served
}

async fn answer(State(chain): State<Devchain>, body: Bytes) -> impl IntoResponse {
    // A request may wait for the disk or run long code, so it leaves the async threads alone.
    let answered = tokio::task::spawn_blocking(move || {
        let response = match serde_json::from_slice::<Value>(&body) {
            Ok(request) => chain.handle(request),
            Err(_) => rpc::parse_error(),
        };
        response.to_string()
    });
    let text = answered.await.unwrap_or_else(|_| rpc::internal_error().to_string());
    ([(CONTENT_TYPE, "application/json")], text)
}

async fn mine_at_intervals(chain: Devchain) {
    loop {
        let interval = rpc::block_time(&chain.inner);
        tokio::time::sleep(interval.unwrap_or(IDLE_POLL)).await;
        // The schedule may have been changed meanwhile; then this tick is void.
        if interval.is_some() && rpc::block_time(&chain.inner) == interval {
            let miner = chain.clone();
            let _ = tokio::task::spawn_blocking(move || rpc::mine_one(&miner.inner)).await;
        }
    }
}
