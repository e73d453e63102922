//! Attempts: the signed transactions of a step. All of a cycle share one nonce.

use alloy_primitives::B256;
use chrono::{DateTime, Utc};
use sqlx::types::Json;

use crate::column::{Dec, Hex};
use crate::db::{Tx, touched};
use crate::{Result, on};

crate::words! {
    /// Why it was signed.
    Kind {
        /// The first of its cycle.
        Original = "original",
        /// The same call with a higher fee.
        Bump = "bump",
        /// A transfer of nothing to ourselves, to burn the nonce.
        Cancel = "cancel",
    }
}

/// One row of `attempts`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Attempt {
    pub chain_id: i64,
    pub tx_hash: Hex<B256>,
    pub operation_id: String,
    pub position: i64,
    pub cycle: i64,
    pub number: i64,
    pub kind: Kind,
    pub lane_id: String,
    pub nonce: i64,
    pub raw: Vec<u8>,
    pub gas_limit: i64,
    pub max_fee_per_gas: Dec<u128>,
    pub max_priority_fee_per_gas: Dec<u128>,
    pub open: bool,
    pub signed_at: DateTime<Utc>,
    pub sent_at: Option<DateTime<Utc>>,
    pub sends: i64,
    pub last_answer: Option<String>,
    pub block_number: Option<i64>,
    pub block_hash: Option<Hex<B256>>,
    pub receipt: Option<Json<serde_json::Value>>,
}

/// Stores signed bytes. From here on they may be on the wire.
pub async fn insert(tx: &mut Tx, a: &Attempt) -> Result<()> {
    on!(tx, conn => sqlx::query(
        "insert into attempts (chain_id, tx_hash, operation_id, position, cycle, number, kind, lane_id, nonce, raw, gas_limit, \
         max_fee_per_gas, max_priority_fee_per_gas, open, signed_at, sends) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0)")
        .bind(a.chain_id).bind(a.tx_hash).bind(&a.operation_id).bind(a.position).bind(a.cycle).bind(a.number).bind(a.kind)
        .bind(&a.lane_id).bind(a.nonce).bind(&a.raw).bind(a.gas_limit).bind(a.max_fee_per_gas).bind(a.max_priority_fee_per_gas)
        .bind(true).bind(a.signed_at)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// Every attempt of an operation, oldest first.
pub async fn of_operation(tx: &mut Tx, operation_id: &str) -> Result<Vec<Attempt>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Attempt>(
        "select * from attempts where operation_id = $1 order by position, cycle, number").bind(operation_id).fetch_all(conn).await?))
}

/// The attempts of a lane whose nonce is not final yet, lowest nonce first and newest last.
pub async fn open_of_lane(tx: &mut Tx, lane_id: &str) -> Result<Vec<Attempt>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Attempt>(
        "select * from attempts where lane_id = $1 and open order by nonce, number").bind(lane_id).fetch_all(conn).await?))
}

/// The attempt with this hash.
pub async fn find(tx: &mut Tx, chain_id: i64, tx_hash: B256) -> Result<Option<Attempt>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Attempt>("select * from attempts where chain_id = $1 and tx_hash = $2")
        .bind(chain_id).bind(Hex(tx_hash)).fetch_optional(conn).await?))
}

/// Notes that it was sent and what came of it. An answer never decides anything.
pub async fn note_send(tx: &mut Tx, chain_id: i64, tx_hash: B256, answer: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "update attempts set sent_at = $3, sends = sends + 1, last_answer = $4 where chain_id = $1 and tx_hash = $2")
        .bind(chain_id).bind(Hex(tx_hash)).bind(now).bind(answer).execute(conn).await?.rows_affected());
    Ok(())
}

/// Notes the block that holds it.
pub async fn note_block(tx: &mut Tx, a: &Attempt) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query(
        "update attempts set block_number = $3, block_hash = $4, receipt = $5 where chain_id = $1 and tx_hash = $2")
        .bind(a.chain_id).bind(a.tx_hash).bind(a.block_number).bind(a.block_hash).bind(&a.receipt).execute(conn).await?.rows_affected());
    touched(rows, "attempt", &a.tx_hash.to_string())
}

/// Closes all attempts of a nonce: its fate is final.
pub async fn close_nonce(tx: &mut Tx, lane_id: &str, nonce: i64) -> Result<()> {
    on!(tx, conn => sqlx::query("update attempts set open = $3 where lane_id = $1 and nonce = $2")
        .bind(lane_id).bind(nonce).bind(false).execute(conn).await?.rows_affected());
    Ok(())
}

/// How an answer begins that means that the signer cannot pay.
pub const UNFUNDED: &str = "insufficient_funds";

/// Whether the lane waits for funds: signing more would only lengthen the queue behind the one that cannot be paid.
pub async fn is_unfunded(tx: &mut Tx, lane_id: &str) -> Result<bool> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from attempts where lane_id = $1 and open and block_number is null and last_answer like $2")
        .bind(lane_id).bind(format!("{UNFUNDED}%")).fetch_one(conn).await?)
        > 0)
}
