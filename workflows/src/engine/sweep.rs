//! The sweep: every unfinished operation has its next time, and one whose time has passed gets a wake. It never reads the queue's tables:
//! if they were emptied, nothing is lost.

use std::collections::HashSet;

use chrono::{DateTime, Duration, Utc};
use muniment_domain::operation::{self, Operation};
use muniment_domain::point::Point;
use muniment_domain::{
    Result, attempt_counter, audit, email_link, idempotency, login_attempt, session, wallet_challenge,
};

use crate::engine::Engine;
use crate::engine::queue;

/// How many rows of a table one commit forgets.
const FORGOTTEN_PER_PASS: i64 = 500;
/// How many operations one commit wakes.
const WAKES_PER_PASS: i64 = 500;
/// How many lines of the audit log one commit seals.
const SEALS_PER_PASS: i64 = 500;
/// How many a starting process wakes at once; the sweep has the rest.
const WAKES_AT_START: i64 = 5000;

/// Wakes what is overdue; how many it was.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let overdue = operation::unfinished_overdue(&mut tx, now, far(engine, now), WAKES_PER_PASS).await?;
    let mut woken = 0;
    for wake in engine.platform.overdue {
        woken += wake(&mut tx, now).await?;
    }
    if overdue.is_empty() && woken == 0 {
        return Ok(0);
    }
    // One that acted between our look and our write has a time of its own.
    let soon = now + Duration::seconds(operation::PATIENCE_SECONDS);
    let postponed: HashSet<String> = operation::postpone_all(&mut tx, &overdue, soon).await?.into_iter().collect();
    let due: Vec<&Operation> = overdue.iter().filter(|op| postponed.contains(&op.id)).collect();
    queue::wake_all(&mut tx, &due).await?;
    woken += due.len();
    tx.commit(Point::Sweep).await?;
    Ok(woken)
}

/// Seals lines of the audit log; how many it were.
pub async fn seal(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let sealed = audit::seal(&mut tx, SEALS_PER_PASS).await?;
    if sealed > 0 {
        tx.commit(Point::Seal).await?;
    }
    Ok(sealed)
}

/// Later than any pause that begins now can end.
fn far(engine: &Engine, now: DateTime<Utc>) -> DateTime<Utc> {
    let settings = &engine.settings;
    let longest = 2 * settings.backoff_cap_seconds + settings.outage_pause_seconds;
    now + Duration::seconds(longest.cast_signed() + queue::LINE_SECONDS + 2 * operation::PATIENCE_SECONDS)
}

/// Forgets what nobody asks for any more: answers past their day, counters and attempts of old, what ended long ago, finished jobs of the
/// queue. A commit takes a part of each, so that whoever writes beside it does not wait for the whole.
pub async fn prune(engine: &Engine) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    queue::prune(&mut tx, engine.settings.queue_retention_hours).await?;
    tx.commit(Point::Housekeeping).await?;
    loop {
        let mut tx = engine.db.begin().await?;
        let forgotten = [
            idempotency::prune(&mut tx, FORGOTTEN_PER_PASS).await?,
            login_attempt::prune(&mut tx, FORGOTTEN_PER_PASS).await?,
            attempt_counter::prune(&mut tx, FORGOTTEN_PER_PASS).await?,
            session::prune(&mut tx, FORGOTTEN_PER_PASS).await?,
            email_link::prune(&mut tx, FORGOTTEN_PER_PASS).await?,
            wallet_challenge::prune(&mut tx, FORGOTTEN_PER_PASS).await?,
        ];
        tx.commit(Point::Housekeeping).await?;
        if forgotten.iter().all(|rows| *rows < FORGOTTEN_PER_PASS.cast_unsigned()) {
            return Ok(());
        }
    }
}

/// Wakes, at start, every operation that was about to act: whoever had its wake may be gone. Those in a pause keep their time.
pub async fn wake_all(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let soon = now + Duration::seconds(operation::PATIENCE_SECONDS);
    let due = operation::unfinished_overdue(&mut tx, soon, far(engine, now), WAKES_AT_START).await?;
    let woken: Vec<&Operation> = due.iter().filter(|op| op.faults == 0).collect();
    queue::wake_all(&mut tx, &woken).await?;
    tx.commit(Point::Sweep).await?;
    Ok(woken.len())
}
