//! The REST API as a role of the process.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::app::App;
use crate::failure::Failure;
use crate::http::origin::Peer;
use crate::http::places::Places;
use crate::server::media;
use crate::server::router::router;
use crate::server::stalled::Stalled;

/// How much of a head is read before the connection is closed. It is more than allowed, so that an answer can name the limit.
const HEAD_BYTES_READ: usize = 2 * media::HEAD_BYTES_MAX;
/// How long a caller may take to send the head.
const HEAD_SECONDS_MAX: u64 = 10;
/// How long a caller may leave an answer unread. Longer than the pause between two heartbeats of a stream.
const UNREAD_MAX: Duration = Duration::from_secs(30);
/// How long to wait before the next connection is tried after the system refused one.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);

/// Takes the address, or says who else may have it.
pub async fn bind(address: SocketAddr, key: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::new(match error.kind() {
            std::io::ErrorKind::AddrInUse => format!(
                "Another process uses {address}. Stop it, or set another port with {key}, for example {key}=127.0.0.1:{}.",
                address.port().wrapping_add(1).max(1024)
            ),
            _ => format!("The server cannot listen on {address}: {error}. Set another address with {key}."),
        })
    })
}

/// Serves until it is told to stop, then finishes the open requests.
pub async fn serve(app: App, listener: TcpListener, stop: CancellationToken) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(Failure::new)?;
    let room = Arc::new(Semaphore::new(app.limits.connections_max));
    let (limits, by_address) = (app.limits.clone(), Places::default());
    let (router, connections) = (router(app, stop.clone()), TaskTracker::new());
    tracing::info!(server.address = %address, "listening");
    while let Some(accepted) = stop.run_until_cancelled(accept(&listener, &room)).await {
        let (stream, peer, place) = accepted?;
        let most =
            if limits.trusted_proxies.contains(&peer.0) { usize::MAX } else { limits.connections_per_address_max };
        let Some(held) = by_address.take(peer.network(), most) else { continue };
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            converse(stream, peer, router, stop).await;
            drop((place, held));
        });
    }
    connections.close();
    connections.wait().await;
    Ok(())
}

/// The next connection, when there is room for one more; until then callers wait in the system's queue.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Result<(TcpStream, Peer, tokio::sync::OwnedSemaphorePermit), Failure> {
    let place = room.clone().acquire_owned().await.map_err(Failure::new)?;
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return Ok((stream, Peer(address.ip().to_canonical()), place)),
            // Out of file descriptors, or a caller that left: neither is a reason to stop serving the others.
            Err(error) => {
                tracing::warn!(error.cause = %error, "a connection was not accepted");
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
        }
    }
}

/// One connection until it ends. A caller that sends its head drop by drop loses it.
async fn converse(stream: TcpStream, peer: Peer, router: Router, stop: CancellationToken) {
    // Answers are small and whole: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_SECONDS_MAX))
        .max_buf_size(HEAD_BYTES_READ)
        .serve_connection(TokioIo::new(Stalled::new(stream, UNREAD_MAX)), service);
    let mut connection = pin!(connection);
    let ended = match stop.run_until_cancelled(connection.as_mut()).await {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error.cause = %error, "a connection failed");
    }
}
