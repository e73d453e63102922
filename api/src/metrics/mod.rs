//! `GET /metrics` for Prometheus, on a listener of its own: the figures are for operators alone.

mod request;
mod state;

use std::fmt::Error;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use muniment_domain::db::Db;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
pub use request::Requests;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The names and values that tell the figures of one metric apart.
type Labels = Vec<(&'static str, String)>;

#[derive(Clone)]
struct Sources {
    db: Db,
    requests: Requests,
}

/// Serves the figures until it is told to stop.
pub async fn serve(db: Db, requests: Requests, listener: TcpListener, stop: CancellationToken) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(Failure::new)?;
    tracing::info!(metrics.address = %address, "serving metrics");
    let router = Router::new().route("/metrics", get(read)).with_state(Sources { db, requests });
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await.map_err(Failure::new)
}

async fn read(State(sources): State<Sources>) -> Response {
    let answer = match state::registry(&sources.db).await {
        Ok(state) => page(&sources.requests, &state).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match answer {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(cause) => {
            tracing::warn!(error.cause = cause, "metrics were not read");
            (StatusCode::SERVICE_UNAVAILABLE, "The database does not answer.\n").into_response()
        }
    }
}

fn page(requests: &Requests, state: &prometheus_client::registry::Registry) -> Result<String, Error> {
    let mut text = String::new();
    encode_registry(&mut text, &requests.registry())?;
    encode_registry(&mut text, state)?;
    encode_eof(&mut text)?;
    Ok(text)
}
