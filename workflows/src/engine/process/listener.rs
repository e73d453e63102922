//! Listens for the wakes and sends of other processes.

use muniment_domain::db::{PUSHED, Pools};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::queue::SENT;

/// Notifies this process of wakes and sends of other processes. SQLite serves one process, which notifies itself.
pub async fn listen(engine: Engine, stop: CancellationToken) {
    let db = &engine.db;
    let Pools::Postgres(pool) = db.pools() else { return stop.cancelled().await };
    while !stop.is_cancelled() {
        let heard = async {
            let mut listener = sqlx::postgres::PgListener::connect_with(pool).await?;
            listener.listen_all([PUSHED, SENT]).await?;
            loop {
                let notification = listener.recv().await?;
                if notification.channel() == PUSHED {
                    db.notify_wake(notification.payload());
                } else if let Some(network) = notification.payload().parse().ok().and_then(|id| engine.network(id)) {
                    network.sent.notify_one();
                }
            }
        };
        let failed: std::result::Result<std::convert::Infallible, sqlx::Error> = tokio::select! {
            () = stop.cancelled() => return,
            failed = heard => failed,
        };
        let Err(error) = failed;
        tracing::warn!("wakes of other processes arrive a second late until the connection is back: {error}");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}
