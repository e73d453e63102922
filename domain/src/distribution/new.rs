//! Writing a distribution down, as a draft.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::types::Json;

use super::{Distribution, Kind, Method};
use crate::column::Hex;
use crate::db::Tx;
use crate::offering::Offering;
use crate::payout_token::PayoutToken;
use crate::{Error, Result, on};

/// What is to be distributed.
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
    /// Wallets that get nothing.
    pub excluded: &'a [Address],
    pub created_by: &'a str,
    /// The key under which it is asked for once.
    pub idempotency_key: Option<&'a str>,
}

/// Stores a draft.
pub async fn insert(tx: &mut Tx, n: &New<'_>) -> Result<Distribution> {
    let (id, now) = (tx.new_id("dist"), tx.now());
    let excluded: Vec<String> = n.excluded.iter().map(|wallet| Hex(*wallet).to_string()).collect();
    let stored = on!(tx, conn => sqlx::query_as::<_, Distribution>(
        "insert into distributions (id, offering_id, kind, status, method, currency, total_amount, per_unit_amount, chain_id, \
         token_address, partition_id, payout_token, payout_symbol, payout_decimals, funding_wallet, record_date, payment_date, memo, \
         created_by, version, created_at, updated_at, excluded_addresses, idempotency_key) values ($1, $2, $3, 'draft', $4, $5, $6, $7, $8, $9, \
         $10, $11, $12, $13, $14, $15, $16, $17, $18, 1, $19, $19, $20, $21) \
         on conflict (created_by, idempotency_key) where idempotency_key is not null do nothing returning *")
        .bind(&id).bind(&n.offering.id).bind(n.kind).bind(n.method).bind(&n.offering.currency).bind(n.total_amount)
        .bind(n.per_unit_amount).bind(n.offering.chain_id).bind(Hex(n.token)).bind(n.partition_id).bind(n.coin.address)
        .bind(&n.coin.symbol).bind(n.coin.decimals).bind(n.coin.payer).bind(n.record_date).bind(n.payment_date).bind(n.memo)
        .bind(n.created_by).bind(now).bind(Json(excluded)).bind(n.idempotency_key)
        .fetch_optional(conn).await?);
    // Somebody else was asked for the same under this key, and was first.
    let stored = stored.ok_or(Error::Stale { what: "distribution", id })?;
    super::tell(tx, &stored, "created", json!({ "actor": n.created_by })).await?;
    Ok(stored)
}
