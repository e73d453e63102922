//! Several operations at once, with a few statements for all of them.

use chrono::{DateTime, Utc};

use super::history::{Line, record_all};
use super::transition::step_on;
use super::{Move, Operation, WAITS_FOR_LANE};
use crate::Result;
use crate::db::Tx;
use crate::filter;
use crate::id::OperationId;
use crate::rows::portions;
use crate::sql::sql;

/// The operations with these ids, in no particular order. Unknown ids are left out.
pub async fn find_all(tx: &mut Tx, ids: &[&OperationId]) -> Result<Vec<Operation>> {
    let mut found = Vec::with_capacity(ids.len());
    for portion in portions(tx, ids) {
        found
            .extend(sql("select * from operations where id in (").list(portion).push(")").rows::<Operation>(tx).await?);
    }
    Ok(found)
}

/// The present versions of these operations.
pub async fn versions(tx: &mut Tx, ids: &[&OperationId]) -> Result<Vec<(OperationId, i64)>> {
    let mut found = Vec::with_capacity(ids.len());
    for portion in portions(tx, ids) {
        found.extend(
            sql("select id, version from operations where id in (")
                .list(portion)
                .push(")")
                .rows::<(OperationId, i64)>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// The chains of these operations. Unknown ids are left out.
pub async fn chains(tx: &mut Tx, ids: &[&OperationId]) -> Result<Vec<(OperationId, i64)>> {
    let mut found = Vec::with_capacity(ids.len());
    for portion in portions(tx, ids) {
        found.extend(
            sql("select id, chain_id from operations where id in (")
                .list(portion)
                .push(")")
                .rows::<(OperationId, i64)>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// Parks pending operations on a cause: nothing wakes them before it ends. The versions stay. Operations that were signed meanwhile are
/// skipped.
pub async fn park(tx: &mut Tx, ids: &[&OperationId], cause: &str) -> Result<()> {
    for portion in portions(tx, ids) {
        sql("update operations set next_action_at = null, blocked_reason = ")
            .value(cause)
            .push(" where status = 'pending' and id in (")
            .list(portion)
            .push(")")
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// Moves the operations of a chain that are parked on causes with this beginning to the queue of its lanes, because the cause ended.
/// Returns their number.
pub async fn release(tx: &mut Tx, chain_id: i64, cause: &str, limit: i64) -> Result<u64> {
    let beginning = filter::escaped(cause) + "%";
    sql("update operations set blocked_reason = $1
         where id in (
             select id from operations
             where status = 'pending' and next_action_at is null and chain_id = $2 and blocked_reason <> $1
                 and blocked_reason like $3 escape '\\'
             order by id limit $4)
             and status = 'pending' and next_action_at is null")
    .bind((WAITS_FOR_LANE, chain_id, beginning, limit))
    .execute(tx)
    .await
}

/// Moves operations together, each with its own reason. If one of them has changed since it was read, all fail.
pub async fn transition_all(
    tx: &mut Tx,
    ops: &mut [Operation],
    by: Move,
    actor: &str,
    reason: impl Fn(&Operation) -> String,
) -> Result<()> {
    let now = tx.now();
    let mut before = Vec::with_capacity(ops.len());
    for op in ops.iter_mut() {
        before.push(step_on(op, by, now)?);
    }
    save_all(tx, ops).await?;
    let line = |(op, from)| Line { op, from: Some(from), actor, reason: reason(op) };
    record_all(tx, &ops.iter().zip(before).map(line).collect::<Vec<_>>()).await
}

/// Writes the changed columns of each row if its version is still the one that was read. If one row has changed, the caller must not commit.
pub async fn save_all(tx: &mut Tx, ops: &mut [Operation]) -> Result<()> {
    let now = tx.now();
    for op in ops.iter_mut() {
        op.version += 1;
        op.updated_at = now;
    }
    for portion in portions(tx, ops) {
        sql("update operations
            set version = v.column2, status = v.column3, resolution = v.column4, lane_id = v.column5,
                live_key = v.column6, cycle = v.column7, faults = v.column8, next_action_at = v.column9,
                blocked_reason = v.column10, error_stage = v.column11, error_code = v.column12,
                error_message = v.column13, error_data = v.column14, suggested_action = v.column15,
                tx_hash = v.column16, submitted_at = v.column17, confirmed_at = v.column18, failed_at = v.column19,
                updated_at = v.column20
            from (")
        .values(portion, |op| {
            (
                &op.id,
                op.version,
                op.status,
                op.resolution,
                &op.lane_id,
                &op.live_key,
                op.cycle,
                op.faults,
                op.next_action_at,
                &op.blocked_reason,
                op.error_stage,
                &op.error_code,
                &op.error_message,
                &op.error_data,
                &op.suggested_action,
                op.tx_hash,
                op.submitted_at,
                op.confirmed_at,
                op.failed_at,
                op.updated_at,
            )
        })
        .push(") as v where operations.id = v.column1 and operations.version = v.column2 - 1")
        .write_exactly(tx, portion.len(), "operation", &portion[0].id)
        .await?;
    }
    Ok(())
}

/// Changes only the next action time; the versions stay, so that a move in progress is not invalidated. Operations that have changed are
/// skipped. Returns the ids of the others.
pub async fn postpone_all(tx: &mut Tx, ops: &[Operation], at: DateTime<Utc>) -> Result<Vec<OperationId>> {
    let mut moved = Vec::with_capacity(ops.len());
    for portion in portions(tx, ops) {
        moved.extend(
            sql("update operations set next_action_at = ")
                .value(at)
                .push(" from (")
                .values(portion, |op| (&op.id, op.version))
                .push(") as v where operations.id = v.column1 and operations.version = v.column2 returning id")
                .scalars::<OperationId>(tx)
                .await?,
        );
    }
    Ok(moved)
}
