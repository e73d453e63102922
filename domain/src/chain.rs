//! Chains: genesis, how far the follower got, and the newest final block.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::rows::portions;
use crate::sql::{insert_into, sql, update_table};
use crate::{Result, event};

/// Headers below the final block that stay: a verdict finds the block of its step here and does not ask the chain. No reorganisation replaces
/// them. Up to twice as many stay, because they are deleted in groups.
const HEADERS_KEPT: i64 = 512;

/// One row of `chains`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Chain {
    pub chain_id: i64,
    pub genesis_hash: Hex<B256>,
    pub head_number: i64,
    pub head_hash: Hex<B256>,
    pub final_number: i64,
    pub final_hash: Hex<B256>,
    pub halted_reason: Option<String>,
    pub blocked_reason: Option<String>,
    pub blocked_since: Option<DateTime<Utc>>,
    pub endpoint_warning: Option<String>,
    pub endpoints: Option<Json<Vec<Endpoint>>>,
    pub endpoints_seen_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub updated_at: DateTime<Utc>,
}

/// What must still be true of a chain before anything is signed for it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Anchor {
    pub halted_reason: Option<String>,
    pub final_number: i64,
    pub final_hash: Hex<B256>,
}

impl Chain {
    /// `ok`, `unreachable` or `halted`.
    pub const fn condition(&self) -> &'static str {
        match (&self.halted_reason, &self.blocked_reason) {
            (Some(_), _) => "halted",
            (None, Some(_)) => "unreachable",
            (None, None) => "ok",
        }
    }
}

/// An endpoint of a chain, as the worker that follows the chain saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its host. The path can hold a key and is never stored.
    pub name: String,
    /// Whether its last answer was usable.
    pub up: bool,
    /// Since when it is up or down.
    pub since: Option<DateTime<Utc>>,
    /// How long its last answer took.
    pub latency_milliseconds: Option<i64>,
    /// The newest block that it showed.
    pub head: Option<i64>,
    /// Why it is asked last or never, or did not answer.
    pub trouble: Option<String>,
}

/// A header on the canonical chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Header {
    pub number: i64,
    pub hash: Hex<B256>,
    pub parent_hash: Hex<B256>,
}

/// A foreign transaction: our signer and nonce, but not signed here.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct ForeignTransaction {
    pub chain_id: i64,
    pub signer: Hex<Address>,
    pub nonce: i64,
    pub tx_hash: Hex<B256>,
    pub block_number: i64,
    pub block_hash: Hex<B256>,
}

/// The chain, if it was ever contacted.
pub async fn find(tx: &mut Tx, chain_id: i64) -> Result<Option<Chain>> {
    sql("select * from chains where chain_id = $1").bind(chain_id).optional(tx).await
}

/// Stores the gas limit of one transaction from the configuration.
pub async fn set_gas_cap(tx: &mut Tx, chain_id: i64, gas: i64) -> Result<()> {
    sql("update chains set gas_cap = $2 where chain_id = $1").bind((chain_id, gas)).execute(tx).await?;
    Ok(())
}

/// All chains that were ever contacted.
pub async fn all(tx: &mut Tx) -> Result<Vec<Chain>> {
    sql("select * from chains order by chain_id").rows(tx).await
}

/// Stores the first contact: the genesis and the block at which following begins.
pub async fn insert(tx: &mut Tx, chain_id: i64, genesis: B256, head: (i64, B256), last: (i64, B256)) -> Result<()> {
    let now = tx.now();
    insert_into("chains")
        .set("chain_id", chain_id)
        .set("genesis_hash", Hex(genesis))
        .set("head_number", head.0)
        .set("head_hash", Hex(head.1))
        .set("final_number", last.0)
        .set("final_hash", Hex(last.1))
        .set("version", 1)
        .set("updated_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    Ok(())
}

/// Moves the cursor, unless it has changed since it was read, and deletes headers far below the final block.
pub async fn advance(tx: &mut Tx, chain: &Chain, head: (i64, B256), last: (i64, B256)) -> Result<()> {
    let now = tx.now();
    update_table("chains")
        .set("head_number", head.0)
        .set("head_hash", Hex(head.1))
        .set("final_number", last.0)
        .set("final_hash", Hex(last.1))
        .set("updated_at", now)
        .with(", blocked_reason = null, blocked_since = null, version = version + 1 where chain_id = ", chain.chain_id)
        .with(" and version = ", chain.version)
        .write_exactly(tx, 1, "chain", &chain.chain_id.to_string())
        .await?;
    if last.0 / HEADERS_KEPT == chain.final_number / HEADERS_KEPT {
        return Ok(());
    }
    let oldest = last.0 - HEADERS_KEPT;
    sql("delete from chain_blocks where chain_id = $1 and number < $2").bind((chain.chain_id, oldest)).write(tx).await
}

/// Adds canonical headers.
pub async fn add_headers(tx: &mut Tx, chain_id: i64, headers: &[Header]) -> Result<()> {
    for portion in portions(tx, headers) {
        sql("insert into chain_blocks (chain_id, number, hash, parent_hash)")
            .values(portion, |h| (chain_id, h.number, h.hash, h.parent_hash))
            .push(
                " on conflict (chain_id, number) do update set hash = excluded.hash, parent_hash = excluded.parent_hash",
            )
            .write(tx)
            .await?;
    }
    Ok(())
}

/// The canonical headers between two heights, both included.
pub async fn headers(tx: &mut Tx, chain_id: i64, from: i64, to: i64) -> Result<Vec<Header>> {
    sql("select number, hash, parent_hash from chain_blocks
         where chain_id = $1 and number between $2 and $3 order by number")
    .bind((chain_id, from, to))
    .rows(tx)
    .await
}

/// The canonical header at a height.
pub async fn header(tx: &mut Tx, chain_id: i64, number: i64) -> Result<Option<Header>> {
    sql("select number, hash, parent_hash from chain_blocks where chain_id = $1 and number = $2")
        .bind((chain_id, number))
        .optional(tx)
        .await
}

/// Undoes everything above the common ancestor of a reorganisation: headers, and inclusion of transactions. Returns affected steps.
pub async fn rewind(tx: &mut Tx, chain_id: i64, ancestor: i64) -> Result<u64> {
    let now = tx.now();
    // An adopted step has no nonce of ours, so no rebroadcast brings it back: it becomes unsigned again and its operation is woken.
    sql("update operations set next_action_at = $3
         where status = 'submitted' and id in (
             select operation_id from operation_steps
             where chain_id = $1 and block_number > $2 and state = 'included' and nonce is null)")
    .bind((chain_id, ancestor, now))
    .execute(tx)
    .await?;
    let statements = [
        "delete from chain_blocks where chain_id = $1 and number > $2",
        "delete from foreign_transactions where chain_id = $1 and block_number > $2",
        // What is above the final block is open, so only the few open attempts are read.
        "update attempts set block_number = null, block_hash = null, receipt = null, receipt_text = null \
         where chain_id = $1 and block_number > $2 and open",
        "update operation_steps set state = 'unsigned', tx_hash = null, block_number = null, block_hash = null \
         where chain_id = $1 and block_number > $2 and state = 'included' and nonce is null",
        "update operation_steps set state = 'signed', tx_hash = null, block_number = null, block_hash = null \
         where chain_id = $1 and block_number > $2 and state = 'included'",
    ];
    let mut orphaned = 0;
    for statement in statements {
        orphaned = sql(statement).bind((chain_id, ancestor)).execute(tx).await?;
    }
    Ok(orphaned)
}

/// Halts a chain with contradictory answers. Only an operator can clear it.
pub async fn halt(tx: &mut Tx, chain: &Chain, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("update chains set halted_reason = $3, version = version + 1, updated_at = $4
        where chain_id = $1 and version = $2")
    .bind((chain.chain_id, chain.version, reason, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "chain", &chain.chain_id.to_string())?;
    let data = serde_json::json!({ "chain_id": chain.chain_id, "reason": reason });
    event::write(tx, "chain.halted", "chain", &chain.chain_id.to_string(), chain.version + 1, data).await
}

/// Clears the halt of a chain, decided by an operator.
pub async fn clear_halt(tx: &mut Tx, chain: &Chain, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = sql("update chains set halted_reason = null, version = version + 1, updated_at = $3
        where chain_id = $1 and version = $2")
    .bind((chain.chain_id, chain.version, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "chain", &chain.chain_id.to_string())?;
    let data = serde_json::json!({ "chain_id": chain.chain_id, "reason": reason });
    event::write(tx, "chain.cleared", "chain", &chain.chain_id.to_string(), chain.version + 1, data).await
}

/// Opens the circuit (with a reason) or closes it. While it is open, the first time stays.
pub async fn set_blocked(tx: &mut Tx, chain_id: i64, reason: Option<&str>) -> Result<()> {
    let now = tx.now();
    sql("update chains
         set blocked_since = case when cast($2 as text) is null then null else coalesce(blocked_since, $3) end,
             blocked_reason = $2, version = version + 1, updated_at = $3
         where chain_id = $1")
    .bind((chain_id, reason, now))
    .execute(tx)
    .await?;
    Ok(())
}

/// Stores which endpoints the worker asks last or never, and why. The first of them is an event.
pub async fn set_endpoint_warning(tx: &mut Tx, chain_id: i64, warning: Option<&str>) -> Result<()> {
    let version = sql("update chains set endpoint_warning = $2 where chain_id = $1 returning version")
        .bind((chain_id, warning))
        .optional_scalar::<i64>(tx)
        .await?;
    match (version, warning) {
        (Some(version), Some(_)) => {
            let data = serde_json::json!({ "chain_id": chain_id });
            event::write(tx, "chain.endpoint_down", "chain", &chain_id.to_string(), version, data).await
        }
        _ => Ok(()),
    }
}

/// Stores the health of the endpoints, for display. It moves nothing, so the version stays.
pub async fn record_endpoints(tx: &mut Tx, chain_id: i64, endpoints: &[Endpoint]) -> Result<()> {
    let now = tx.now();
    update_table("chains")
        .set("endpoints", Json(endpoints))
        .set("endpoints_seen_at", now)
        .with(" where chain_id = ", chain_id)
        .execute(tx)
        .await?;
    Ok(())
}

/// Stores a foreign transaction as proof that our nonce is used. False if it is known.
pub async fn add_foreign(tx: &mut Tx, f: &ForeignTransaction) -> Result<bool> {
    let now = tx.now();
    let rows = insert_into("foreign_transactions")
        .set("chain_id", f.chain_id)
        .set("signer", f.signer)
        .set("nonce", f.nonce)
        .set("tx_hash", f.tx_hash)
        .set("block_number", f.block_number)
        .set("block_hash", f.block_hash)
        .set("seen_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    Ok(rows == 1)
}

/// Foreign transactions of a signer in these blocks.
pub async fn foreign_of(
    tx: &mut Tx,
    chain_id: i64,
    signer: Address,
    blocks: (i64, i64),
) -> Result<Vec<ForeignTransaction>> {
    sql("select chain_id, signer, nonce, tx_hash, block_number, block_hash
         from foreign_transactions
         where chain_id = $1 and signer = $2 and block_number between $3 and $4 order by nonce")
    .bind((chain_id, Hex(signer), blocks.0, blocks.1))
    .rows(tx)
    .await
}

/// Final foreign transactions with nonces that we still treat as open.
pub async fn final_foreign_of_open_steps(tx: &mut Tx, chain_id: i64, last: i64) -> Result<Vec<ForeignTransaction>> {
    sql("select f.chain_id, f.signer, f.nonce, f.tx_hash, f.block_number, f.block_hash
         from foreign_transactions f join lanes l on l.chain_id = f.chain_id and l.signer = f.signer
             join operation_steps s on s.lane_id = l.id and s.nonce = f.nonce and s.state = 'signed'
         where f.chain_id = $1 and f.block_number <= $2")
    .bind((chain_id, last))
    .rows(tx)
    .await
}
