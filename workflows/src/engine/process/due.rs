//! Looks each second for queues with due jobs, and lets their workers read them: a delayed job becomes due without a commit, and the
//! notification of another process can be lost. One question for all queues costs less than each worker's claim.

use std::time::Duration;

use muniment_domain::Result;
use muniment_domain::db::Db;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::engine::queue_tables;

/// The longest delay of a wake without a notification.
const EVERY: Duration = Duration::from_secs(1);

/// Notifies the workers of these queues until the process stops.
pub async fn look(db: Db, queues: Vec<&'static str>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match due(&db, &queues).await {
            Ok(due) => due.iter().for_each(|queue| db.notify_wake(queue)),
            Err(error) => tracing::warn!("due jobs are looked for again in a second: {error}"),
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(EVERY) => {}
        }
    }
}

async fn due(db: &Db, queues: &[&'static str]) -> Result<Vec<String>> {
    queue_tables::with_due_jobs(&mut db.read().await?, queues).await
}

#[cfg(test)]
mod tests {
    use chrono::Duration;
    use muniment_domain::clock::Clock;
    use muniment_domain::id::Ids;
    use muniment_domain::migrate;
    use muniment_domain::point::Point;

    use super::*;
    use crate::engine::queue::{self, DESK, OTHERS, TIMER};

    #[tokio::test]
    async fn a_queue_is_due_when_a_job_of_it_is() {
        let db = Db::open("sqlite::memory:", 1, Clock::System, Ids::Random).await.unwrap();
        migrate::run(&db).await.unwrap();
        queue_tables::migrate(&db).await.unwrap();
        assert_eq!(due(&db, &OTHERS).await.unwrap(), [""; 0]);
        let mut tx = db.begin().await.unwrap();
        let now = tx.now();
        queue::wake_id(&mut tx, TIMER, "an id", now).await.unwrap();
        queue::wake_id(&mut tx, DESK, "another id", now + Duration::hours(1)).await.unwrap();
        tx.commit(Point::Sweep).await.unwrap();
        assert_eq!(due(&db, &OTHERS).await.unwrap(), [TIMER]);
        assert_eq!(due(&db, &[DESK]).await.unwrap(), [""; 0]);
    }
}
