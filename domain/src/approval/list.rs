//! Reading approvals: one, a page, those whose time has come.

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::{Approval, Status};
use crate::db::Tx;
use crate::narrow::{self, Created};
use crate::{Code, Error, Result, on};

/// One approval; `not_found` if there is none.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Approval> {
    on!(tx, conn => sqlx::query_as::<_, Approval>("select * from approvals where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| missing(id))
}

/// One approval, whose id may be malformed, for whoever sees those of this maker alone, or all, if none is named.
pub async fn see(tx: &mut Tx, maker: Option<&str>, id: &str) -> Result<Approval> {
    crate::id::check("apr", id)?;
    let found = find(tx, id).await?;
    if maker.is_none_or(|maker| maker == found.maker) { Ok(found) } else { Err(missing(id)) }
}

/// The refusal of an approval that there is not, or not for this caller.
pub fn missing(id: &str) -> Error {
    Error::refused(Code::NotFound, format!("There is no approval {id}."))
}

/// The approval by which this was done to this subject.
pub async fn executed(tx: &mut Tx, action: &str, subject_id: &str) -> Result<Option<Approval>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Approval>(
        "select * from approvals where action = $1 and subject_id = $2 and status = 'executed'")
        .bind(action).bind(subject_id).fetch_optional(conn).await?))
}

/// What a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Any of these; all, if none is named.
    pub statuses: Vec<Status>,
    /// Of this action alone.
    pub action: Option<String>,
    /// Of this maker alone.
    pub maker: Option<String>,
    /// When it was asked for.
    pub created: Created,
}

/// Writes the conditions of a filter; a macro, because a builder names its database.
macro_rules! among {
    ($query:expr, $filter:expr) => {
        $query.push(" where 1 = 1");
        narrow::words(&mut $query, "status", $filter.statuses.iter().map(|status| status.as_str()));
        $filter.created.narrow(&mut $query, "", "apr");
        for (column, value) in [("action", &$filter.action), ("maker", &$filter.maker)] {
            if let Some(value) = value {
                $query.push(format!(" and {column} = ")).push_bind(value.clone());
            }
        }
    };
}

/// A page of approvals, newest first, and how many there are.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<(Vec<Approval>, i64)> {
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from approvals");
        among!(query, filter);
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Approval>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from approvals");
        among!(query, filter);
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, total))
}

/// Approvals whose time has come, oldest first: what the sweep wakes.
pub async fn overdue(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Approval>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Approval>(
        "select * from approvals where next_action_at is not null and next_action_at <= $1 order by next_action_at limit $2")
        .bind(now).bind(limit).fetch_all(conn).await?))
}

/// The approval that an operation, or its batch, came of.
pub async fn of_operation(tx: &mut Tx, operation_id: &str, batch_id: Option<&str>) -> Result<Option<String>> {
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, String>("select id from approvals where operation_id = $1 or batch_id = $2")
        .bind(operation_id).bind(batch_id).fetch_optional(conn).await?),
    )
}
