//! Attempts: the signed transactions of a step. All of a cycle share one nonce.

use alloy_primitives::B256;
use chrono::{DateTime, Utc};
use sqlx::types::Json;

use crate::column::{Dec, Hex};
use crate::db::{Tx, all_touched};
use crate::rows::portions;
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
pub async fn insert(tx: &mut Tx, attempts: &[Attempt]) -> Result<()> {
    for portion in portions(attempts) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into attempts (chain_id, tx_hash, operation_id, position, cycle, number, kind, lane_id, nonce, raw, gas_limit, \
                 max_fee_per_gas, max_priority_fee_per_gas, open, signed_at, sends) ");
            query.push_values(portion, |mut row, a| {
                row.push_bind(a.chain_id).push_bind(a.tx_hash).push_bind(&a.operation_id).push_bind(a.position).push_bind(a.cycle)
                    .push_bind(a.number).push_bind(a.kind).push_bind(&a.lane_id).push_bind(a.nonce).push_bind(&a.raw)
                    .push_bind(a.gas_limit).push_bind(a.max_fee_per_gas).push_bind(a.max_priority_fee_per_gas).push_bind(true)
                    .push_bind(a.signed_at).push_bind(0i64);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
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

/// The attempts with these hashes, as far as there are any.
pub async fn find_all(tx: &mut Tx, chain_id: i64, hashes: &[B256]) -> Result<Vec<Attempt>> {
    let mut found = Vec::with_capacity(hashes.len());
    for portion in portions(hashes) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select * from attempts where chain_id = ");
            query.push_bind(chain_id).push(" and tx_hash in (");
            let mut list = query.separated(", ");
            for hash in portion {
                list.push_bind(Hex(*hash));
            }
            query.push(")");
            query.build_query_as::<Attempt>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// Which of these hashes are attempts of ours.
pub async fn known(tx: &mut Tx, chain_id: i64, hashes: &[B256]) -> Result<Vec<Hex<B256>>> {
    let mut found = Vec::with_capacity(hashes.len());
    for portion in portions(hashes) {
        found.extend(on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select tx_hash from attempts where chain_id = ");
            query.push_bind(chain_id).push(" and tx_hash in (");
            let mut list = query.separated(", ");
            for hash in portion {
                list.push_bind(Hex(*hash));
            }
            query.push(")");
            query.build_query_scalar::<Hex<B256>>().fetch_all(conn).await?
        }));
    }
    Ok(found)
}

/// What came of a send.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Answered {
    pub tx_hash: B256,
    pub at: DateTime<Utc>,
    pub answer: String,
}

/// Notes what was sent and what came of it. An answer never decides anything.
pub async fn note_sends(tx: &mut Tx, chain_id: i64, answers: &[Answered]) -> Result<()> {
    for portion in portions(answers) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "update attempts set sends = sends + 1, sent_at = v.column2, last_answer = v.column3 from (");
            query.push_values(portion, |mut row, a| {
                row.push_bind(Hex(a.tx_hash)).push_bind(a.at).push_bind(&a.answer);
            });
            query.push(") as v where attempts.tx_hash = v.column1 and attempts.chain_id = ").push_bind(chain_id);
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(())
}

/// Notes the blocks that hold them.
pub async fn note_blocks(tx: &mut Tx, attempts: &[Attempt]) -> Result<()> {
    for portion in portions(attempts) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "update attempts set block_number = v.column3, block_hash = v.column4, receipt = v.column5 from (");
            query.push_values(portion, |mut row, a| {
                row.push_bind(a.chain_id).push_bind(a.tx_hash).push_bind(a.block_number).push_bind(a.block_hash).push_bind(&a.receipt);
            });
            query.push(") as v where attempts.chain_id = v.column1 and attempts.tx_hash = v.column2");
            query.build().execute(conn).await?.rows_affected()
        });
        all_touched(rows, portion.len(), "attempt", &portion[0].tx_hash.to_string())?;
    }
    Ok(())
}

/// Closes all attempts of these nonces: their fate is final.
pub async fn close_nonces(tx: &mut Tx, nonces: &[(&str, i64)]) -> Result<()> {
    for portion in portions(nonces) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("update attempts set open = ");
            query.push_bind(false).push(" from (");
            query.push_values(portion, |mut row, (lane_id, nonce)| {
                row.push_bind(lane_id).push_bind(nonce);
            });
            query.push(") as v where attempts.lane_id = v.column1 and attempts.nonce = v.column2");
            query.build().execute(conn).await?.rows_affected()
        });
    }
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
