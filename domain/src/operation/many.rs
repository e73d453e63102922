//! Several operations at once: what one commit moves together costs a few statements, not a few for each.

use chrono::{DateTime, Utc};

use super::{Move, Operation, Status, step_on, told};
use crate::db::{Tx, all_touched};
use crate::rows::portions;
use crate::{Result, event, on};

/// The operations with these ids, as far as there are any, in no special order.
pub async fn find_all(tx: &mut Tx, ids: &[&str]) -> Result<Vec<Operation>> {
    let mut found = Vec::with_capacity(ids.len());
    for portion in portions(ids) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select * from operations where id in (");
            let mut list = query.separated(", ");
            for id in portion {
                list.push_bind(id);
            }
            query.push(")");
            query.build_query_as::<Operation>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// The versions that these operations have now.
pub async fn versions(tx: &mut Tx, ids: &[&str]) -> Result<Vec<(String, i64)>> {
    let mut found = Vec::with_capacity(ids.len());
    for portion in portions(ids) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select id, version from operations where id in (");
            let mut list = query.separated(", ");
            for id in portion {
                list.push_bind(id);
            }
            query.push(")");
            query.build_query_as::<(String, i64)>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// Moves operations together, each with its own reason: all of them, or none if somebody moved one since it was read.
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

/// A line of an operation's history that is still to be written.
pub(super) struct Line<'a> {
    /// As it is now.
    pub op: &'a Operation,
    /// What it was; none if it is new.
    pub from: Option<Status>,
    /// Who did it.
    pub actor: &'a str,
    /// Why.
    pub reason: String,
}

/// Writes lines of history, and the event of each.
pub(super) async fn record_all(tx: &mut Tx, lines: &[Line<'_>]) -> Result<()> {
    let now = tx.now();
    for portion in portions(lines) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into operation_history (operation_id, version, cycle, from_status, to_status, at, actor, reason) ");
            query.push_values(portion, |mut row, Line { op, from, actor, reason }| {
                row.push_bind(&op.id).push_bind(op.version).push_bind(op.cycle).push_bind(*from).push_bind(op.status).push_bind(now)
                    .push_bind(*actor).push_bind(reason);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    let event = |Line { op, from, .. }: &Line<'_>| event::New {
        name: format!("operation.{}", op.status),
        subject_type: "operation",
        subject_id: op.id.clone(),
        sequence: op.version,
        data: told(op, *from),
    };
    event::write_all(tx, &lines.iter().map(event).collect::<Vec<_>>()).await
}

/// Writes the columns that move, each row guarded by the version that was read: all of them, or the whole commit must not stand.
pub async fn save_all(tx: &mut Tx, ops: &mut [Operation]) -> Result<()> {
    let now = tx.now();
    for op in ops.iter_mut() {
        op.version += 1;
        op.updated_at = now;
    }
    for portion in portions(ops) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "update operations set version = v.column2, status = v.column3, resolution = v.column4, lane_id = v.column5, \
                 live_key = v.column6, cycle = v.column7, faults = v.column8, next_action_at = v.column9, blocked_reason = v.column10, \
                 error_stage = v.column11, error_code = v.column12, error_message = v.column13, error_data = v.column14, \
                 suggested_action = v.column15, tx_hash = v.column16, submitted_at = v.column17, confirmed_at = v.column18, \
                 failed_at = v.column19, updated_at = v.column20 from (");
            query.push_values(portion, |mut row, op| {
                row.push_bind(&op.id).push_bind(op.version).push_bind(op.status).push_bind(op.resolution).push_bind(&op.lane_id)
                    .push_bind(&op.live_key).push_bind(op.cycle).push_bind(op.faults).push_bind(op.next_action_at)
                    .push_bind(&op.blocked_reason).push_bind(op.error_stage).push_bind(&op.error_code).push_bind(&op.error_message)
                    .push_bind(&op.error_data).push_bind(&op.suggested_action).push_bind(op.tx_hash).push_bind(op.submitted_at)
                    .push_bind(op.confirmed_at).push_bind(op.failed_at).push_bind(op.updated_at);
            });
            query.push(") as v where operations.id = v.column1 and operations.version = v.column2 - 1");
            query.build().execute(conn).await?.rows_affected()
        });
        all_touched(rows, portion.len(), "operation", &portion[0].id)?;
    }
    Ok(())
}

/// Moves the next time of operations alone, and leaves their versions: a move that is under way must not find its operation changed.
/// One that somebody moved meanwhile has a time of its own; returns those that were moved here.
pub async fn postpone_all(tx: &mut Tx, ops: &[Operation], at: DateTime<Utc>) -> Result<Vec<String>> {
    let mut moved = Vec::with_capacity(ops.len());
    for portion in portions(ops) {
        moved.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("update operations set next_action_at = ");
            query.push_bind(at).push(" from (");
            query.push_values(portion, |mut row, op| {
                row.push_bind(&op.id).push_bind(op.version);
            });
            query.push(") as v where operations.id = v.column1 and operations.version = v.column2 returning id");
            query.build_query_scalar::<String>().fetch_all(conn).await?
        }));
    }
    Ok(moved)
}
