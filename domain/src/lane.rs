//! Lanes: one signer on one chain, with its own sequence of nonces.

use alloy_primitives::{Address, U256};
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::audit::Facts;
use crate::column::{Dec, Hex};
use crate::db::{Tx, touched};
use crate::{Code, Error, Result, event, on};

crate::words! {
    /// Whether a lane signs.
    Mode {
        /// It does.
        Active = "active",
        /// A person stopped it.
        Paused = "paused",
        /// The chain knows more of its nonces than we do: nothing is signed until a person has looked.
        Quarantined = "quarantined",
    }
}

/// One row of `lanes`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Lane {
    pub id: String,
    pub chain_id: i64,
    pub signer: Hex<Address>,
    pub next_nonce: i64,
    pub mode: Mode,
    pub mode_reason: Option<String>,
    pub balance_wei: Option<Dec<U256>>,
    /// In quarantine: the first block that may hold transactions of the key which this database does not know.
    pub unknown_from: Option<i64>,
    pub chain_nonce_latest: Option<i64>,
    pub chain_nonce_pending: Option<i64>,
    pub chain_nonce_finalized: Option<i64>,
    pub is_agent: Option<bool>,
    pub observed_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// The lane of a signer, made at first sight with the chain's own count as its next nonce.
pub async fn ensure(tx: &mut Tx, chain_id: i64, signer: Address, chain_nonce: i64) -> Result<Lane> {
    let (id, now) = (tx.new_id("lan"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into lanes (id, chain_id, signer, next_nonce, mode, version, created_at, updated_at) \
         values ($1, $2, $3, $4, 'active', 1, $5, $5) on conflict do nothing")
        .bind(id).bind(chain_id).bind(Hex(signer)).bind(chain_nonce).bind(now).execute(conn).await?.rows_affected());
    Ok(on!(tx, conn => sqlx::query_as::<_, Lane>("select * from lanes where chain_id = $1 and signer = $2")
        .bind(chain_id).bind(Hex(signer)).fetch_one(conn).await?))
}

/// The lane with this id.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Lane> {
    on!(tx, conn => sqlx::query_as::<_, Lane>("select * from lanes where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no lane {id}.")))
}

/// The lanes of a chain.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<Lane>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Lane>("select * from lanes where chain_id = $1 order by id")
        .bind(chain_id).fetch_all(conn).await?))
}

/// Takes `count` nonces from `first` on, if the lane signs and nobody took them meanwhile. In the commit of their bytes, or never.
pub async fn take_nonces(tx: &mut Tx, lane_id: &str, first: i64, count: i64) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update lanes set next_nonce = next_nonce + $3, version = version + 1, updated_at = $4 \
         where id = $1 and next_nonce = $2 and mode = 'active'")
        .bind(lane_id).bind(first).bind(count).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "lane", lane_id)
}

/// Changes the mode, with the reason that a person will read. In quarantine it keeps from which block on the key has to be looked into: up
/// to the final one everything of it was seen.
pub async fn set_mode(tx: &mut Tx, lane: &Lane, mode: Mode, reason: &str, next_nonce: i64) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update lanes set mode = $3, mode_reason = $4, next_nonce = $5, version = version + 1, updated_at = $6, \
         unknown_from = case cast($3 as text) when 'active' then null when 'quarantined' then coalesce(unknown_from, \
         (select final_number + 1 from chains where chains.chain_id = lanes.chain_id)) else unknown_from end \
         where id = $1 and version = $2")
        .bind(&lane.id).bind(lane.version).bind(mode).bind(reason).bind(next_nonce).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "lane", &lane.id)?;
    let facts = |mode, next_nonce, version: i64, reason: Option<&str>| {
        let open = json!({ "mode": mode, "next_nonce": next_nonce, "version": version });
        Facts::new(open, json!({ "mode_reason": reason }))
    };
    let before = facts(lane.mode, lane.next_nonce, lane.version, lane.mode_reason.as_deref());
    tx.doing().changed(&lane.id, before, facts(mode, next_nonce, lane.version + 1, Some(reason)));
    let data = json!({ "chain_id": lane.chain_id, "signer": lane.signer.to_string(), "from": lane.mode, "status": mode,
        "reason": reason });
    event::write(tx, &format!("lane.{mode}"), "lane", &lane.id, lane.version + 1, data).await
}

/// What a worker saw of a signer on its chain.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Observed {
    pub latest: i64,
    pub pending: i64,
    pub finalized: i64,
    pub balance: U256,
    pub is_agent: Option<bool>,
}

/// Notes what was seen, for the eyes of people. It decides nothing, so it leaves the version.
pub async fn note_observed(tx: &mut Tx, lane_id: &str, seen: &Observed) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "update lanes set chain_nonce_latest = $2, chain_nonce_pending = $3, chain_nonce_finalized = $4, balance_wei = $5, \
         is_agent = $6, observed_at = $7 where id = $1")
        .bind(lane_id).bind(seen.latest).bind(seen.pending).bind(seen.finalized).bind(Dec(seen.balance)).bind(seen.is_agent).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}
