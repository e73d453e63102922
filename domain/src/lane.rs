//! Lanes: one signer on one chain with its sequence of nonces.

use alloy_primitives::{Address, U256};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::types::Json;

use crate::column::{Dec, Hex};
use crate::db::{Tx, expect_updated};
use crate::id::{LaneId, OfferingId, OperationId, of};
use crate::recorder::Facts;
use crate::spending::Spending;
use crate::sql::{insert_into, sql, update_table};
use crate::{Code, Error, Result, event};

crate::words! {
    /// Whether a lane signs.
    Mode {
        /// It signs.
        Active = "active",
        /// An operator stopped it.
        Paused = "paused",
        /// The chain has transactions of the signer that we do not know: it does not sign until an operator has checked.
        Quarantined = "quarantined",
    }
}

/// One row of `lanes`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Lane {
    pub id: LaneId,
    pub chain_id: i64,
    pub signer: Hex<Address>,
    pub next_nonce: i64,
    pub mode: Mode,
    pub mode_reason: Option<String>,
    pub balance_wei: Option<Dec<U256>>,
    /// In quarantine: the first block that can hold unknown transactions of the signer.
    pub unknown_from: Option<i64>,
    pub chain_nonce_latest: Option<i64>,
    pub chain_nonce_pending: Option<i64>,
    pub chain_nonce_finalized: Option<i64>,
    pub is_agent: Option<bool>,
    pub roles: Option<Json<Vec<Granted>>>,
    pub observed_at: Option<DateTime<Utc>>,
    pub spent_wei: Option<Dec<U256>>,
    pub spent_since: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Roles of a signer in the registry, as bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The offering to which they are limited. None if they count on the whole platform.
    pub offering_id: Option<OfferingId>,
    /// The bits.
    pub roles: u8,
}

impl Lane {
    /// The role bits of the signer for an offering, with those on the whole platform. None if nobody has read them yet.
    pub fn roles_in(&self, offering_id: Option<&OfferingId>) -> Option<u8> {
        let granted = self.roles.as_ref()?;
        let counts = |of: &&Granted| of.offering_id.as_ref().is_none_or(|id| Some(id) == offering_id);
        Some(granted.iter().filter(counts).fold(0, |bits, of| bits | of.roles))
    }

    /// What the signer spent on gas. A lane that nobody has looked at begins now.
    pub fn spending(&self, now: DateTime<Utc>) -> Spending {
        let wei = self.spent_wei.map_or(U256::ZERO, |wei| wei.0);
        Spending { wei, since: self.spent_since.unwrap_or(now) }
    }
}

/// The lane of a signer. It is created at first use, with the chain's nonce as its next nonce. That changes the version of the chain,
/// because its follower must know all signers.
pub async fn ensure(tx: &mut Tx, chain_id: i64, signer: Address, chain_nonce: i64) -> Result<Lane> {
    let (id, now) = (tx.new_id::<of::Lane>(), tx.now());
    let created = insert_into("lanes")
        .set("id", id)
        .set("chain_id", chain_id)
        .set("signer", Hex(signer))
        .set("next_nonce", chain_nonce)
        .set("mode", "active")
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    if created > 0 {
        sql("update chains set version = version + 1 where chain_id = $1").bind(chain_id).execute(tx).await?;
    }
    sql("select * from lanes where chain_id = $1 and signer = $2").bind((chain_id, Hex(signer))).row(tx).await
}

/// The lane with this id.
pub async fn find(tx: &mut Tx, id: &LaneId) -> Result<Lane> {
    sql("select * from lanes where id = $1").bind(id).optional::<Lane>(tx).await?.ok_or_else(|| not_found(id))
}

pub(crate) fn not_found(id: &LaneId) -> Error {
    Error::refused(Code::NotFound, format!("There is no lane {id}."))
}

/// The lanes of a chain.
pub async fn of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<Lane>> {
    sql("select * from lanes where chain_id = $1 order by id").bind(chain_id).rows(tx).await
}

/// The ids of the lanes of a chain.
pub async fn ids_of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<LaneId>> {
    sql("select id from lanes where chain_id = $1 order by id").bind(chain_id).scalars(tx).await
}

/// Takes `count` nonces from `first` on, if the lane is active and they are still free. Only in the commit of their signed bytes.
pub async fn take_nonces(tx: &mut Tx, lane_id: &LaneId, first: i64, count: i64) -> Result<()> {
    let now = tx.now();
    sql("update lanes set next_nonce = next_nonce + $3, version = version + 1, updated_at = $4
        where id = $1 and next_nonce = $2 and mode = 'active'")
    .bind((lane_id, first, count, now))
    .write_exactly(tx, 1, "lane", lane_id)
    .await
}

/// Writes the event of a signer whose balance is low.
pub async fn report_low_funds(tx: &mut Tx, id: &LaneId) -> Result<()> {
    let lane = find(tx, id).await?;
    let data = json!({ "chain_id": lane.chain_id, "signer": lane.signer.to_string() });
    event::write(tx, "lane.funds_low", "lane", &lane.id, lane.version, data).await
}

/// A transaction that does not move on without a person, although it is the lowest of its signer.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Stuck<'a> {
    pub lane_id: &'a LaneId,
    pub operation_id: &'a OperationId,
    pub nonce: i64,
    /// Why, as a stable code.
    pub code: &'a str,
}

/// Writes the event of a signer whose lowest transaction does not move on.
pub async fn report_stuck(tx: &mut Tx, stuck: &Stuck<'_>) -> Result<()> {
    let lane = find(tx, stuck.lane_id).await?;
    let data = json!({ "chain_id": lane.chain_id, "signer": lane.signer.to_string(), "operation_id": stuck.operation_id,
        "nonce": stuck.nonce, "error": { "code": stuck.code } });
    event::write(tx, "lane.stuck", "lane", &lane.id, lane.version, data).await
}

/// Changes the mode, with a reason for people. In quarantine it keeps the first block to check: everything up to the final block
/// was already seen.
pub async fn set_mode(tx: &mut Tx, lane: &Lane, mode: Mode, reason: &str, next_nonce: i64) -> Result<()> {
    let now = tx.now();
    let rows = sql("update lanes
        set mode = $3, mode_reason = $4, next_nonce = $5, version = version + 1, updated_at = $6,
            unknown_from = case cast($3 as text)
                when 'active' then null
                when 'quarantined' then coalesce(unknown_from,
                    (select final_number + 1 from chains where chains.chain_id = lanes.chain_id))
                else unknown_from end
        where id = $1 and version = $2")
    .bind((&lane.id, lane.version, mode, reason, next_nonce, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "lane", &lane.id)?;
    let facts = |mode, next_nonce, version: i64, reason: Option<&str>| {
        let open = json!({ "mode": mode, "next_nonce": next_nonce, "version": version });
        Facts::new(open, json!({ "mode_reason": reason }))
    };
    let before = facts(lane.mode, lane.next_nonce, lane.version, lane.mode_reason.as_deref());
    tx.recorder().record_change(&lane.id, before, facts(mode, next_nonce, lane.version + 1, Some(reason)));
    let data = json!({ "chain_id": lane.chain_id, "signer": lane.signer.to_string(), "from": lane.mode, "status": mode,
        "reason": reason });
    event::write(tx, &format!("lane.{mode}"), "lane", &lane.id, lane.version + 1, data).await
}

/// What a worker read of a signer on its chain.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ChainState {
    pub latest: i64,
    pub pending: i64,
    pub finalized: i64,
    pub balance: U256,
    /// None without a configured registry, or if the registry did not answer.
    pub roles: Option<Vec<Granted>>,
}

/// Stores what was read, for display and to choose a lane. It moves nothing, so the version stays.
pub async fn record_chain_state(tx: &mut Tx, lane: &Lane, seen: &ChainState) -> Result<()> {
    let now = tx.now();
    let spending = lane.spending(now).after(lane.balance_wei.map(|balance| balance.0), seen.balance, now);
    update_table("lanes")
        .set("chain_nonce_latest", seen.latest)
        .set("chain_nonce_pending", seen.pending)
        .set("chain_nonce_finalized", seen.finalized)
        .set("balance_wei", Dec(seen.balance))
        .set("is_agent", seen.roles.as_ref().map(|granted| granted.iter().any(|of| of.roles != 0)))
        .set("roles", seen.roles.as_ref().map(Json))
        .set("observed_at", now)
        .set("spent_wei", Dec(spending.wei))
        .set("spent_since", spending.since)
        .with(" where id = ", &lane.id)
        .execute(tx)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_one_offering_count_there_and_nowhere_else() {
        let granted = |offering_id: Option<&OfferingId>, roles| Granted { offering_id: offering_id.cloned(), roles };
        let mut lane = Lane {
            id: LaneId::default(),
            chain_id: 1,
            signer: Hex(Address::ZERO),
            next_nonce: 0,
            mode: Mode::Active,
            mode_reason: None,
            balance_wei: None,
            unknown_from: None,
            chain_nonce_latest: None,
            chain_nonce_pending: None,
            chain_nonce_finalized: None,
            is_agent: None,
            roles: None,
            observed_at: None,
            spent_wei: None,
            spent_since: None,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
        };
        assert_eq!(lane.roles_in(Some(&"off_1".into())), None);
        lane.roles =
            Some(Json(vec![granted(None, 4), granted(Some(&"off_1".into()), 9), granted(Some(&"off_2".into()), 2)]));
        let bits =
            [Some("off_1"), Some("off_2"), Some("off_3"), None].map(|id| lane.roles_in(id.map(Into::into).as_ref()));
        assert_eq!(bits, [Some(13), Some(6), Some(4), Some(4)]);
    }
}
