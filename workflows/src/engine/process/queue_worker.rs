//! The worker of one queue: takes the ids of its wakes and passes them on, until the process stops.

use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::{Data, Monitor, WorkerBuilder, WorkerBuilderExt};
use apalis_core::backend::ext::BackendExt;
use apalis_core::worker::event::Event;
use apalis_postgres::PostgresStorage;
use apalis_sqlite::SqliteStorage;
use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_domain::db::{Db, Pools};
use muniment_domain::id::of;
use muniment_domain::{Error, Result};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::engine::process::poll::Notified;

const HEARTBEAT: Duration = Duration::from_secs(5);
const MISSED_HEARTBEATS: usize = 6;
/// After so long without a heartbeat a worker hangs: the library asks the database without a limit, and a half-open connection never answers.
/// Longer than the server lets a statement take.
const SILENCE: Duration = Duration::from_secs(45);
/// How many jobs one read of a queue takes, where other processes may have nothing to do.
pub const BATCH: usize = 64;
/// The pause between two looks whether the database is back.
const AWAY: Duration = Duration::from_secs(1);
/// How often in a row a queue's worker may fail before the process ends, so that its supervisor notices.
const RESTARTS_MAX: u32 = 60;

/// Does what a woken id needs. For the queue it always succeeds.
pub type Handle = Arc<dyn Fn(String) -> BoxFuture<'static, ()> + Send + Sync>;

/// The worker of one queue.
#[derive(Clone)]
pub struct QueueWorker {
    /// The database with the queue.
    pub db: Db,
    /// The name of this process.
    pub holder: String,
    /// The queue.
    pub queue: &'static str,
    /// Jobs that are handled at once.
    pub concurrency: usize,
    /// Jobs that one read of the queue takes. To take, start and acknowledge them are commits of their own.
    pub batch: usize,
    /// How long a stop waits for the jobs in progress.
    pub drain: Duration,
    /// What is done with an id.
    pub handle: Handle,
}

impl QueueWorker {
    /// Runs until the process stops. The library ends a worker on any database error, so it is built again, each time under a new name, and so
    /// is a worker that hangs. Each queue has its own monitor: a shared one waits for its last worker, and would leave a queue without a
    /// worker until then.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        let mut failures = 0;
        while !stop.is_cancelled() {
            let started = tokio::time::Instant::now();
            let alive = Arc::new(Notify::new());
            let monitor = self.monitor().on_event({
                let alive = alive.clone();
                move |_, event| {
                    if matches!(event, Event::HeartBeat) {
                        alive.notify_one();
                    }
                }
            });
            let running =
                monitor.shutdown_timeout(self.drain).run_with_signal(stop.clone().cancelled_owned().map(|()| Ok(())));
            let ended = tokio::select! {
                ended = running => format!("{ended:?}"),
                () = silent(&alive, &stop) => format!("no heartbeat for {SILENCE:?}"),
            };
            if stop.is_cancelled() {
                break;
            }
            if !self.db.answers().await {
                // The database may be away for hours. All loops wait for it, and nothing is lost.
                tracing::error!(
                    worker.queue = self.queue,
                    "the database does not answer; the queue is read again when it does: {ended}"
                );
                while !stop.is_cancelled() && !self.db.answers().await {
                    sleep(AWAY).await;
                }
                failures = 0;
                continue;
            }
            failures = if started.elapsed() > Duration::from_secs(60) { 1 } else { failures + 1 };
            tracing::error!(
                worker.queue = self.queue,
                worker.failures = failures,
                "a queue worker ended and is started again: {ended}"
            );
            if failures > RESTARTS_MAX {
                return Err(Error::Worker("a queue worker fails repeatedly; see the log".to_owned()));
            }
            sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    fn monitor(&self) -> Monitor {
        let db = self.db.clone();
        let own = format!("{}-{}-{}", self.holder, self.queue, db.ids().new_id::<of::WorkerRun>(db.clock().now()));
        let (queue, handle, concurrency) = (self.queue, self.handle.clone(), self.concurrency.max(1));
        match db.pools().clone() {
            Pools::Sqlite { write, .. } => {
                let config = apalis_sqlite::Config::default()
                    .queue(self.queue)
                    .batch_size(self.batch)
                    .heartbeat_interval(HEARTBEAT)
                    .missed_heartbeats(MISSED_HEARTBEATS);
                Monitor::new().register(move |_| {
                    let storage = SqliteStorage::<Value>::new(&write).with_config(config.clone());
                    WorkerBuilder::new(own.clone())
                        .backend(storage.poll_with_strategy(Notified::new(&db, queue)))
                        .concurrency(concurrency)
                        .data(handle.clone())
                        .build(pass_on)
                })
            }
            Pools::Postgres(pool) => {
                let config = apalis_postgres::Config::default()
                    .queue(self.queue)
                    .batch_size(self.batch)
                    .heartbeat_interval(HEARTBEAT)
                    .missed_heartbeats(MISSED_HEARTBEATS);
                Monitor::new().register(move |_| {
                    let storage = PostgresStorage::<Value>::new(&pool).with_config(config.clone());
                    WorkerBuilder::new(own.clone())
                        .backend(storage.poll_with_strategy(Notified::new(&db, queue)))
                        .concurrency(concurrency)
                        .data(handle.clone())
                        .build(pass_on)
                })
            }
        }
    }
}

/// Returns when a worker has given no heartbeat for too long. While the process stops, the worker may take its time.
async fn silent(alive: &Notify, stop: &CancellationToken) {
    while timeout(SILENCE, alive.notified()).await.is_ok() || stop.is_cancelled() {}
}

/// Runs one job.
async fn pass_on(job: Value, handle: Data<Handle>) {
    match job.as_str() {
        Some(id) => handle(id.to_owned()).await,
        None => tracing::error!("a wake without an id was dropped: {job}"),
    }
}
