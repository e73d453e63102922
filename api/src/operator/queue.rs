//! `GET /blockchain/queue`: what the queue holds, who works on it, and whether the loops of the engine turn.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_workflows::engine::queue_state;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

/// The queue.
#[derive(Serialize, ToSchema)]
#[schema(as = Queue)]
pub struct View {
    /// The unfinished jobs of each queue, by status. At most 10000 jobs are counted.
    waiting: Vec<Waiting>,
    /// The workers, those that were seen last first.
    workers: Vec<Worker>,
    /// When it was read.
    as_of: Instant,
}

/// Unfinished jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = QueueWaiting)]
struct Waiting {
    /// The name of the queue.
    #[schema(example = "mint")]
    queue: String,
    /// The status: `Pending`, `Queued` or `Running`.
    #[schema(example = "Pending")]
    status: String,
    /// The number of jobs.
    jobs: i64,
    /// When the first of them is due, or was.
    first_due_at: Option<Instant>,
}

/// A worker.
#[derive(Serialize, ToSchema)]
#[schema(as = QueueWorker)]
struct Worker {
    #[schema(example = "mint-1")]
    id: String,
    /// The queue that it works on.
    #[schema(example = "mint")]
    queue: String,
    /// When it was last seen.
    seen_at: Option<Instant>,
}

/// Read the queue of the engine.
///
/// The queue only wakes operations. An operation never depends on a job alone.
#[utoipa::path(
    get,
    path = "/blockchain/queue",
    responses((status = 200, body = View)),
)]
pub async fn read(State(app): State<App>, uri: Uri) -> Result<Json<View>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let waiting = queue_state::waiting(&mut tx).await?.into_iter().map(|one| Waiting {
        queue: one.queue,
        status: one.status,
        jobs: one.jobs,
        first_due_at: one.first_due_at.map(Instant),
    });
    let waiting = waiting.collect();
    let workers = queue_state::workers(&mut tx).await?.into_iter().map(|one| Worker {
        id: one.id,
        queue: one.queue,
        seen_at: one.seen_at.map(Instant),
    });
    Ok(Json(View { waiting, workers: workers.collect(), as_of: Instant(tx.now()) }))
}
