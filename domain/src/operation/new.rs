//! Stores a new operation with its steps and the first entry of its history.

use std::collections::HashMap;

use alloy_primitives::{Address, B256};
use chrono::Duration;
use sqlx::types::Json;

use super::history::{Line, record_all};
use super::{Kind, Operation, Status, payload_sha256};
use crate::canonical;
use crate::column::Hex;
use crate::db::Tx;
use crate::id::{BatchId, LaneId, OfferingId, OperationId};
use crate::rows::portions;
use crate::sql::sql;
use crate::step::State;
use crate::{Code, Error, Result};

/// After this many seconds without an action the sweep wakes an operation again.
pub const WAKE_AGAIN_SECONDS: i64 = 20;

/// A requested operation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewOperation {
    pub kind: Kind,
    pub subject_type: &'static str,
    pub subject_id: String,
    pub offering_id: Option<OfferingId>,
    pub batch: Option<(BatchId, i64)>,
    pub chain_id: i64,
    /// The only lane that may sign it; none for any lane.
    pub lane_id: Option<LaneId>,
    pub payload: serde_json::Value,
    /// Only one live operation may have this key.
    pub live_key: Option<String>,
    pub requested_by: String,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub steps: Vec<NewStep>,
}

/// One contract transaction of a requested operation.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewStep {
    pub name: &'static str,
    pub target: Address,
    pub calldata: Vec<u8>,
    pub op_number: Option<i64>,
    pub payload_hash: Option<B256>,
}

/// Stores an operation with its steps. It is refused, and nothing is written, if a live operation has the same key.
pub async fn insert(tx: &mut Tx, new: NewOperation) -> Result<Operation> {
    let mut inserted = insert_all(tx, &[new]).await?;
    inserted.pop().ok_or_else(|| Error::Stale { what: "operation", id: "new".to_owned() })
}

/// Stores operations with their steps, in order. If one of them is refused, the caller must not commit.
pub async fn insert_all(tx: &mut Tx, all: &[NewOperation]) -> Result<Vec<Operation>> {
    let named: Vec<(OperationId, &NewOperation)> = all.iter().map(|new| (tx.new_id(), new)).collect();
    let mut inserted = Vec::with_capacity(all.len());
    for portion in portions(tx, &named) {
        inserted.extend(insert_rows(tx, portion).await?);
    }
    let gathers = tx.gather_writes();
    let steps: Vec<(&OperationId, i64, i64, &NewStep)> = named.iter().flat_map(steps_of).collect();
    for portion in portions(tx, &steps) {
        sql("insert into operation_steps (operation_id, position, name, target, calldata, op_number, payload_hash,
                 state, chain_id)")
        .values(portion, |(id, chain_id, position, step)| {
            (
                *id,
                *position,
                step.name,
                Hex(step.target),
                &step.calldata,
                step.op_number,
                step.payload_hash.map(Hex),
                State::Unsigned,
                *chain_id,
            )
        })
        .write(tx)
        .await?;
    }
    let accepted = |op| Line { op, from: None, actor: &op.requested_by, reason: "accepted".to_owned() };
    record_all(tx, &inserted.iter().map(accepted).collect::<Vec<_>>()).await?;
    if !gathers {
        tx.run_gathered().await?;
    }
    Ok(inserted)
}

fn steps_of<'a>(
    named: &'a (OperationId, &'a NewOperation),
) -> impl Iterator<Item = (&'a OperationId, i64, i64, &'a NewStep)> {
    let (id, new) = named;
    (0i64..).zip(&new.steps).map(move |(position, step)| (id, new.chain_id, position, step))
}

async fn insert_rows(tx: &mut Tx, portion: &[(OperationId, &NewOperation)]) -> Result<Vec<Operation>> {
    let (now, act_until) = (tx.now(), tx.now() + Duration::seconds(WAKE_AGAIN_SECONDS));
    let rows = sql("insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_id,
            batch_index, chain_id, lane_id, payload, payload_sha256, live_key, cycle, faults, next_action_at,
            requested_by, request_id, idempotency_key, version, created_at, updated_at)")
    .values(portion, |(id, new)| {
        let payload = canonical::with_checksums(new.payload.clone());
        let sha256 = payload_sha256(&payload);
        let (batch_id, batch_index) = new.batch.as_ref().map_or((None, 0), |(id, index)| (Some(id), *index));
        (
            id,
            new.kind,
            Status::Pending,
            new.subject_type,
            &new.subject_id,
            &new.offering_id,
            batch_id,
            batch_index,
            new.chain_id,
            &new.lane_id,
            Json(payload),
            sha256,
            &new.live_key,
            1,
            0,
            act_until,
            &new.requested_by,
            &new.request_id,
            &new.idempotency_key,
            1,
            now,
            now,
        )
    })
    .push(" on conflict do nothing returning *")
    .rows::<Operation>(tx)
    .await?;
    // A row that the unique live key refused is missing from the result.
    let mut rows: HashMap<OperationId, Operation> = rows.into_iter().map(|op| (op.id.clone(), op)).collect();
    let row = |(id, new): &(OperationId, &NewOperation)| rows.remove(id).ok_or_else(|| in_progress(new));
    portion.iter().map(row).collect()
}

fn in_progress(new: &NewOperation) -> Error {
    let live = new.live_key.as_deref().unwrap_or_default();
    Error::refused(Code::OperationInProgress, format!("An operation on {live} is not finished."))
}

/// The operation that this requester created with this key, at any time in the past.
pub async fn find_by_key(tx: &mut Tx, requested_by: &str, key: &str) -> Result<Option<OperationId>> {
    sql("select id from operations where requested_by = $1 and idempotency_key = $2 order by batch_index limit 1")
        .bind((requested_by, key))
        .optional_scalar(tx)
        .await
}
