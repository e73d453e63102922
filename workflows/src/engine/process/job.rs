//! The limits of one job: a time limit, and a catch for panics.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use muniment_domain::Result;
use tokio::time::timeout;

use crate::engine::Engine;

/// Time limit of one move.
const MOVE: Duration = Duration::from_secs(60);

/// Makes a move. An error, a panic and a timeout are returned as the reason. In the queue a panic would leave the job running for ever.
pub async fn attempt<T>(moves: impl Future<Output = Result<T>>) -> std::result::Result<T, String> {
    match timeout(MOVE, AssertUnwindSafe(moves).catch_unwind()).await {
        Ok(Ok(made)) => made.map_err(|error| error.to_string()),
        Ok(Err(_)) => Err("it panicked".to_owned()),
        Err(_) => Err(format!("it took over {MOVE:?}")),
    }
}

/// Runs the job of an id. If it fails, the sweep finds the row again.
pub async fn run(engine: &Engine, id: &str) {
    let Some(job) = engine.platform.jobs.iter().find(|job| (job.of)(id)) else {
        return tracing::error!(job.id = id, "a wake with an unknown kind of id was dropped");
    };
    if let Err(why) = attempt((job.run)(engine, id)).await {
        tracing::error!(job.id = id, job.name = job.name, "the job is tried again later: {why}");
    }
}
