//! When a worker reads its queue: at each notification of the database handle. The queue library's own strategies lose wake-ups: a source that
//! fires while it is polled leaves no waker behind. Here it is polled until it is pending.

use std::pin::Pin;
use std::task::{Context, Poll};

use apalis_core::backend::ext::poll_strategy::{PollSnapshot, PollStrategy};
use futures::stream::{BoxStream, Stream, StreamExt, unfold};
use muniment_domain::db::Db;
use tokio::sync::watch;

/// The notifications of a queue.
pub struct Notified {
    rings: BoxStream<'static, ()>,
    signal: watch::Receiver<u64>,
}

impl Notified {
    /// Listens to the notifications of a queue.
    pub fn new(db: &Db, queue: &'static str) -> Self {
        Self::with(db.wake_signal(queue))
    }

    fn with(signal: watch::Receiver<u64>) -> Self {
        let rings = unfold(signal.clone(), |mut signal| async move {
            // The sender lives as long as the database handle. Without it there is no queue to read.
            signal.changed().await.ok()?;
            Some(((), signal))
        });
        Self { rings: rings.boxed(), signal }
    }
}

impl Clone for Notified {
    fn clone(&self) -> Self {
        Self::with(self.signal.clone())
    }
}

impl PollStrategy for Notified {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let mut fired = false;
        while let Poll::Ready(Some(())) = Pin::new(&mut self.rings).poll_next(cx) {
            fired = true;
        }
        if fired { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use muniment_domain::clock::Clock;
    use muniment_domain::id::Ids;
    use muniment_domain::migrate;
    use muniment_domain::point::Point;

    use super::*;
    use crate::engine::queue::{self, DESK, TIMER};
    use crate::engine::queue_tables;

    #[tokio::test]
    async fn a_new_job_wakes_the_workers_of_its_queue_alone() {
        let db = Db::open("sqlite::memory:", 1, Clock::System, Ids::Random).await.unwrap();
        migrate::run(&db).await.unwrap();
        queue_tables::migrate(&db).await.unwrap();
        let (timer, desk) = (db.wake_signal(TIMER), db.wake_signal(DESK));
        let mut tx = db.begin().await.unwrap();
        let now = tx.now();
        queue::wake_id(&mut tx, TIMER, "an id", now).await.unwrap();
        assert!(!timer.has_changed().unwrap(), "nothing is committed yet");
        tx.commit(Point::Sweep).await.unwrap();
        assert_eq!((timer.has_changed().unwrap(), desk.has_changed().unwrap()), (true, false));
        // As another process notifies of its job.
        db.notify_wake(DESK);
        assert!(desk.has_changed().unwrap());
    }
}
