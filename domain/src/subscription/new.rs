//! Stores new subscriptions and reserves their amounts.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

use super::eligibility::RULES_VERSION;
use super::{Subscription, reservation, write_event};
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::{DocumentId, InvestorId, OfferingId, SubscriptionId, of};
use crate::money::Money;
use crate::offering::Offering;
use crate::offering::choice::PaymentMethod;
use crate::sql::insert_into;
use crate::{Error, Result};

/// A subscription to create.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub offering: &'a Offering,
    pub investor_id: &'a InvestorId,
    pub amount: i64,
    pub wallet: Option<Address>,
    pub cooling_off_expires_at: DateTime<Utc>,
    pub payment_due_at: DateTime<Utc>,
    pub verify_by: Option<DateTime<Utc>>,
    pub payment_method: Option<PaymentMethod>,
    pub reference: Option<&'a str>,
    pub consent_document_id: Option<&'a DocumentId>,
    pub created_by: &'a str,
    pub idempotency_key: Option<&'a str>,
}

/// Reserves the amount and stores the subscription; `hard_cap_exceeded` if there is no room.
pub async fn insert(tx: &mut Tx, n: &New<'_>) -> Result<Subscription> {
    reservation::reserve(tx, n.offering, n.amount).await?;
    let (id, now) = (tx.new_id::<of::Subscription>(), tx.now());
    let stored = insert_into("subscriptions")
        .set("id", &id)
        .set("offering_id", &n.offering.id)
        .set("investor_id", n.investor_id)
        .set("status", "committed")
        .set("amount", n.amount)
        .set("wallet_address", n.wallet.map(Hex))
        .set("cooling_off_expires_at", n.cooling_off_expires_at)
        .set("payment_due_at", n.payment_due_at)
        .set("verify_by", n.verify_by)
        .set("payment_method", n.payment_method)
        .set("reference", n.reference)
        .set("consent_document_id", n.consent_document_id)
        .set("created_by", n.created_by)
        .set("idempotency_key", n.idempotency_key)
        .set("terms_version", n.offering.terms_version)
        .set("calendar_version", n.offering.calendar_version)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .push(
            " on conflict (created_by, idempotency_key) where idempotency_key is not null do nothing
                returning *",
        )
        .optional::<Subscription>(tx)
        .await?;
    // A parallel request with the same idempotency key was first.
    let stored = stored.ok_or(Error::Stale { what: "subscription", id: id.to_string() })?;
    write_event(tx, n.offering, &stored, "committed", json!({ "actor": n.created_by })).await?;
    Ok(stored)
}

/// Stores the results of the eligibility rules as evidence.
pub async fn store_checks(
    tx: &mut Tx,
    id: &SubscriptionId,
    stage: &str,
    checks: &Value,
    acknowledged: &[String],
) -> Result<()> {
    let now = tx.now();
    insert_into("eligibility_checks")
        .set("subscription_id", id)
        .set("stage", stage)
        .set("rules_version", RULES_VERSION)
        .set("checks", Json(checks))
        .set("acknowledgements", Json(acknowledged))
        .set("created_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// An accepted subscription, for the demo and tests.
#[allow(missing_docs)]
pub struct NewAccepted<'a> {
    pub offering_id: &'a OfferingId,
    pub investor_id: &'a InvestorId,
    pub amount: Money,
    pub quantity: u128,
    pub wallet: Address,
}

/// Stores an accepted and fully paid subscription and returns its id.
pub async fn insert_accepted(tx: &mut Tx, a: &NewAccepted<'_>) -> Result<SubscriptionId> {
    let (id, now) = (tx.new_id::<of::Subscription>(), tx.now());
    insert_into("subscriptions")
        .set("id", &id)
        .set("offering_id", a.offering_id)
        .set("investor_id", a.investor_id)
        .set("status", "accepted")
        .set("amount", a.amount.minor())
        .set("quantity", Dec(a.quantity))
        .set("wallet_address", Hex(a.wallet))
        .set("cooling_off_expires_at", now)
        .set("received_amount", a.amount.minor())
        .set("accepted_at", now)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .execute(tx)
        .await?;
    reservation::enter(tx, a.offering_id, a.amount.minor()).await?;
    Ok(id)
}
