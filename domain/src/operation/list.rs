//! Reading operations: one, a page, those that are due.

use chrono::{DateTime, Utc};

use super::{Kind, Operation, Status};
use crate::db::Tx;
use crate::{Code, Error, Result, on};

/// One operation; `not_found` if there is none.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Operation> {
    on!(tx, conn => sqlx::query_as::<_, Operation>("select * from operations where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no operation {id}.")))
}

/// The operation that holds a live key.
pub async fn find_live(tx: &mut Tx, live_key: &str) -> Result<Option<Operation>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Operation>("select * from operations where live_key = $1")
        .bind(live_key).fetch_optional(conn).await?))
}

/// The pages of a batch, in order.
pub async fn by_batch(tx: &mut Tx, batch_id: &str) -> Result<Vec<Operation>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Operation>("select * from operations where batch_id = $1 order by batch_index")
        .bind(batch_id).fetch_all(conn).await?),
    )
}

/// The last place that is taken in a batch.
pub async fn last_of_batch(tx: &mut Tx, batch_id: &str) -> Result<i64> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>("select max(batch_index) from operations where batch_id = $1")
        .bind(batch_id).fetch_one(conn).await?))
}

/// What a list shows.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub status: Option<Status>,
    pub kind: Option<Kind>,
    pub offering_id: Option<String>,
    pub batch_id: Option<String>,
    pub needs_attention: Option<bool>,
    /// Only operations older than this id: the next page.
    pub after: Option<String>,
}

/// A page of operations, newest first. The cost is the page's, not the table's: the next page starts at an id, not at an offset.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64) -> Result<Vec<Operation>> {
    // Each condition stands only where it is asked for, so that the planner sees which index fits.
    let mut conditions = vec!["id < $1"];
    let status = filter.status.map(Status::as_str).unwrap_or_default();
    let kind = filter.kind.map(Kind::as_str).unwrap_or_default();
    let offering = filter.offering_id.as_deref().unwrap_or_default();
    let batch = filter.batch_id.as_deref().unwrap_or_default();
    for (asked, condition) in [
        (filter.status.is_some(), "status = $2"),
        (filter.kind.is_some(), "kind = $3"),
        (filter.offering_id.is_some(), "offering_id = $4"),
        (filter.batch_id.is_some(), "batch_id = $5"),
        (filter.needs_attention == Some(true), "status in ('failed', 'dead_letter') and resolution is null"),
        (filter.needs_attention == Some(false), "not (status in ('failed', 'dead_letter') and resolution is null)"),
    ] {
        if asked {
            conditions.push(condition);
        }
    }
    let after = filter.after.as_deref().unwrap_or("op_~");
    // The unused parameters are named once more, because PostgreSQL demands to know the type of each.
    let sql = format!(
        "select * from operations where {} and cast($2 as text) is not null and cast($3 as text) is not null and cast($4 as text) is \
         not null and cast($5 as text) is not null order by id desc limit $6",
        conditions.join(" and ")
    );
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Operation>(sqlx::AssertSqlSafe(sql)).bind(after).bind(status).bind(kind).bind(offering)
        .bind(batch).bind(limit).fetch_all(conn).await?),
    )
}

/// Why a pending operation waits for its lane: as many transactions as a node's pool takes are under way.
pub const LANE_FULL: &str = "lane_full";

/// Operations that wait for room in a lane of this chain, oldest first: what is woken when there is room again.
pub async fn waiting_for_lane(tx: &mut Tx, chain_id: i64, limit: i64) -> Result<Vec<Operation>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Operation>(
        "select * from operations where status = 'pending' and chain_id = $1 and blocked_reason = $2 order by id limit $3")
        .bind(chain_id).bind(LANE_FULL).bind(limit).fetch_all(conn).await?))
}

/// Unfinished operations whose time has come, oldest first: what the sweep wakes.
pub async fn unfinished_overdue(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Operation>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Operation>(
        "select * from operations where status in ('pending', 'submitted') and next_action_at <= $1 order by next_action_at limit $2")
        .bind(now).bind(limit).fetch_all(conn).await?))
}

/// How many operations are unfinished or wait for a person, by status. Finished ones are not counted: that would scan the table.
pub async fn stats(tx: &mut Tx) -> Result<Vec<(Status, i64)>> {
    // Each half by the index of its own: no planner takes both for one condition.
    Ok(on!(tx, conn => sqlx::query_as::<_, (Status, i64)>(
        "select status, count(*) from operations where status in ('pending', 'submitted') group by status \
         union all \
         select status, count(*) from operations where status in ('failed', 'dead_letter') and resolution is null group by status")
        .fetch_all(conn).await?))
}

/// Since when the oldest unfinished operation of a status waits.
pub async fn oldest_at(tx: &mut Tx, status: Status) -> Result<Option<DateTime<Utc>>> {
    // The status stands in the text, beside the condition of the index: behind a parameter no planner knows that it fits.
    let sql = format!(
        "select created_at from operations where status in ('pending', 'submitted') and status = '{status}' order by id limit 1"
    );
    Ok(on!(tx, conn => sqlx::query_scalar::<_, DateTime<Utc>>(sqlx::AssertSqlSafe(sql)).fetch_optional(conn).await?))
}
