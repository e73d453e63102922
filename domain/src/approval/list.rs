//! Reads approvals: one, a page, and overdue ones.

use chrono::{DateTime, Utc};

use super::{Approval, Status};
use crate::db::Tx;
use crate::filter::CreatedBetween;
use crate::id::{ApprovalId, BatchId, OperationId, of};
use crate::sql::{Sql, sql};
use crate::total::Total;
use crate::{Code, Error, Result};

/// One approval; `not_found` if it does not exist.
pub async fn find(tx: &mut Tx, id: &ApprovalId) -> Result<Approval> {
    sql("select * from approvals where id = $1").bind(id).optional::<Approval>(tx).await?.ok_or_else(|| not_found(id))
}

/// One approval by an id that can be malformed. With a requester, only that person's approvals are found.
pub async fn find_visible(tx: &mut Tx, maker: Option<&str>, id: &ApprovalId) -> Result<Approval> {
    id.check()?;
    let found = find(tx, id).await?;
    if maker.is_none_or(|maker| maker == found.maker) { Ok(found) } else { Err(not_found(id)) }
}

/// The approval that waits under this live key.
pub async fn find_live(tx: &mut Tx, live_key: &str) -> Result<Option<Approval>> {
    sql("select * from approvals where live_key = $1").bind(live_key).optional(tx).await
}

/// The error for an approval that does not exist or that the caller may not see.
pub fn not_found(id: &ApprovalId) -> Error {
    Error::refused(Code::NotFound, format!("There is no approval {id}."))
}

/// The executed approval of this action on this subject.
pub async fn executed(tx: &mut Tx, action: &str, subject_id: &str) -> Result<Option<Approval>> {
    sql("select * from approvals where action = $1 and subject_id = $2 and status = 'executed'")
        .bind((action, subject_id))
        .optional(tx)
        .await
}

/// The filter of a list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Any of these statuses; empty for all.
    pub statuses: Vec<Status>,
    /// Only this action.
    pub action: Option<String>,
    /// Only this requester.
    pub maker: Option<String>,
    /// When it was requested.
    pub created: CreatedBetween,
}

fn matching(select: Sql, filter: &Filter) -> Sql {
    select
        .push(" from approvals where 1 = 1")
        .one_of("status", &filter.statuses)
        .created::<of::Approval>(filter.created, "")
        .with_some(" and action = ", filter.action.as_ref())
        .with_some(" and maker = ", filter.maker.as_ref())
}

/// A page of approvals, newest first, and their number.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<(Vec<Approval>, i64)> {
    let page = matching(sql("select *"), filter).push(" order by id desc").page(limit, offset);
    let rows: Vec<Approval> = page.rows(tx).await?;
    let total = match Total::from_page(rows.len(), limit, offset) {
        Some(total) => total.count,
        None => matching(sql("select count(*)"), filter).scalar(tx).await?,
    };
    Ok((rows, total))
}

/// Approvals whose next action is due, oldest first. The sweep wakes them.
pub async fn overdue(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Approval>> {
    sql("select * from approvals where next_action_at is not null and next_action_at <= $1
         order by next_action_at limit $2")
    .bind((now, limit))
    .rows(tx)
    .await
}

/// The approval that led to an operation or its batch.
pub async fn of_operation(
    tx: &mut Tx,
    operation_id: &OperationId,
    batch_id: Option<&BatchId>,
) -> Result<Option<ApprovalId>> {
    sql("select id from approvals where operation_id = $1 or batch_id = $2")
        .bind((operation_id, batch_id))
        .optional_scalar(tx)
        .await
}
