//! Timers ring: a subject whose time has come is looked at by its own noun, in one commit that also sets its next time. A wake makes that
//! punctual, the sweep makes it sure.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::{Error, Result, distribution as distributions, offering as domain, timer};

use crate::engine::Engine;
use crate::engine::queue;
use crate::investor::kyc;
use crate::payout::distribution;
use crate::{offering, subscription};

/// The kinds of ids whose wakes are timers' and nothing else; a distribution's may also be its snapshot's.
pub const KINDS: [&str; 3] = ["off_", "sub_", "inv_"];

/// How many one pass of the sweep rings.
const RINGS_PER_PASS: i64 = 200;
/// How long one that failed is left alone, in seconds.
const PAUSE_SECONDS: i64 = 60;

/// Sets when a subject is looked at next, with a wake at that time; none means never.
pub async fn set(tx: &mut Tx, subject_id: &str, at: Option<DateTime<Utc>>) -> Result<()> {
    timer::set(tx, subject_id, at).await?;
    match at {
        Some(at) => queue::wake_id(tx, queue::TIMER, subject_id, at).await,
        None => Ok(()),
    }
}

/// Looks at a subject if its time has come. A ring too many, or too early, changes nothing.
pub async fn ring(engine: &Engine, subject_id: &str) -> Result<()> {
    let rung = look(engine, subject_id).await;
    match &rung {
        Ok(()) | Err(Error::Crashed(_)) => {}
        // Whoever moved it meanwhile has set its time too.
        Err(Error::Stale { .. }) => return Ok(()),
        Err(_) => pause(engine, subject_id).await?,
    }
    rung
}

/// Each noun reads its row again, does what is due by `tx.now()` and answers with its next time. It does at most a page of work: what is
/// left has the next time now.
async fn look(engine: &Engine, subject_id: &str) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    // As every other move takes them: two who took the offering and the timer the other way round would wait for each other.
    match subject_id.split_once('_').map(|(prefix, _)| prefix) {
        Some("off") => _ = domain::hold(&mut tx, subject_id).await?,
        Some("sub") => subscription::hold_offering_of(&mut tx, subject_id).await?,
        Some("dist") => _ = distributions::lock(&mut tx, subject_id).await?,
        _ => {}
    }
    if timer::hold(&mut tx, subject_id).await?.is_none_or(|due| due > now) {
        return Ok(());
    }
    let next = match subject_id.split_once('_').map(|(prefix, _)| prefix) {
        Some("off") => offering::on_timer(&mut tx, subject_id).await?,
        Some("sub") => subscription::on_timer(&mut tx, subject_id).await?,
        Some("inv") => kyc::on_timer(&mut tx, subject_id).await?,
        Some("dist") => distribution::on_timer(&mut tx, subject_id).await.map(|()| None)?,
        _ => {
            tracing::error!(timer.subject = subject_id, "a timer of a kind that nobody knows was dropped");
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
    timer::set(&mut tx, subject_id, Some(later)).await?;
    tx.commit(Point::Timer).await
}

/// Rings what is overdue, wake or no wake; how many it was.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let overdue = timer::due(&mut tx, now, RINGS_PER_PASS).await?;
    drop(tx);
    for subject_id in &overdue {
        if let Err(error) = ring(engine, subject_id).await {
            tracing::error!(timer.subject = subject_id, "it is looked at again later: {error}");
        }
    }
    Ok(overdue.len())
}
