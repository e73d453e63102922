//! A worker process: the queue's workers, the loop of each chain, and the sweep, until the process stops.

use std::time::Duration;

use apalis::prelude::{Data, Monitor, WorkerBuilder, WorkerBuilderExt};
use apalis_core::backend::ext::BackendExt;
use apalis_postgres::PostgresStorage;
use apalis_sqlite::SqliteStorage;
use futures::FutureExt;
use muniment_domain::db::Pools;
use muniment_domain::{Error, Result};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::process::intake::{self, Intake};
use crate::engine::process::poll::NotifyOrTimer;
use crate::engine::process::submitter::Submitters;
use crate::engine::process::{job, keeper, listener};
use crate::engine::queue::QUEUES;
use crate::engine::sweep;

const HEARTBEAT: Duration = Duration::from_secs(5);
const MISSED_HEARTBEATS: usize = 6;
/// How many jobs one read of a queue takes.
const BATCH: usize = 64;
/// The pause between two looks whether the database is back.
const AWAY: Duration = Duration::from_secs(1);
/// How often in a row a queue's worker may fail before the process ends, so that its supervisor notices.
const RESTARTS_MAX: u32 = 60;

impl Engine {
    /// Runs this process until it is told to stop, then lets the moves in progress finish.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        // Its own token: when a part of the engine fails, the others of this process must not end before the reason is told.
        let stop = stop.child_token();
        let submitters = Submitters::new(self.clone());
        let (intake, moves) = Intake::start(self.clone(), submitters.clone());
        if let Err(error) = sweep::wake_all(&self).await {
            tracing::error!("unfinished operations are woken by the sweep: {error}");
        }
        let mut tasks = JoinSet::new();
        for chain_id in self.networks.keys() {
            tasks.spawn(keeper::keep(self.clone(), *chain_id, stop.clone()).map(|()| Ok(())));
            tasks.spawn(intake::refill(self.clone(), submitters.clone(), *chain_id, stop.clone()).map(|()| Ok(())));
        }
        tasks.spawn(keeper::keep_sweeping(self.clone(), stop.clone()).map(|()| Ok(())));
        tasks.spawn(listener::listen(self.clone(), stop.clone()).map(|()| Ok(())));
        for queue in QUEUES {
            tasks.spawn(work(self.clone(), intake.clone(), queue, stop.clone()));
        }
        let mut ended = Ok(());
        while let Some(task) = tasks.join_next().await {
            let result = task.unwrap_or_else(|e| Err(Error::Worker(format!("a part of the engine panicked: {e}"))));
            if !stop.is_cancelled() && result.is_ok() {
                ended = Err(Error::Worker("a part of the engine ended without being told to".to_owned()));
            }
            if ended.is_ok() {
                ended = result;
            }
            // A process with a part missing would seem alive and do nothing.
            stop.cancel();
        }
        let drain = Duration::from_secs(self.settings.drain_seconds);
        drop(intake);
        let drained = async {
            // No new wakes arrive. Moves in progress reach their lanes, and every lane finishes its steps.
            if let Err(error) = moves.await {
                tracing::error!("the intake of wakes failed: {error}");
            }
            submitters.drain().await;
        };
        if timeout(drain, drained).await.is_err() {
            tracing::warn!("moves were still in progress after {drain:?}; they continue after the next start");
        }
        self.holder.release_all(&self.db).await?;
        ended
    }
}

/// Runs the worker of one queue. The library ends it on any database error, so it is built again, each time under a new name. Each queue
/// has its own monitor: a shared one waits for its last worker, and would leave a queue without a worker until then.
async fn work(engine: Engine, intake: Intake, queue: &'static str, stop: CancellationToken) -> Result<()> {
    let mut failures = 0;
    while !stop.is_cancelled() {
        let started = tokio::time::Instant::now();
        let ended = monitor(&engine, &intake, queue)
            .shutdown_timeout(Duration::from_secs(engine.settings.drain_seconds))
            .run_with_signal(stop.clone().cancelled_owned().map(|()| Ok(())))
            .await;
        if stop.is_cancelled() {
            break;
        }
        if !engine.db.answers().await {
            // The database may be away for hours. All loops wait for it, and nothing is lost.
            tracing::error!(
                worker.queue = queue,
                "the database does not answer; the queue is read again when it does: {ended:?}"
            );
            while !stop.is_cancelled() && !engine.db.answers().await {
                sleep(AWAY).await;
            }
            failures = 0;
            continue;
        }
        failures = if started.elapsed() > Duration::from_secs(60) { 1 } else { failures + 1 };
        tracing::error!(
            worker.queue = queue,
            worker.failures = failures,
            "a queue worker ended and is started again: {ended:?}"
        );
        if failures > RESTARTS_MAX {
            return Err(Error::Worker("a queue worker fails repeatedly; see the log".to_owned()));
        }
        sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

fn monitor(engine: &Engine, intake: &Intake, name: &'static str) -> Monitor {
    let own = format!("{}-{name}-{}", engine.holder.name(), engine.db.ids().new_id("run", engine.db.clock().now()));
    let (engine, intake, db) = (engine.clone(), intake.clone(), engine.db.clone());
    let concurrency = engine.settings.concurrency.max(1);
    match db.pools().clone() {
        Pools::Sqlite { write, .. } => {
            let config = apalis_sqlite::Config::default()
                .queue(name)
                .batch_size(BATCH)
                .heartbeat_interval(HEARTBEAT)
                .missed_heartbeats(MISSED_HEARTBEATS);
            Monitor::new().register(move |_| {
                let storage = SqliteStorage::<Value>::new(&write).with_config(config.clone());
                WorkerBuilder::new(own.clone())
                    .backend(storage.poll_with_strategy(NotifyOrTimer::new(&db)))
                    .concurrency(concurrency)
                    .data(engine.clone())
                    .data(intake.clone())
                    .build(handle)
            })
        }
        Pools::Postgres(pool) => {
            let config = apalis_postgres::Config::default()
                .queue(name)
                .batch_size(BATCH)
                .heartbeat_interval(HEARTBEAT)
                .missed_heartbeats(MISSED_HEARTBEATS);
            Monitor::new().register(move |_| {
                let storage = PostgresStorage::<Value>::new(&pool).with_config(config.clone());
                WorkerBuilder::new(own.clone())
                    .backend(storage.poll_with_strategy(NotifyOrTimer::new(&db)))
                    .concurrency(concurrency)
                    .data(engine.clone())
                    .data(intake.clone())
                    .build(handle)
            })
        }
    }
}

/// Runs one job. For the queue it always succeeds: a failure is recorded in the row of the job's id.
async fn handle(job: Value, engine: Data<Engine>, intake: Data<Intake>) {
    match job.as_str() {
        Some(operation_id) if operation_id.starts_with("op_") => intake.wake(operation_id).await,
        Some(id) => job::run(&engine, id).await,
        None => tracing::error!("a wake without an id was dropped: {job}"),
    }
}
