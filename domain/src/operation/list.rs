//! Reading operations: one, a page, those that are due.

use chrono::{DateTime, Utc};

use super::Operation;
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

/// Why a pending operation waits for its lane: as many transactions as a node's pool takes are under way.
pub const LANE_FULL: &str = "lane_full";

/// The word before the reason of an operation whose effect is final and whose rows hold what this program never writes.
pub const DAMAGED: &str = "damaged_row";

/// Operations that wait for room in a lane of this chain, oldest first: what is prepared when there is room again. Those that can only go
/// into one of the full lanes hold up nobody.
pub async fn waiting_for_lane(tx: &mut Tx, chain_id: i64, full: &[String], limit: i64) -> Result<Vec<String>> {
    Ok(on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("select id from operations where status = 'pending' and chain_id = ");
        query.push_bind(chain_id).push(" and blocked_reason = ").push_bind(LANE_FULL);
        if !full.is_empty() {
            query.push(" and (lane_id is null or lane_id not in (");
            let mut list = query.separated(", ");
            for lane_id in full {
                list.push_bind(lane_id);
            }
            query.push("))");
        }
        query.push(" order by id limit ").push_bind(limit);
        query.build_query_scalar::<String>().fetch_all(conn).await?
    }))
}

/// Pending operations that wait for this very reason, oldest first.
pub async fn waiting_for(tx: &mut Tx, chain_id: i64, reason: &str) -> Result<Vec<Operation>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Operation>(
        "select * from operations where status = 'pending' and chain_id = $1 and blocked_reason = $2 order by id")
        .bind(chain_id).bind(reason).fetch_all(conn).await?))
}

/// Unfinished operations whose time has come, oldest first: what the sweep wakes. One whose time lies further ahead than any pause is long
/// was put there by a clock that has gone back since: it is due as well.
pub async fn unfinished_overdue(
    tx: &mut Tx,
    now: DateTime<Utc>,
    far: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Operation>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Operation>(
        "select * from operations where status in ('pending', 'submitted') and (next_action_at <= $1 or next_action_at > $2) \
         order by next_action_at limit $3")
        .bind(now).bind(far).bind(limit).fetch_all(conn).await?))
}
