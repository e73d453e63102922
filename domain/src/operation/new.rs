//! Accepting an operation: its row, its steps and its first line of history.

use std::collections::HashMap;

use alloy_primitives::{Address, B256};
use chrono::Duration;
use sha2::{Digest, Sha256};
use sqlx::types::Json;

use super::many::{Line, record_all};
use super::{Kind, Operation, Status};
use crate::column::Hex;
use crate::db::Tx;
use crate::rows::portions;
use crate::step::State;
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
    /// Whose key alone may sign it; none if any will do.
    pub lane_id: Option<String>,
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
    let mut inserted = insert_all(tx, &[new]).await?;
    inserted.pop().ok_or_else(|| Error::Stale { what: "operation", id: "new".to_owned() })
}

/// Stores operations with their steps, in their order: all of them, or the whole commit must not stand.
pub async fn insert_all(tx: &mut Tx, all: &[NewOperation]) -> Result<Vec<Operation>> {
    let named: Vec<(String, &NewOperation)> = all.iter().map(|new| (tx.new_id("op"), new)).collect();
    let mut inserted = Vec::with_capacity(all.len());
    for portion in portions(&named) {
        inserted.extend(insert_rows(tx, portion).await?);
    }
    let steps: Vec<(&str, i64, i64, &NewStep)> = named.iter().flat_map(steps_of).collect();
    for portion in portions(&steps) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into operation_steps (operation_id, position, name, target, calldata, op_number, payload_hash, state, chain_id) ");
            query.push_values(portion, |mut row, (id, chain_id, position, step)| {
                row.push_bind(*id).push_bind(*position).push_bind(step.name).push_bind(Hex(step.target)).push_bind(&step.calldata)
                    .push_bind(step.op_number).push_bind(step.payload_hash.map(Hex)).push_bind(State::Unsigned).push_bind(*chain_id);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    let accepted = |op| Line { op, from: None, actor: &op.requested_by, reason: "accepted".to_owned() };
    record_all(tx, &inserted.iter().map(accepted).collect::<Vec<_>>()).await?;
    Ok(inserted)
}

fn steps_of<'a>((id, new): &'a (String, &'a NewOperation)) -> impl Iterator<Item = (&'a str, i64, i64, &'a NewStep)> {
    (0i64..).zip(&new.steps).map(|(position, step)| (id.as_str(), new.chain_id, position, step))
}

async fn insert_rows(tx: &mut Tx, portion: &[(String, &NewOperation)]) -> Result<Vec<Operation>> {
    let (now, act_until) = (tx.now(), tx.now() + Duration::seconds(PATIENCE_SECONDS));
    let rows = on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new(
            "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_id, batch_index, chain_id, lane_id, \
             payload, payload_sha256, live_key, cycle, faults, next_action_at, requested_by, request_id, idempotency_key, version, \
             created_at, updated_at) ");
        query.push_values(portion, |mut row, (id, new)| {
            let (batch_id, batch_index) = new.batch.as_ref().map_or((None, 0), |(id, index)| (Some(id), *index));
            row.push_bind(id).push_bind(new.kind).push_bind(Status::Pending).push_bind(new.subject_type).push_bind(&new.subject_id)
                .push_bind(&new.offering_id).push_bind(batch_id).push_bind(batch_index).push_bind(new.chain_id).push_bind(&new.lane_id)
                .push_bind(Json(&new.payload)).push_bind(sha256(&new.payload)).push_bind(&new.live_key).push_bind(1i64)
                .push_bind(0i64).push_bind(act_until).push_bind(&new.requested_by).push_bind(&new.request_id)
                .push_bind(&new.idempotency_key).push_bind(1i64).push_bind(now).push_bind(now);
        });
        query.push(" on conflict do nothing returning *");
        query.build_query_as::<Operation>().fetch_all(conn).await?
    });
    let mut rows: HashMap<String, Operation> = rows.into_iter().map(|op| (op.id.clone(), op)).collect();
    let row = |(id, new): &(String, &NewOperation)| rows.remove(id).ok_or_else(|| in_progress(new));
    portion.iter().map(row).collect()
}

fn in_progress(new: &NewOperation) -> Error {
    let live = new.live_key.as_deref().unwrap_or_default();
    Error::refused(Code::OperationInProgress, format!("An operation on {live} is not finished yet."))
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
