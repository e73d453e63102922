//! Timers: a due subject makes its moves in one commit that also sets its next time. The wake makes this punctual, and the sweep makes it
//! reliable.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::{Error, Result, timer as timers};

use crate::engine::Engine;
use crate::engine::queue;

/// Timers that one pass of the sweep runs.
const RINGS_PER_PASS: i64 = 200;
/// Pause after a failed timer, in seconds.
const PAUSE_SECONDS: i64 = 60;

/// Sets the next time of a subject, with a wake at that time. None means never.
pub async fn set(tx: &mut Tx, subject_id: &str, at: Option<DateTime<Utc>>) -> Result<()> {
    timers::set(tx, subject_id, at).await?;
    match at {
        Some(at) => queue::wake_id(tx, queue::TIMER, subject_id, at).await,
        None => Ok(()),
    }
}

/// Runs the timer of a subject if it is due. A superfluous or early call changes nothing.
pub async fn run(engine: &Engine, subject_id: &str) -> Result<()> {
    let rung = act(engine, subject_id).await;
    match &rung {
        Ok(()) | Err(Error::Crashed(_)) => {}
        // Another move changed the subject meanwhile, and has set its time.
        Err(Error::Stale { .. }) => return Ok(()),
        Err(_) => pause(engine, subject_id).await?,
    }
    rung
}

/// Makes the due moves and sets the next time, in one commit. A timer does at most one page of work. If more is left, the next time is now.
async fn act(engine: &Engine, subject_id: &str) -> Result<()> {
    let timer = engine.platform.timers.iter().find(|timer| (timer.of)(subject_id));
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    if let Some(timer) = timer {
        (timer.lock)(&mut tx, subject_id).await?;
    }
    if timers::lock_row(&mut tx, subject_id).await?.is_none_or(|due| due > now) {
        return Ok(());
    }
    let next = match timer {
        Some(timer) => (timer.act)(&mut tx, subject_id).await?,
        None => {
            tracing::error!(timer.subject = subject_id, "this subject has no known timer; its time was removed");
            None
        }
    };
    set(&mut tx, subject_id, next).await?;
    tx.commit(Point::Timer).await
}

/// Postpones a failed timer, so that it does not keep the sweep from the others.
async fn pause(engine: &Engine, subject_id: &str) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let later = tx.now() + Duration::seconds(PAUSE_SECONDS);
    timers::set(&mut tx, subject_id, Some(later)).await?;
    tx.commit(Point::Timer).await
}

/// Runs overdue timers, and returns their number.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let overdue = timers::due(&mut tx, now, RINGS_PER_PASS).await?;
    drop(tx);
    for subject_id in &overdue {
        if let Err(error) = run(engine, subject_id).await {
            tracing::error!(timer.subject = subject_id, "the timer is run again later: {error}");
        }
    }
    Ok(overdue.len())
}
