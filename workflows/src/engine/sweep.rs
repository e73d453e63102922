//! The sweep: every unfinished operation has its next time, and an overdue one gets a wake. The sweep never reads the queue's tables, so
//! nothing is lost if they are emptied. A starting process does, so that it pushes no wake that is there.

use std::collections::HashSet;

use chrono::{DateTime, Duration, Utc};
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation};
use muniment_domain::point::Point;
use muniment_domain::{
    Result, attempt_counter, audit, email_link, idempotency, login_attempt, session, wallet_challenge,
};

use crate::engine::Engine;
use crate::engine::queue;
use crate::engine::queue_tables;

/// Rows of a table that one commit deletes.
const FORGOTTEN_PER_PASS: i64 = 500;
/// Finished jobs that one commit deletes.
const JOBS_PER_PASS: i64 = 5_000;
/// Parked operations of one cause that are woken to find out whether it has ended.
const PROBES_OF_A_CAUSE: i64 = 8;
/// Operations that one commit wakes.
const WAKES_PER_PASS: i64 = 500;
/// Audit entries that one commit chains.
const SEALS_PER_PASS: i64 = 1_000;
/// Operations that a starting process wakes at once. The sweep wakes the rest.
const WAKES_AT_START: i64 = 5000;

/// Wakes overdue rows, and returns their number.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let overdue = operation::unfinished_overdue(&mut tx, now, after_any_pause(engine, now), WAKES_PER_PASS).await?;
    let mut woken = 0;
    for wake in engine.platform.overdue {
        woken += wake(&mut tx, now).await?;
    }
    if overdue.is_empty() && woken == 0 {
        return Ok(0);
    }
    // An operation that moved between the read and the write has a new time already.
    let soon = now + Duration::seconds(operation::WAKE_AGAIN_SECONDS);
    let postponed: HashSet<OperationId> = operation::postpone_all(&mut tx, &overdue, soon).await?.into_iter().collect();
    let due: Vec<&Operation> = overdue.iter().filter(|op| postponed.contains(&op.id)).collect();
    queue::wake_all(&mut tx, &due).await?;
    woken += due.len();
    tx.commit(Point::Sweep).await?;
    Ok(woken)
}

/// Wakes a few of the operations that are parked on each cause, so that they notice its end even if nothing else does, and those that sleep
/// without a cause. Returns their number.
pub async fn probe(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let mut due = operation::parked(&mut tx, PROBES_OF_A_CAUSE, WAKES_PER_PASS).await?;
    due.extend(operation::asleep(&mut tx, WAKES_PER_PASS).await?);
    if due.is_empty() {
        return Ok(0);
    }
    let soon = tx.now() + Duration::seconds(operation::WAKE_AGAIN_SECONDS);
    operation::postpone_all(&mut tx, &due, soon).await?;
    queue::wake_all(&mut tx, &due.iter().collect::<Vec<_>>()).await?;
    tx.commit(Point::Sweep).await?;
    Ok(due.len())
}

/// Computes the chain hashes of new audit entries, and returns their number.
pub async fn seal(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let sealed = audit::chain_entries(&mut tx, SEALS_PER_PASS).await?;
    if sealed > 0 {
        tx.commit(Point::Chain).await?;
    }
    Ok(sealed)
}

/// A time after the end of any pause that starts now.
fn after_any_pause(engine: &Engine, now: DateTime<Utc>) -> DateTime<Utc> {
    let settings = &engine.settings;
    let longest = 2 * settings.backoff_cap_seconds + settings.outage_pause_seconds;
    now + Duration::seconds(longest.cast_signed() + 2 * operation::WAKE_AGAIN_SECONDS)
}

/// Deletes expired rows: idempotency answers, old counters and login attempts, ended sessions and links, and finished jobs. Each commit
/// deletes a limited part, so that other writers do not wait long.
pub async fn prune(engine: &Engine) -> Result<()> {
    loop {
        let mut tx = engine.db.begin().await?;
        let jobs = queue_tables::prune(&mut tx, engine.settings.queue_retention_hours, JOBS_PER_PASS).await?;
        tx.commit(Point::Housekeeping).await?;
        if jobs < JOBS_PER_PASS.cast_unsigned() {
            break;
        }
    }
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

/// Wakes, at the start, every operation that was about to move: the process with its wake may be gone. Operations in a pause keep their
/// time, and those whose first job still waits for a worker need no second one.
pub async fn wake_all(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let soon = now + Duration::seconds(operation::WAKE_AGAIN_SECONDS);
    let due = operation::unfinished_overdue(&mut tx, soon, after_any_pause(engine, now), WAKES_AT_START).await?;
    let about_to_move = due.iter().filter(|op| op.faults == 0).collect();
    let woken = queue_tables::without_waiting_job(&mut tx, about_to_move).await?;
    queue::wake_all(&mut tx, &woken).await?;
    tx.commit(Point::Sweep).await?;
    Ok(woken.len())
}
