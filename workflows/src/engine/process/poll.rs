//! When a worker looks into its queue: at once when a wake was pushed, and every second in any case. The queue's own strategies lose
//! wake-ups (a source that fires while it is polled leaves no waker behind); here each source is polled until it is pending.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use apalis_core::backend::ext::poll_strategy::{PollSnapshot, PollStrategy};
use futures::stream::{BoxStream, Stream, StreamExt, unfold};
use muniment_domain::db::Db;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

/// The longest that a wake can be overlooked.
const EVERY: Duration = Duration::from_secs(1);

/// A timer and a bell.
pub struct BellOrTimer {
    timer: Pin<Box<Sleep>>,
    rings: BoxStream<'static, ()>,
    bell: watch::Receiver<u64>,
}

impl BellOrTimer {
    /// Listens to the bell of a database.
    pub fn new(db: &Db) -> Self {
        Self::with(db.bell())
    }

    fn with(bell: watch::Receiver<u64>) -> Self {
        let rings = unfold(bell.clone(), |mut bell| async move {
            // The sender lives as long as the database handle: when it is gone there is nothing left to look into.
            bell.changed().await.ok()?;
            Some(((), bell))
        });
        Self { timer: Box::pin(sleep(EVERY)), rings: rings.boxed(), bell }
    }
}

impl Clone for BellOrTimer {
    fn clone(&self) -> Self {
        Self::with(self.bell.clone())
    }
}

impl PollStrategy for BellOrTimer {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let mut fired = false;
        while self.timer.as_mut().poll(cx).is_ready() {
            self.timer.as_mut().reset(Instant::now() + EVERY);
            fired = true;
        }
        while let Poll::Ready(ring) = Pin::new(&mut self.rings).poll_next(cx) {
            if ring.is_none() {
                break;
            }
            fired = true;
        }
        if fired { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}
