//! Writing a subscription down, with what it reserves.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

use super::eligibility::RULES_VERSION;
use super::{Subscription, reservation, tell};
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::money::Money;
use crate::offering::Offering;
use crate::{Error, Result, on};

/// What an investor commits.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub offering: &'a Offering,
    pub investor_id: &'a str,
    pub amount: i64,
    pub wallet: Option<Address>,
    pub cooling_off_expires_at: DateTime<Utc>,
    pub payment_due_at: DateTime<Utc>,
    pub payment_method: &'a str,
    pub reference: Option<&'a str>,
    pub consent_document_id: Option<&'a str>,
    pub created_by: &'a str,
    pub idempotency_key: Option<&'a str>,
}

/// Reserves the amount and stores the subscription; `hard_cap_exceeded` if there is no room.
pub async fn insert(tx: &mut Tx, n: &New<'_>) -> Result<Subscription> {
    reservation::reserve(tx, n.offering, n.amount).await?;
    let (id, now) = (tx.new_id("sub"), tx.now());
    let stored = on!(tx, conn => sqlx::query_as::<_, Subscription>(
        "insert into subscriptions (id, offering_id, investor_id, status, amount, wallet_address, cooling_off_expires_at, payment_due_at, \
         payment_method, reference, consent_document_id, created_by, idempotency_key, terms_version, calendar_version, version, created_at, \
         updated_at) values ($1, $2, $3, 'committed', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $15, 1, $14, $14) \
         on conflict (created_by, idempotency_key) where idempotency_key is not null do nothing returning *")
        .bind(&id).bind(&n.offering.id).bind(n.investor_id).bind(n.amount).bind(n.wallet.map(Hex)).bind(n.cooling_off_expires_at)
        .bind(n.payment_due_at).bind(n.payment_method).bind(n.reference).bind(n.consent_document_id).bind(n.created_by)
        .bind(n.idempotency_key).bind(n.offering.terms_version).bind(now).bind(n.offering.calendar_version)
        .fetch_optional(conn).await?);
    // Another process was asked for the same under this key, and was first.
    let stored = stored.ok_or(Error::Stale { what: "subscription", id })?;
    tell(tx, n.offering, &stored, "committed", json!({ "actor": n.created_by })).await?;
    Ok(stored)
}

/// Keeps why a subscription was allowed, for whoever asks later.
pub async fn store_checks(tx: &mut Tx, id: &str, stage: &str, checks: &Value, acknowledged: &[String]) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into eligibility_checks (subscription_id, stage, rules_version, checks, acknowledgements, created_at) \
         values ($1, $2, $3, $4, $5, $6)")
        .bind(id).bind(stage).bind(RULES_VERSION).bind(Json(checks)).bind(Json(acknowledged)).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// An accepted subscription, as the demo and the tests make them.
#[allow(missing_docs)]
pub struct Accepted<'a> {
    pub offering_id: &'a str,
    pub investor_id: &'a str,
    pub amount: Money,
    pub quantity: u128,
    pub wallet: Address,
}

/// Stores an accepted subscription, paid in full, and returns its id.
pub async fn insert_accepted(tx: &mut Tx, a: &Accepted<'_>) -> Result<String> {
    let (id, now) = (tx.new_id("sub"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into subscriptions (id, offering_id, investor_id, status, amount, quantity, wallet_address, cooling_off_expires_at, \
         received_amount, accepted_at, version, created_at, updated_at) values ($1, $2, $3, 'accepted', $4, $5, $6, $7, $4, $7, 1, $7, $7)")
        .bind(&id).bind(a.offering_id).bind(a.investor_id).bind(a.amount.minor()).bind(Dec(a.quantity)).bind(Hex(a.wallet)).bind(now)
        .execute(conn).await?.rows_affected());
    reservation::enter(tx, a.offering_id, a.amount.minor()).await?;
    Ok(id)
}
