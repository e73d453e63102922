//! The time limit for an answer of the database.

use std::time::Duration;

/// Longer than the server's own limit of a statement. A server that is gone answers never, and nothing else would notice.
pub(super) const ANSWER: Duration = Duration::from_secs(40);

/// The time limit for a commit. A synchronous replica can be slow.
pub(crate) const COMMITTED: Duration = Duration::from_secs(40);

/// Waits for an answer of the server, but not for ever.
pub async fn answered<T>(limit: Duration, asked: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| {
        let why = format!("the database did not answer within {limit:?}");
        Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, why)))
    })
}
