//! Reads operations: one, a batch, and those that are due.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};

use super::{Operation, Status};
use crate::column::Hex;
use crate::db::Tx;
use crate::id::{BatchId, LaneId, OperationId};
use crate::sql::sql;
use crate::{Code, Error, Result, step};

/// One operation; `not_found` if it does not exist.
pub async fn find(tx: &mut Tx, id: &OperationId) -> Result<Operation> {
    sql("select * from operations where id = $1")
        .bind(id)
        .optional::<Operation>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no operation {id}.")))
}

/// The operation with a live key.
pub async fn find_live(tx: &mut Tx, live_key: &str) -> Result<Option<Operation>> {
    sql("select * from operations where live_key = $1").bind(live_key).optional(tx).await
}

/// The operations of a batch, in order.
pub async fn by_batch(tx: &mut Tx, batch_id: &BatchId) -> Result<Vec<Operation>> {
    sql("select * from operations where batch_id = $1 order by batch_index").bind(batch_id).rows(tx).await
}

/// The highest index in a batch.
pub async fn last_of_batch(tx: &mut Tx, batch_id: &BatchId) -> Result<i64> {
    sql("select max(batch_index) from operations where batch_id = $1").bind(batch_id).scalar(tx).await
}

/// The blocked reason of a pending operation while its lane has the allowed number of transactions in flight.
pub const WAITS_FOR_LANE: &str = "lane_full";

/// Operations that wait for room in one of these lanes, or in any lane of this chain, oldest first; and those that a process without the key
/// has parked with this reason.
pub async fn waiting_for_lane(
    tx: &mut Tx,
    chain_id: i64,
    lanes: &[LaneId],
    without_key: Option<&str>,
    limit: i64,
) -> Result<Vec<OperationId>> {
    // Each lane's own are read in the order of the index of parked operations, so that those of other lanes are not read at all.
    let lanes = || [""].into_iter().chain(lanes.iter().map(|lane| &**lane));
    let causes = [Some(WAITS_FOR_LANE), without_key].into_iter().flatten();
    let mut waiting = sql("");
    for (number, (cause, lane)) in causes.flat_map(|cause| lanes().map(move |lane| (cause, lane))).enumerate() {
        waiting = waiting
            .push(if number == 0 { "" } else { " union all " })
            .push("select id from (select id from operations where status = 'pending' and next_action_at is null and chain_id = ")
            .value(chain_id)
            .with(" and blocked_reason = ", cause)
            .with(" and coalesce(lane_id, '') = ", lane)
            .with(" order by id limit ", limit)
            .push(") parked");
    }
    waiting.with(" order by id limit ", limit).scalars(tx).await
}

/// The oldest parked operations of each cause: they find out whether it has ended. An operation that has neither a cause nor a next time is
/// one of them, so that nothing sleeps for ever.
pub async fn parked(tx: &mut Tx, of_each: i64, limit: i64) -> Result<Vec<Operation>> {
    sql("select * from operations where id in (
             select id from (
                 select id, row_number() over (partition by chain_id, blocked_reason, coalesce(lane_id, '') order by id) as place
                 from operations where status = 'pending' and next_action_at is null) parked
             where place <= $1)
         order by id limit $2")
    .bind((of_each, limit))
    .rows(tx)
    .await
}

/// Submitted operations without a next time of which no step is with the chain. A fault left them so, and they are woken.
pub async fn asleep(tx: &mut Tx, limit: i64) -> Result<Vec<Operation>> {
    // The set names the partial index to SQLite.
    sql("select * from operations o where status = 'submitted' and status in :live and next_action_at is null
             and not exists (
                 select 1 from operation_steps s where s.operation_id = o.id and s.state in :sent)
         order by id limit $1")
    .words(":live", &Status::LIVE)
    .words(":sent", &step::State::SENT)
    .bind(limit)
    .rows(tx)
    .await
}

/// Pending operations with this blocked reason, oldest first.
pub async fn waiting_for(tx: &mut Tx, chain_id: i64, reason: &str) -> Result<Vec<Operation>> {
    // The set names the partial index to SQLite.
    sql("select * from operations where status = 'pending' and status in :live and chain_id = $1 and blocked_reason = $2
         order by id")
        .words(":live", &Status::LIVE)
        .bind((chain_id, reason))
        .rows(tx)
        .await
}

/// Unfinished operations whose next action is due, oldest first; the sweep wakes them. A time further ahead than any pause comes from a
/// clock that was set back since, so it counts as due too.
pub async fn unfinished_overdue(
    tx: &mut Tx,
    now: DateTime<Utc>,
    far: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Operation>> {
    // No plain condition on the status: SQLite would take its index, and read all parked operations.
    sql("select * from operations
         where next_action_at is not null and (next_action_at <= $1 or next_action_at > $2) and status || '' in :live
         order by next_action_at limit $3")
    .words(":live", &Status::LIVE)
    .bind((now, far, limit))
    .rows(tx)
    .await
}

/// An unfinished operation that has a step with this exact call.
pub async fn find_same_call(
    tx: &mut Tx,
    chain_id: i64,
    target: Address,
    payload_hash: B256,
) -> Result<Option<OperationId>> {
    // Two conditions, so that the partial index of each set is used.
    sql("select s.operation_id from operations o join operation_steps s on s.operation_id = o.id
         where (o.status in :live and o.resolution is null or o.status in :attention and o.resolution is null)
             and s.chain_id = $1 and s.target = $2 and s.payload_hash = $3
         order by o.id limit 1")
    .words(":live", &Status::LIVE)
    .words(":attention", &Status::ATTENTION)
    .bind((chain_id, Hex(target), Hex(payload_hash)))
    .optional_scalar(tx)
    .await
}
