//! Moves of one operation, each with its entry in the history and its event.

use chrono::{DateTime, Utc};

use super::history::{Line, record_all};
use super::{Move, Operation, Status};
use crate::Result;
use crate::db::{Tx, expect_updated};
use crate::sql::update_table;

/// Moves an operation and writes its history and event, unless the row has changed since it was read.
pub async fn transition(tx: &mut Tx, op: &mut Operation, by: Move, actor: &str, reason: &str) -> Result<()> {
    let from = step_on(op, by, tx.now())?;
    save(tx, op).await?;
    record(tx, op, Some(from), actor, reason).await
}

/// Applies a move in memory: status, times and cleared fields. Returns the status before.
pub(super) fn step_on(op: &mut Operation, by: Move, now: DateTime<Utc>) -> Result<Status> {
    let from = op.status;
    let to =
        from.next(by).ok_or_else(|| op.illegal(format!("The operation is {from}; the move {by} is not allowed.")))?;
    op.status = to;
    match to {
        Status::Submitted => op.submitted_at = Some(now),
        // The live key is free again: the subject can have a new operation.
        Status::Confirmed => {
            op.confirmed_at = Some(now);
            op.set_problem(None);
            op.suggested_action = None;
            op.live_key = None;
        }
        Status::Failed | Status::DeadLetter => op.failed_at = Some(now),
        Status::Pending => {}
    }
    if to != Status::Pending {
        op.blocked_reason = None;
    }
    // Only live operations are woken.
    if !to.is_live() {
        op.next_action_at = None;
    }
    Ok(from)
}

/// Writes the changed columns if the version is still the one that was read. Without a move there is no history.
pub async fn save(tx: &mut Tx, op: &mut Operation) -> Result<()> {
    let read = op.version;
    op.version += 1;
    op.updated_at = tx.now();
    let rows = update_table("operations")
        .set("status", op.status)
        .set("resolution", op.resolution)
        .set("lane_id", &op.lane_id)
        .set("live_key", &op.live_key)
        .set("cycle", op.cycle)
        .set("faults", op.faults)
        .set("next_action_at", op.next_action_at)
        .set("blocked_reason", &op.blocked_reason)
        .set("error_stage", op.error_stage)
        .set("error_code", &op.error_code)
        .set("error_message", &op.error_message)
        .set("error_data", &op.error_data)
        .set("suggested_action", &op.suggested_action)
        .set("tx_hash", op.tx_hash)
        .set("version", op.version)
        .set("submitted_at", op.submitted_at)
        .set("confirmed_at", op.confirmed_at)
        .set("failed_at", op.failed_at)
        .set("updated_at", op.updated_at)
        .set("max_fee_per_gas", op.max_fee_per_gas)
        .with(" where id = ", &op.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "operation", &op.id)
}

/// Writes an operator's resolution, which leaves the status unchanged, with an entry in the history.
pub async fn resolve(tx: &mut Tx, op: &mut Operation, actor: &str, reason: &str) -> Result<()> {
    save(tx, op).await?;
    record(tx, op, Some(op.status), actor, reason).await
}

async fn record(tx: &mut Tx, op: &Operation, from: Option<Status>, actor: &str, reason: &str) -> Result<()> {
    record_all(tx, &[Line { op, from, actor, reason: reason.to_owned() }]).await
}
