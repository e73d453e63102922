//! Accepting an operation: its row, its steps and its first line of history.

use alloy_primitives::{Address, B256};
use chrono::Duration;
use sha2::{Digest, Sha256};
use sqlx::types::Json;

use super::{Kind, Operation, Status};
use crate::column::Hex;
use crate::db::Tx;
use crate::{Code, Error, Result, on};

/// How long a woken operation has to act before the sweep wakes it again, in seconds.
pub const PATIENCE_SECONDS: i64 = 20;

/// What a request wants.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewOperation {
    pub kind: Kind,
    pub subject_type: &'static str,
    pub subject_id: String,
    pub offering_id: Option<String>,
    pub batch: Option<(String, i64)>,
    pub chain_id: i64,
    pub payload: serde_json::Value,
    /// Nobody else may have a live operation with this key.
    pub live_key: Option<String>,
    pub requested_by: String,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub steps: Vec<NewStep>,
}

/// One transaction of it.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewStep {
    pub name: &'static str,
    pub target: Address,
    pub calldata: Vec<u8>,
    pub op_number: Option<i64>,
    pub payload_hash: Option<B256>,
}

/// Stores a new operation with its steps. A live operation with the same key refuses it; nothing is written then.
pub async fn insert(tx: &mut Tx, new: NewOperation) -> Result<Operation> {
    let (id, now) = (tx.new_id("op"), tx.now());
    let payload_sha256 = sha256(&new.payload);
    let (batch_id, batch_index) = new.batch.map_or((None, 0), |(id, index)| (Some(id), index));
    let inserted = on!(tx, conn => sqlx::query_as::<_, Operation>(
        "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_id, batch_index, chain_id, payload, \
         payload_sha256, live_key, cycle, faults, next_action_at, requested_by, request_id, idempotency_key, version, created_at, \
         updated_at) values ($1, $2, 'pending', $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, 0, $16, $13, $14, $15, 1, $12, $12) \
         on conflict do nothing returning *")
        .bind(&id).bind(new.kind).bind(new.subject_type).bind(&new.subject_id).bind(&new.offering_id).bind(&batch_id)
        .bind(batch_index).bind(new.chain_id).bind(Json(&new.payload)).bind(&payload_sha256).bind(&new.live_key).bind(now)
        .bind(&new.requested_by).bind(&new.request_id).bind(&new.idempotency_key).bind(now + Duration::seconds(PATIENCE_SECONDS))
        .fetch_optional(conn).await?);
    let Some(op) = inserted else {
        let live = new.live_key.unwrap_or_default();
        return Err(Error::refused(Code::OperationInProgress, format!("An operation on {live} is not finished yet.")));
    };
    for (position, step) in (0i64..).zip(&new.steps) {
        on!(tx, conn => sqlx::query(
            "insert into operation_steps (operation_id, position, name, target, calldata, op_number, payload_hash, state, chain_id) \
             values ($1, $2, $3, $4, $5, $6, $7, 'unsigned', $8)")
            .bind(&id).bind(position).bind(step.name).bind(Hex(step.target)).bind(&step.calldata).bind(step.op_number)
            .bind(step.payload_hash.map(Hex)).bind(new.chain_id)
            .execute(conn).await?.rows_affected());
    }
    super::record(tx, &op, None, &op.requested_by, "accepted").await?;
    debug_assert_eq!(op.status, Status::Pending);
    Ok(op)
}

/// serde_json keeps the keys of a map sorted, so equal payloads have equal bytes and one hash.
pub(super) fn sha256(payload: &serde_json::Value) -> String {
    format!("{:x}", Sha256::digest(payload.to_string()))
}

/// The operation that this person started with this key, however long ago: it is never started twice.
pub async fn key_spent(tx: &mut Tx, requested_by: &str, key: &str) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select id from operations where requested_by = $1 and idempotency_key = $2 order by batch_index limit 1")
        .bind(requested_by).bind(key).fetch_optional(conn).await?))
}
