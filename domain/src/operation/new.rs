//! Stores a new operation with its steps and the first entry of its history.

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
    let mut inserted = insert_all(tx, vec![new]).await?;
    inserted.pop().ok_or_else(|| Error::Stale { what: "operation", id: "new".to_owned() })
}

/// Stores operations with their steps, in order. If one of them is refused, the caller must not commit; a transaction that gathers its
/// writes may be told later.
pub async fn insert_all(tx: &mut Tx, all: Vec<NewOperation>) -> Result<Vec<Operation>> {
    let (mut operations, mut steps) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
    for new in all {
        let (operation, of_it) = accepted(tx, new);
        steps.extend(
            (0i64..).zip(of_it).map(|(position, step)| (operation.id.clone(), operation.chain_id, position, step)),
        );
        operations.push(operation);
    }
    let gathers = tx.gather_writes();
    insert_rows(tx, &operations).await?;
    for portion in portions(tx, &steps) {
        sql("insert into operation_steps (operation_id, position, name, target, calldata, op_number, payload_hash,
                 state, chain_id)")
        .values(portion, |(id, chain_id, position, step)| {
            (
                id,
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
    let line = |op| Line { op, from: None, actor: &op.requested_by, reason: "accepted".to_owned() };
    record_all(tx, &operations.iter().map(line).collect::<Vec<_>>()).await?;
    if !gathers {
        tx.run_gathered().await?;
    }
    Ok(operations)
}

/// The row of a requested operation, and its steps.
fn accepted(tx: &Tx, new: NewOperation) -> (Operation, Vec<NewStep>) {
    let now = tx.now();
    let payload = canonical::with_checksums(new.payload);
    let (batch_id, batch_index) = new.batch.map_or((None, 0), |(id, index)| (Some(id), index));
    let operation = Operation {
        id: tx.new_id(),
        kind: new.kind,
        status: Status::Pending,
        resolution: None,
        subject_type: new.subject_type.to_owned(),
        subject_id: new.subject_id,
        offering_id: new.offering_id,
        batch_id,
        batch_index,
        chain_id: new.chain_id,
        lane_id: new.lane_id,
        payload_sha256: payload_sha256(&payload),
        payload: Json(payload),
        live_key: new.live_key,
        cycle: 1,
        faults: 0,
        next_action_at: Some(now + Duration::seconds(WAKE_AGAIN_SECONDS)),
        blocked_reason: None,
        error_stage: None,
        error_code: None,
        error_message: None,
        error_data: None,
        suggested_action: None,
        tx_hash: None,
        requested_by: new.requested_by,
        request_id: new.request_id,
        idempotency_key: new.idempotency_key,
        max_fee_per_gas: None,
        version: 1,
        created_at: now,
        submitted_at: None,
        confirmed_at: None,
        failed_at: None,
        updated_at: now,
    };
    (operation, new.steps)
}

async fn insert_rows(tx: &mut Tx, operations: &[Operation]) -> Result<()> {
    for portion in portions(tx, operations) {
        sql("insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_id,
            batch_index, chain_id, lane_id, payload, payload_sha256, live_key, cycle, faults, next_action_at,
            requested_by, request_id, idempotency_key, version, created_at, updated_at)")
        .values(portion, |op| {
            (
                &op.id,
                op.kind,
                op.status,
                &op.subject_type,
                &op.subject_id,
                &op.offering_id,
                &op.batch_id,
                op.batch_index,
                op.chain_id,
                &op.lane_id,
                &op.payload,
                &op.payload_sha256,
                &op.live_key,
                op.cycle,
                op.faults,
                op.next_action_at,
                &op.requested_by,
                &op.request_id,
                &op.idempotency_key,
                op.version,
                op.created_at,
                op.updated_at,
            )
        })
        .push(" on conflict do nothing")
        .write_or(tx, portion.len(), key_taken(portion))
        .await?;
    }
    Ok(())
}

/// What refuses a row: its live key; or, without one, an idempotency key that another request has used since this one looked for it.
fn key_taken(operations: &[Operation]) -> Error {
    match operations.iter().find_map(|op| op.live_key.as_deref()) {
        Some(live) => Error::refused(Code::OperationInProgress, format!("An operation on {live} is not finished.")),
        None => Error::Stale {
            what: "idempotency key",
            id: operations.iter().find_map(|op| op.idempotency_key.clone()).unwrap_or_default(),
        },
    }
}

/// The operation that this requester created with this key, at any time in the past.
pub async fn find_by_key(tx: &mut Tx, requested_by: &str, key: &str) -> Result<Option<OperationId>> {
    sql("select id from operations where requested_by = $1 and idempotency_key = $2 order by batch_index limit 1")
        .bind((requested_by, key))
        .optional_scalar(tx)
        .await
}
