//! Wakes: queue jobs that carry an id and nothing else. The row decides what is done, so a lost or repeated wake changes nothing.
//!
//! apalis provides the queue's tables, the claim of a job, delayed run times, the rescue of jobs of dead workers, and graceful shutdown. A
//! job is pushed in the transaction that it belongs to. A job has one attempt and its handler never fails. The sweep wakes overdue rows
//! without reading the queue's tables.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::db::Tx;
use muniment_domain::id::{Id, of};
use muniment_domain::operation::{self, Operation};
use muniment_domain::{Error, Result, id, lane};

use crate::engine::queue_tables::{self, Job};

/// The queues of operations: one for each class, so that many wakes in one do not delay another.
pub const OPERATIONS: [&str; 4] = ["deploy", "mint", "compliance", "payout"];
/// The queues of everything else.
pub const OTHERS: [&str; 4] = [APPROVAL, DESK, SNAPSHOT, TIMER];

/// The queue of approvals. Its timers never delay an operation.
pub const APPROVAL: &str = "approval";
/// The queue of commands, bulk retries and reconciliation runs.
pub const DESK: &str = "desk";
/// The channel on which a process notifies that it sent transactions, with the chain's id.
pub const SENT: &str = "muniment::sent";

/// The queue of snapshots.
pub const SNAPSHOT: &str = "snapshot";

/// The queue of timers: offerings, subscriptions, investors.
pub const TIMER: &str = "timer";

/// The queue of webhook endpoints with due deliveries. It is not the engine's.
pub const DELIVERY: &str = "delivery";

/// Operations of one lane that are woken at once: as many as a lane holds in memory. Waking all of them would load the queue without any
/// gain.
const WOKEN_OF_A_LINE: usize = 64;
/// Operations that one commit releases.
pub const RELEASED_PER_COMMIT: i64 = 5_000;

/// The lag of the database's clock up to which a wake is not late: a process whose clock is a day ahead wakes at once, too.
const CLOCKS_APART_SECONDS: i64 = 2 * 86_400;

/// Pushes the first wake of an operation. The job has the operation's own id, so that it is visible in the queue.
pub async fn first_wake(tx: &mut Tx, op: &Operation) -> Result<()> {
    first_wakes(tx, std::slice::from_ref(op)).await
}

/// Pushes the first wakes of operations of one kind.
pub async fn first_wakes(tx: &mut Tx, ops: &[Operation]) -> Result<()> {
    let Some(first) = ops.first() else { return Ok(()) };
    let now = tx.now();
    let jobs = ops.iter().map(|op| job(tx.clock(), now, &op.id, &id::ulid_of(&op.id), now)).collect::<Result<_>>()?;
    push_all(tx, first.kind.queue(), jobs, now).await
}

/// Wakes an operation now.
pub async fn wake(tx: &mut Tx, op: &Operation) -> Result<()> {
    let now = tx.now();
    wake_at(tx, op, now).await
}

/// Wakes an operation later.
pub async fn wake_at(tx: &mut Tx, op: &Operation, at: DateTime<Utc>) -> Result<()> {
    let fresh = id::ulid_of(&tx.new_id::<of::Wake>());
    push(tx, op.kind.queue(), &op.id, fresh, at).await
}

/// Wakes a row that is not an operation.
pub async fn wake_id(tx: &mut Tx, queue: &'static str, id: &str, at: DateTime<Utc>) -> Result<()> {
    let fresh = id::ulid_of(&tx.new_id::<of::Wake>());
    push(tx, queue, id, fresh, at).await
}

/// Wakes several rows that are not operations now.
pub async fn wake_ids<K>(tx: &mut Tx, queue: &'static str, ids: &[&Id<K>]) -> Result<()> {
    let now = tx.now();
    let mut jobs = Vec::new();
    for id in ids {
        let fresh = tx.new_id::<of::Wake>();
        jobs.push(job(tx.clock(), now, id, &id::ulid_of(&fresh), now)?);
    }
    if jobs.is_empty() { Ok(()) } else { push_all(tx, queue, jobs, now).await }
}

/// Wakes several operations now.
pub async fn wake_all(tx: &mut Tx, ops: &[&Operation]) -> Result<()> {
    let now = tx.now();
    for queue in OPERATIONS {
        let mut jobs = Vec::new();
        for op in ops.iter().filter(|op| op.kind.queue() == queue) {
            let fresh = tx.new_id::<of::Wake>();
            jobs.push(job(tx.clock(), now, &op.id, &id::ulid_of(&fresh), now)?);
        }
        if !jobs.is_empty() {
            push_all(tx, queue, jobs, now).await?;
        }
    }
    Ok(())
}

/// Wakes the first of many operations of one lane. The others wait in the lane's queue, and the lane takes them when it has room.
pub async fn line_up(tx: &mut Tx, ops: &mut [Operation]) -> Result<()> {
    let now = tx.now();
    let (first, rest) = ops.split_at_mut(ops.len().min(WOKEN_OF_A_LINE));
    for op in first {
        op.blocked_reason = None;
        op.next_action_at = Some(now + Duration::seconds(operation::WAKE_AGAIN_SECONDS));
    }
    for op in rest {
        op.blocked_reason = Some(operation::WAITS_FOR_LANE.to_owned());
        op.next_action_at = None;
    }
    operation::save_all(tx, ops).await?;
    wake_all(tx, &ops.iter().take(WOKEN_OF_A_LINE).collect::<Vec<_>>()).await
}

/// Lets the operations of a chain that are parked on causes with this beginning go on, because the cause ended. The first of them are woken;
/// they make the lanes take the others.
pub async fn release(tx: &mut Tx, chain_id: i64, cause: &str) -> Result<u64> {
    let released = operation::release(tx, chain_id, cause, RELEASED_PER_COMMIT).await?;
    if released > 0 {
        let first = i64::try_from(WOKEN_OF_A_LINE).unwrap_or(i64::MAX);
        let lanes = lane::ids_of_chain(tx, chain_id).await?;
        let ids = operation::waiting_for_lane(tx, chain_id, &lanes, None, first).await?;
        let ops = operation::find_all(tx, &ids.iter().collect::<Vec<_>>()).await?;
        wake_all(tx, &ops.iter().collect::<Vec<_>>()).await?;
    }
    Ok(released)
}

async fn push(tx: &mut Tx, queue: &'static str, id: &str, job_id: String, at: DateTime<Utc>) -> Result<()> {
    let job = job(tx.clock(), tx.now(), id, &job_id, at)?;
    push_all(tx, queue, vec![job], at).await
}

fn job(clock: &Clock, now: DateTime<Utc>, id: &str, job_id: &str, at: DateTime<Utc>) -> Result<Job> {
    let unreadable = |why: String| Error::Unreadable { what: "operation", id: id.to_owned(), why };
    let ulid = ulid::Ulid::from_string(job_id).map_err(|e| unreadable(e.to_string()))?;
    let payload = serde_json::to_vec(&id).map_err(|e| unreadable(e.to_string()))?;
    // The queue works in whole seconds: a wake that is due now must not wait for the next second, and a later one must not be early.
    let late = i64::from(at > now && at.timestamp_subsec_nanos() > 0);
    // The queue uses the database's clock. A wake that is due now must be due there too, even if that clock is behind.
    let ahead = if at <= now { CLOCKS_APART_SECONDS } else { 0 };
    let run_at = (at.timestamp() + late - ahead - clock.lead().num_seconds()).max(0);
    Ok(Job { id: ulid.to_string(), payload, run_at })
}

async fn push_all(tx: &mut Tx, queue: &'static str, jobs: Vec<Job>, at: DateTime<Utc>) -> Result<()> {
    if at <= tx.now() {
        tx.notify_after_commit(queue);
    }
    queue_tables::push(tx, queue, &jobs).await
}
