//! What we believe of a chain: its genesis, how far it was followed and up to where it is final.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};

use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::rows::portions;
use crate::{Result, event, on};

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
    pub version: i64,
    pub updated_at: DateTime<Utc>,
}

/// A canonical header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Header {
    pub number: i64,
    pub hash: Hex<B256>,
    pub parent_hash: Hex<B256>,
}

/// A transaction of ours that we did not sign here.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Foreign {
    pub chain_id: i64,
    pub signer: Hex<Address>,
    pub nonce: i64,
    pub tx_hash: Hex<B256>,
    pub block_number: i64,
    pub block_hash: Hex<B256>,
}

/// The chain, if it was met before.
pub async fn find(tx: &mut Tx, chain_id: i64) -> Result<Option<Chain>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Chain>("select * from chains where chain_id = $1").bind(chain_id).fetch_optional(conn).await?),
    )
}

/// Notes the most gas of one transaction, as the configuration says it.
pub async fn set_gas_cap(tx: &mut Tx, chain_id: i64, gas: i64) -> Result<()> {
    on!(tx, conn => sqlx::query("update chains set gas_cap = $2 where chain_id = $1").bind(chain_id).bind(gas)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// The most gas of one transaction, once the chain was met.
pub async fn gas_cap(tx: &mut Tx, chain_id: i64) -> Result<Option<i64>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, Option<i64>>("select gas_cap from chains where chain_id = $1")
        .bind(chain_id).fetch_optional(conn).await?)
    .flatten())
}

/// Every chain that was met.
pub async fn all(tx: &mut Tx) -> Result<Vec<Chain>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Chain>("select * from chains order by chain_id").fetch_all(conn).await?))
}

/// Notes first contact: the genesis, and where following begins.
pub async fn meet(tx: &mut Tx, chain_id: i64, genesis: B256, head: (i64, B256), last: (i64, B256)) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into chains (chain_id, genesis_hash, head_number, head_hash, final_number, final_hash, version, updated_at) \
         values ($1, $2, $3, $4, $5, $6, 1, $7) on conflict do nothing")
        .bind(chain_id).bind(Hex(genesis)).bind(head.0).bind(Hex(head.1)).bind(last.0).bind(Hex(last.1)).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// Moves the cursor, if nobody moved it meanwhile, and drops the headers that finality made useless.
pub async fn advance(tx: &mut Tx, chain: &Chain, head: (i64, B256), last: (i64, B256)) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update chains set head_number = $3, head_hash = $4, final_number = $5, final_hash = $6, blocked_reason = null, \
         blocked_since = null, version = version + 1, updated_at = $7 where chain_id = $1 and version = $2")
        .bind(chain.chain_id).bind(chain.version).bind(head.0).bind(Hex(head.1)).bind(last.0).bind(Hex(last.1)).bind(now)
        .execute(conn).await?.rows_affected());
    touched(rows, "chain", &chain.chain_id.to_string())?;
    on!(tx, conn => sqlx::query("delete from chain_blocks where chain_id = $1 and number < $2")
        .bind(chain.chain_id).bind(last.0).execute(conn).await?.rows_affected());
    Ok(())
}

/// Adds canonical headers.
pub async fn add_headers(tx: &mut Tx, chain_id: i64, headers: &[Header]) -> Result<()> {
    for portion in portions(headers) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("insert into chain_blocks (chain_id, number, hash, parent_hash) ");
            query.push_values(portion, |mut row, h| {
                row.push_bind(chain_id).push_bind(h.number).push_bind(h.hash).push_bind(h.parent_hash);
            });
            query.push(" on conflict (chain_id, number) do update set hash = excluded.hash, parent_hash = excluded.parent_hash");
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(())
}

/// The headers that we hold for canonical between two heights, both included.
pub async fn headers(tx: &mut Tx, chain_id: i64, from: i64, to: i64) -> Result<Vec<Header>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Header>(
        "select number, hash, parent_hash from chain_blocks where chain_id = $1 and number between $2 and $3 order by number")
        .bind(chain_id).bind(from).bind(to).fetch_all(conn).await?))
}

/// The header that we hold for canonical at a height.
pub async fn header(tx: &mut Tx, chain_id: i64, number: i64) -> Result<Option<Header>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Header>(
        "select number, hash, parent_hash from chain_blocks where chain_id = $1 and number = $2")
        .bind(chain_id).bind(number).fetch_optional(conn).await?))
}

/// Takes back everything above the common ancestor: headers, and what we believed to be included there.
pub async fn rewind(tx: &mut Tx, chain_id: i64, ancestor: i64) -> Result<u64> {
    let statements = [
        "delete from chain_blocks where chain_id = $1 and number > $2",
        "delete from foreign_transactions where chain_id = $1 and block_number > $2",
        "update attempts set block_number = null, block_hash = null, receipt = null where chain_id = $1 and block_number > $2",
        // A step that was taken over from the chain has no nonce of ours: it goes back to being unsigned.
        "update operation_steps set state = 'unsigned', tx_hash = null, block_number = null, block_hash = null \
         where chain_id = $1 and block_number > $2 and state = 'included' and nonce is null",
        "update operation_steps set state = 'signed', tx_hash = null, block_number = null, block_hash = null \
         where chain_id = $1 and block_number > $2 and state = 'included'",
    ];
    let mut orphaned = 0;
    for statement in statements {
        orphaned =
            on!(tx, conn => sqlx::query(statement).bind(chain_id).bind(ancestor).execute(conn).await?.rows_affected());
    }
    Ok(orphaned)
}

/// Stops a chain that contradicts itself. Only a person clears it.
pub async fn halt(tx: &mut Tx, chain: &Chain, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update chains set halted_reason = $3, version = version + 1, updated_at = $4 where chain_id = $1 and version = $2")
        .bind(chain.chain_id).bind(chain.version).bind(reason).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "chain", &chain.chain_id.to_string())?;
    let data = serde_json::json!({ "chain_id": chain.chain_id, "reason": reason });
    event::write(tx, "chain.halted", "chain", &chain.chain_id.to_string(), chain.version + 1, data).await
}

/// Lets a halted chain go on, by a person's word.
pub async fn clear_halt(tx: &mut Tx, chain: &Chain, reason: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update chains set halted_reason = null, version = version + 1, updated_at = $3 where chain_id = $1 and version = $2")
        .bind(chain.chain_id).bind(chain.version).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "chain", &chain.chain_id.to_string())?;
    let data = serde_json::json!({ "chain_id": chain.chain_id, "reason": reason });
    event::write(tx, "chain.cleared", "chain", &chain.chain_id.to_string(), chain.version + 1, data).await
}

/// Opens the circuit (a reason) or closes it (none). The first reason keeps its time.
pub async fn set_blocked(tx: &mut Tx, chain_id: i64, reason: Option<&str>) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "update chains set blocked_since = case when cast($2 as text) is null then null else coalesce(blocked_since, $3) end, \
         blocked_reason = $2, version = version + 1, updated_at = $3 where chain_id = $1")
        .bind(chain_id).bind(reason).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Keeps the proof that a nonce of ours was used by somebody else.
pub async fn add_foreign(tx: &mut Tx, f: &Foreign) -> Result<bool> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "insert into foreign_transactions (chain_id, signer, nonce, tx_hash, block_number, block_hash, seen_at) \
         values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing")
        .bind(f.chain_id).bind(f.signer).bind(f.nonce).bind(f.tx_hash).bind(f.block_number).bind(f.block_hash).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(rows == 1)
}

/// What strangers did with a key in these blocks.
pub async fn foreign_of(tx: &mut Tx, chain_id: i64, signer: Address, blocks: (i64, i64)) -> Result<Vec<Foreign>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Foreign>(
        "select chain_id, signer, nonce, tx_hash, block_number, block_hash from foreign_transactions \
         where chain_id = $1 and signer = $2 and block_number between $3 and $4 order by nonce")
        .bind(chain_id).bind(Hex(signer)).bind(blocks.0).bind(blocks.1).fetch_all(conn).await?))
}

/// Final proofs against nonces that we still hold for open.
pub async fn final_foreign_of_open_steps(tx: &mut Tx, chain_id: i64, last: i64) -> Result<Vec<Foreign>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Foreign>(
        "select f.chain_id, f.signer, f.nonce, f.tx_hash, f.block_number, f.block_hash from foreign_transactions f \
         join lanes l on l.chain_id = f.chain_id and l.signer = f.signer \
         join operation_steps s on s.lane_id = l.id and s.nonce = f.nonce and s.state = 'signed' \
         where f.chain_id = $1 and f.block_number <= $2")
        .bind(chain_id).bind(last).fetch_all(conn).await?))
}
