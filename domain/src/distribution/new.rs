//! Stores a new distribution as a draft.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::types::Json;

use super::{Distribution, Kind, Method};
use crate::column::Hex;
use crate::db::Tx;
use crate::id::of;
use crate::offering::Offering;
use crate::payout_token::PayoutToken;
use crate::sql::insert_into;
use crate::{Error, Result};

/// A distribution to create.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub offering: &'a Offering,
    pub token: Address,
    pub kind: Kind,
    pub method: Method,
    pub total_amount: Option<i64>,
    pub per_unit_amount: Option<i64>,
    pub partition_id: i64,
    pub coin: &'a PayoutToken,
    pub record_date: DateTime<Utc>,
    pub payment_date: DateTime<Utc>,
    pub memo: Option<&'a str>,
    /// Wallets that are excluded.
    pub excluded: &'a [Address],
    pub created_by: &'a str,
    /// The idempotency key, which allows this distribution once.
    pub idempotency_key: Option<&'a str>,
}

/// Stores a draft.
pub async fn insert(tx: &mut Tx, n: &New<'_>) -> Result<Distribution> {
    let (id, now) = (tx.new_id::<of::Distribution>(), tx.now());
    let excluded: Vec<String> = n.excluded.iter().map(|wallet| Hex(*wallet).to_string()).collect();
    let stored = insert_into("distributions")
        .set("id", &id)
        .set("offering_id", &n.offering.id)
        .set("kind", n.kind)
        .set("status", "draft")
        .set("method", n.method)
        .set("currency", &n.offering.currency)
        .set("total_amount", n.total_amount)
        .set("per_unit_amount", n.per_unit_amount)
        .set("chain_id", n.offering.chain_id)
        .set("token_address", Hex(n.token))
        .set("partition_id", n.partition_id)
        .set("payout_token", n.coin.address)
        .set("payout_symbol", &n.coin.symbol)
        .set("payout_decimals", n.coin.decimals)
        .set("funding_wallet", n.coin.payer)
        .set("record_date", n.record_date)
        .set("payment_date", n.payment_date)
        .set("memo", n.memo)
        .set("created_by", n.created_by)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .set("excluded_addresses", Json(excluded))
        .set("idempotency_key", n.idempotency_key)
        .push(
            " on conflict (created_by, idempotency_key) where idempotency_key is not null do nothing
                returning *",
        )
        .optional::<Distribution>(tx)
        .await?;
    // A parallel request with the same idempotency key was first.
    let stored = stored.ok_or(Error::Stale { what: "distribution", id: id.to_string() })?;
    super::write_event(tx, &stored, "created", json!({ "actor": n.created_by })).await?;
    Ok(stored)
}
