//! The REST interface as a role of the process.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::failure::Failure;
use crate::router::router;

/// Takes the address, or says who else may have it.
pub async fn bind(address: SocketAddr, key: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::new(match error.kind() {
            std::io::ErrorKind::AddrInUse => format!(
                "{address} is in use by another process. Stop that one, or choose another port by {key}, for example {key}=127.0.0.1:{}.",
                address.port().wrapping_add(1).max(1024)
            ),
            _ => format!("{address} cannot be listened on: {error}. Choose another address by {key}."),
        })
    })
}

/// Answers until told to stop, and then finishes what was begun.
pub async fn serve(app: App, listener: TcpListener, stop: CancellationToken) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(Failure::new)?;
    tracing::info!(server.address = %address, "listening");
    axum::serve(listener, router(app)).with_graceful_shutdown(stop.cancelled_owned()).await.map_err(Failure::new)
}
