//! A worker process: the queue's workers, the loop of each chain, and the sweep, until the process stops.

use std::time::Duration;

use futures::FutureExt;
use muniment_domain::id::OperationId;
use muniment_domain::{Error, Result};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::process::intake::{self, Intake};
use crate::engine::process::queue_worker::{BATCH, QueueWorker};
use crate::engine::process::submitters::Submitters;
use crate::engine::process::{due, job, keeper, listener};
use crate::engine::queue::{OPERATIONS, OTHERS};
use crate::engine::sweep;

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
        for (chain_id, network) in &*self.networks {
            network.commits.share();
            tasks.spawn(keeper::keep(self.clone(), *chain_id, stop.clone()).map(|()| Ok(())));
            tasks.spawn(intake::refill(self.clone(), submitters.clone(), *chain_id, stop.clone()).map(|()| Ok(())));
        }
        tasks.spawn(keeper::keep_sweeping(self.clone(), stop.clone()).map(|()| Ok(())));
        tasks.spawn(listener::listen(self.clone(), stop.clone()).map(|()| Ok(())));
        let queues = [OPERATIONS, OTHERS].concat();
        tasks.spawn(due::look(self.db.clone(), queues, stop.clone()).map(|()| Ok(())));
        // Wakes of operations are only handed to the intake.
        let wakes = OPERATIONS.map(|queue| (queue, intake::WAITING_MAX));
        for (queue, batch) in wakes.into_iter().chain(OTHERS.map(|queue| (queue, BATCH))) {
            tasks.spawn(work(&self, intake.clone(), queue, batch).run(stop.clone()));
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

/// The worker of one queue. A failed job is recorded in the row of its id.
fn work(engine: &Engine, intake: Intake, queue: &'static str, batch: usize) -> QueueWorker {
    let woken = engine.clone();
    let handle = move |id: String| {
        let (engine, intake) = (woken.clone(), intake.clone());
        let handled = async move {
            match OperationId::is_kind_of(&id) {
                true => intake.wake(&id.into()).await,
                false => job::run(&engine, &id).await,
            }
        };
        handled.boxed()
    };
    QueueWorker {
        db: engine.db.clone(),
        holder: engine.holder.name().to_owned(),
        queue,
        concurrency: engine.settings.concurrency,
        batch,
        drain: Duration::from_secs(engine.settings.drain_seconds),
        handle: std::sync::Arc::new(handle),
    }
}
