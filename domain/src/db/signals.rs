//! Who is notified after a commit: this process at once, other processes by the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;

use crate::Result;
use crate::sql::{Conn, ConnectionCache, Gathered, answered, sql};

/// The channel on which a process names the queues that it pushed wakes to.
pub const PUSHED: &str = "muniment::pushed";
/// The time limit for a connection to tell others. Later they have looked for themselves.
const CONNECTED: Duration = Duration::from_secs(5);
/// The pause after others were told. Under load each commit has news, and the server wakes every listener for each.
const GATHER: Duration = Duration::from_millis(5);

/// What a commit notifies others of.
#[derive(Debug, Default)]
pub(super) struct News {
    /// The queues with a new job that is due now.
    pub queues: BTreeSet<&'static str>,
    /// What other processes alone need to know: the channel and the text.
    pub elsewhere: BTreeSet<(&'static str, String)>,
    /// Whether an event was written.
    pub has_event: bool,
}

/// Those who wait in this process, and the way to other processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// One for each queue with a worker here. A worker asks the database whenever its task is woken, so the others must not be.
    wake: Arc<Mutex<BTreeMap<&'static str, watch::Sender<u64>>>>,
    event: Arc<watch::Sender<u64>>,
    others: Option<Arc<Others>>,
}

impl Signals {
    /// Of a database that other processes use as well.
    pub fn shared(pool: &PgPool) -> Self {
        let others = Others { pool: pool.clone(), untold: Mutex::default() };
        Self { others: Some(Arc::new(others)), ..Self::default() }
    }

    pub fn of_queue(&self, queue: &'static str) -> watch::Receiver<u64> {
        self.wake().entry(queue).or_default().subscribe()
    }

    pub fn of_events(&self) -> watch::Receiver<u64> {
        self.event.subscribe()
    }

    pub fn ring(&self, queue: &str) {
        if let Some(signal) = self.wake().get(queue) {
            signal.send_modify(|n| *n = n.wrapping_add(1));
        }
    }

    /// Notifies all of a commit.
    pub fn tell(&self, news: News) {
        news.queues.iter().for_each(|queue| self.ring(queue));
        if news.has_event {
            self.event.send_modify(|n| *n = n.wrapping_add(1));
        }
        if let Some(others) = &self.others {
            let pushed = news.queues.into_iter().map(|queue| (PUSHED, queue.to_owned()));
            others.tell(pushed.chain(news.elsewhere).collect());
        }
    }

    fn wake(&self) -> MutexGuard<'_, BTreeMap<&'static str, watch::Sender<u64>>> {
        self.wake.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Other processes. They are told after the commit and not in it: PostgreSQL lets only one transaction with a notification commit at a time,
/// so each would wait for the syncs of all before it. A process that ends in between tells nobody, and the others look within a second.
#[derive(Debug)]
struct Others {
    pool: PgPool,
    /// What nobody was told yet. None while no task tells it.
    untold: Mutex<Option<BTreeSet<(&'static str, String)>>>,
}

impl Others {
    /// Tells this at once, or with the next news if others were told just before.
    fn tell(self: &Arc<Self>, news: BTreeSet<(&'static str, String)>) {
        if news.is_empty() {
            return;
        }
        let mut untold = self.untold();
        if let Some(waiting) = &mut *untold {
            waiting.extend(news);
            return;
        }
        *untold = Some(news);
        let others = self.clone();
        tokio::spawn(async move {
            while let Some(news) = others.next() {
                // Without it the others find the jobs when they look.
                _ = others.send(news).await;
                tokio::time::sleep(GATHER).await;
            }
        });
    }

    /// What is to be told now. None ends the task.
    fn next(&self) -> Option<BTreeSet<(&'static str, String)>> {
        let mut untold = self.untold();
        let news = untold.take().filter(|news| !news.is_empty())?;
        *untold = Some(BTreeSet::new());
        Some(news)
    }

    async fn send(&self, news: BTreeSet<(&'static str, String)>) -> Result<()> {
        let mut conn = Conn::Postgres(
            answered(CONNECTED, ConnectionCache::default().acquire(&self.pool)).await?,
            Gathered::none(),
        );
        for (channel, text) in news {
            sql("select pg_notify($1, $2)").bind((channel, text)).execute(&mut conn).await?;
        }
        Ok(())
    }

    fn untold(&self) -> MutexGuard<'_, Option<BTreeSet<(&'static str, String)>>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
