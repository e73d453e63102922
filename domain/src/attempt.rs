//! Attempts: the signed transactions of a step. All attempts of a cycle share one nonce.

use alloy_primitives::B256;
use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::types::Json;

use crate::Result;
use crate::column::{Dec, Hex};
use crate::db::{Conn, Tx};
use crate::id::{LaneId, OperationId};
use crate::rows::portions;
use crate::sql::sql;

crate::words! {
    /// The kind of an attempt.
    Kind {
        /// The first transaction of a cycle.
        Original = "original",
        /// The same call with a higher fee.
        Bump = "bump",
        /// An empty transfer to the signer itself that uses up the nonce.
        Cancel = "cancel",
    }
}

/// One row of `attempts`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Attempt {
    pub chain_id: i64,
    pub tx_hash: Hex<B256>,
    pub operation_id: OperationId,
    pub position: i64,
    pub cycle: i64,
    pub number: i64,
    pub kind: Kind,
    pub lane_id: LaneId,
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
    /// That of an earlier release. A newer one is in `receipt_text`.
    pub receipt: Option<Json<Box<RawValue>>>,
    /// As JSON.
    pub receipt_text: Option<String>,
}

impl Attempt {
    /// The receipt, as JSON. Its text, because a receipt can be long and few readers need it.
    pub fn receipt(&self) -> Option<&str> {
        // First that of the earlier release: its processes do not know the other one, and do not take it back with the block.
        self.receipt.as_ref().map(|receipt| receipt.get()).or(self.receipt_text.as_deref())
    }
}

/// Stores signed transactions. After this commit they can be on the wire.
pub async fn insert(tx: &mut Tx, attempts: &[Attempt]) -> Result<()> {
    for portion in portions(tx, attempts) {
        sql(
            "insert into attempts (chain_id, tx_hash, operation_id, position, cycle, number, kind, lane_id, nonce, raw,
                 gas_limit, max_fee_per_gas, max_priority_fee_per_gas, open, signed_at, sends)",
        )
        .values(portion, |a| {
            (
                a.chain_id,
                a.tx_hash,
                &a.operation_id,
                a.position,
                a.cycle,
                a.number,
                a.kind,
                &a.lane_id,
                a.nonce,
                &a.raw,
                a.gas_limit,
                a.max_fee_per_gas,
                a.max_priority_fee_per_gas,
                true,
                a.signed_at,
                0i64,
            )
        })
        .write(tx)
        .await?;
    }
    Ok(())
}

/// All attempts of an operation, oldest first.
pub async fn of_operation(tx: &mut Tx, operation_id: &OperationId) -> Result<Vec<Attempt>> {
    sql("select * from attempts where operation_id = $1 order by position, cycle, number")
        .bind(operation_id)
        .rows(tx)
        .await
}

/// How many attempts each of these operations has, and how many of them were sent.
pub async fn counts(tx: &mut Tx, operation_ids: &[&OperationId]) -> Result<Vec<(OperationId, i64, i64)>> {
    let mut found = Vec::new();
    for portion in portions(tx, operation_ids) {
        found.extend(
            sql("select operation_id, count(*), count(sent_at) from attempts where operation_id in (")
                .list(portion)
                .push(") group by operation_id")
                .rows::<(OperationId, i64, i64)>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// The attempts of a lane whose nonce is not final yet: lowest nonce first, newest attempt of a nonce last.
pub async fn open_of_lane(tx: &mut Tx, lane_id: &LaneId) -> Result<Vec<Attempt>> {
    sql("select * from attempts where lane_id = $1 and open order by nonce, number").bind(lane_id).rows(tx).await
}

/// The same without those that a block contains.
pub async fn pending_of_lane(tx: &mut Tx, lane_id: &LaneId) -> Result<Vec<Attempt>> {
    sql("select * from attempts where lane_id = $1 and open and block_number is null order by nonce, number")
        .bind(lane_id)
        .rows(tx)
        .await
}

/// The newest offers of a lane, newest first: when each was signed, and the most that it pays for a unit of gas.
pub async fn newest_offers(tx: &mut Tx, lane_id: &LaneId, limit: i64) -> Result<Vec<(DateTime<Utc>, Dec<u128>)>> {
    sql("select signed_at, max_fee_per_gas from attempts where lane_id = $1 order by nonce desc limit $2")
        .bind((lane_id, limit))
        .rows(tx)
        .await
}

/// The attempt with this hash.
pub async fn find(tx: &mut Tx, chain_id: i64, tx_hash: B256) -> Result<Option<Attempt>> {
    sql("select * from attempts where chain_id = $1 and tx_hash = $2").bind((chain_id, Hex(tx_hash))).optional(tx).await
}

/// The attempts with these hashes. Unknown hashes are left out.
pub async fn find_all(tx: &mut Tx, chain_id: i64, hashes: &[B256]) -> Result<Vec<Attempt>> {
    let mut found = Vec::with_capacity(hashes.len());
    for portion in portions(tx, hashes) {
        found.extend(
            sql("select * from attempts where chain_id = ")
                .value(chain_id)
                .push(" and tx_hash in (")
                .list(portion.iter().map(|hash| Hex(*hash)))
                .push(")")
                .rows::<Attempt>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// The answer of a node to a send.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct SendAnswer {
    pub tx_hash: B256,
    pub at: DateTime<Utc>,
    pub answer: String,
}

/// Locks these attempts in the order of their hashes, so that two commits cannot deadlock: an update takes its rows in the order of its plan.
/// Among gathered writes the lock waits with them, and comes first. SQLite has one writer, which needs no lock.
async fn lock_rows(tx: &mut Tx, chain_id: i64, hashes: &[Hex<B256>]) -> Result<()> {
    if hashes.len() < 2 || !matches!(tx.conn, Conn::Postgres(..)) {
        return Ok(());
    }
    for portion in portions(tx, hashes) {
        sql("select tx_hash from attempts where chain_id = ")
            .value(chain_id)
            .push(" and tx_hash in (")
            .list(portion.iter().copied())
            .push(") order by tx_hash for update")
            .write(tx)
            .await?;
    }
    Ok(())
}

/// Records sends and their answers. An answer never decides a status.
pub async fn record_sends(tx: &mut Tx, chain_id: i64, answers: &[SendAnswer]) -> Result<()> {
    let mut answers: Vec<&SendAnswer> = answers.iter().collect();
    answers.sort_by_key(|answer| answer.tx_hash);
    lock_rows(tx, chain_id, &answers.iter().map(|answer| Hex(answer.tx_hash)).collect::<Vec<_>>()).await?;
    note_sends(tx, chain_id, &answers).await
}

async fn note_sends(tx: &mut Tx, chain_id: i64, answers: &[&SendAnswer]) -> Result<()> {
    for portion in portions(tx, answers) {
        sql("update attempts set sends = sends + 1, sent_at = v.column2, last_answer = v.column3 from (")
            .values(portion, |a| (Hex(a.tx_hash), a.at, &a.answer))
            .with(") as v where attempts.tx_hash = v.column1 and attempts.chain_id = ", chain_id)
            .write(tx)
            .await?;
    }
    Ok(())
}

/// A block that includes an attempt.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct InBlock {
    pub chain_id: i64,
    pub tx_hash: Hex<B256>,
    pub block_number: i64,
    pub block_hash: Hex<B256>,
    /// As JSON.
    pub receipt: String,
    /// The answer to its send, if nothing has stored it yet.
    pub answer: Option<SendAnswer>,
}

/// Records the blocks of these attempts.
pub async fn record_blocks(tx: &mut Tx, included: &[InBlock]) -> Result<()> {
    let mut included: Vec<&InBlock> = included.iter().collect();
    included.sort_by_key(|one| one.tx_hash.0);
    if let Some(first) = included.first() {
        // The blocks of one commit are those of one chain.
        lock_rows(tx, first.chain_id, &included.iter().map(|one| one.tx_hash).collect::<Vec<_>>()).await?;
    }
    for portion in portions(tx, &included) {
        sql("update attempts set block_number = v.column3, block_hash = v.column4, receipt = null, receipt_text = v.column5,
                 sends = sends + v.column6, sent_at = coalesce(v.column7, sent_at), last_answer = coalesce(v.column8, last_answer)
             from (")
        .values(portion, |one| {
            let (at, text) = one.answer.as_ref().map(|answer| (answer.at, &answer.answer)).unzip();
            (one.chain_id, one.tx_hash, one.block_number, one.block_hash, &one.receipt, i64::from(at.is_some()), at, text)
        })
        .push(") as v where attempts.chain_id = v.column1 and attempts.tx_hash = v.column2")
        .write_exactly(tx, portion.len(), "attempt", &portion[0].tx_hash.to_string())
        .await?;
    }
    Ok(())
}

/// Closes all attempts of these nonces, because their outcome is final.
pub async fn close_nonces(tx: &mut Tx, nonces: &[(&str, i64)]) -> Result<()> {
    for portion in portions(tx, nonces) {
        let hashes = sql("select a.chain_id, a.tx_hash from attempts a join (")
            .values(portion, |(lane_id, nonce)| (lane_id, nonce))
            .push(") as v on a.lane_id = v.column1 and a.nonce = v.column2 where a.open order by a.tx_hash");
        // The lock takes the rows in the order of their hashes. SQLite has one writer, which needs no lock.
        let hashes = if matches!(tx.conn, Conn::Postgres(..)) { hashes.push(" for update of a") } else { hashes };
        let hashes = hashes.rows::<(i64, Hex<B256>)>(tx).await?;
        for chain in hashes.chunk_by(|a, b| a.0 == b.0) {
            for portion in portions(tx, chain) {
                sql("update attempts set open = false where chain_id = ")
                    .value(portion[0].0)
                    .push(" and tx_hash in (")
                    .list(portion.iter().map(|(_, hash)| *hash))
                    .push(")")
                    .write(tx)
                    .await?;
            }
        }
    }
    Ok(())
}

/// Prefix of an answer which means that the signer cannot pay for gas.
pub const UNFUNDED: &str = "insufficient_funds";
/// The condition of such an answer, as the index `attempts_unfunded` has it.
pub const IS_UNFUNDED: &str = "substr(last_answer, 1, 18) = 'insufficient_funds'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_compares_the_whole_prefix() {
        assert_eq!(IS_UNFUNDED, format!("substr(last_answer, 1, {}) = '{UNFUNDED}'", UNFUNDED.len()));
    }
}
