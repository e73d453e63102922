//! Timers ring: a subject whose time has come is looked at by its own noun, in one commit that also sets its next time. A wake makes that
//! punctual, the sweep makes it sure.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::{Error, Result, timer as timers};

use crate::engine::Engine;
use crate::engine::queue;

/// How many one pass of the sweep rings.
const RINGS_PER_PASS: i64 = 200;
/// How long one that failed is left alone, in seconds.
const PAUSE_SECONDS: i64 = 60;

/// Sets when a subject is looked at next, with a wake at that time; none means never.
pub async fn set(tx: &mut Tx, subject_id: &str, at: Option<DateTime<Utc>>) -> Result<()> {
    timers::set(tx, subject_id, at).await?;
    match at {
        Some(at) => queue::wake_id(tx, queue::TIMER, subject_id, at).await,
        None => Ok(()),
    }
}

/// Looks at a subject if its time has come. A ring too many, or too early, changes nothing.
pub async fn ring(engine: &Engine, subject_id: &str) -> Result<()> {
    let rung = act(engine, subject_id).await;
    match &rung {
        Ok(()) | Err(Error::Crashed(_)) => {}
        // Whoever moved it meanwhile has set its time too.
        Err(Error::Stale { .. }) => return Ok(()),
        Err(_) => pause(engine, subject_id).await?,
    }
    rung
}

/// Does what is due by now, and sets the next time, in one commit. A timer does at most a page of work: what is left has the next time now.
async fn act(engine: &Engine, subject_id: &str) -> Result<()> {
    let timer = engine.platform.timers.iter().find(|timer| subject_id.starts_with(timer.prefix));
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    if let Some(timer) = timer {
        (timer.lock)(&mut tx, subject_id).await?;
    }
    if timers::hold(&mut tx, subject_id).await?.is_none_or(|due| due > now) {
        return Ok(());
    }
    let next = match timer {
        Some(timer) => (timer.act)(&mut tx, subject_id).await?,
        None => {
            tracing::error!(timer.subject = subject_id, "no timer is known for this subject; its time was removed");
            None
        }
    };
    set(&mut tx, subject_id, next).await?;
    tx.commit(Point::Timer).await
}

/// One that cannot be done must not keep the sweep from the others.
async fn pause(engine: &Engine, subject_id: &str) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let later = tx.now() + Duration::seconds(PAUSE_SECONDS);
    timers::set(&mut tx, subject_id, Some(later)).await?;
    tx.commit(Point::Timer).await
}

/// Rings what is overdue, wake or no wake; how many it was.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let overdue = timers::due(&mut tx, now, RINGS_PER_PASS).await?;
    drop(tx);
    for subject_id in &overdue {
        if let Err(error) = ring(engine, subject_id).await {
            tracing::error!(timer.subject = subject_id, "it is looked at again later: {error}");
        }
    }
    Ok(overdue.len())
}
