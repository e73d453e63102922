//! Subscriptions: commitments of investors, until they are minted or refunded. Every move locks the offering first, so that the
//! reserved amount of the offering always matches its subscriptions.

pub mod eligibility;
mod end;
mod list;
mod mint;
mod new;
mod payment;
mod reservation;
mod totals;
mod window;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

pub use end::{PageResult, end_all_of, forget_deadlines_of, reconfirm_all_of, unfinished};
pub use list::{Filter, Listed, Scope, count, find, list, listed, lock_row, offerings_to_mint};
pub use mint::{
    Candidate, FinalMint, amount_sum, candidates, candidates_of, follow_wallet, set_minted, store_mint_checks,
};
pub use new::{New, NewAccepted, insert, insert_accepted, store_checks};
pub use payment::{NewPayment, Payment, PaymentKind, PaymentStatus, payments, payments_of_investor, record};
pub use totals::{Totals, crowdfunding_total, regulation_a_totals, totals};
pub use window::{move_windows_of, renew_window};

use crate::column::{Dec, Hex};
use crate::db::{Tx, expect_updated};
use crate::id::{InvestorId, OfferingId, OperationId, SubscriptionId};
use crate::money::Money;
use crate::offering::Offering;
use crate::offering::choice::PaymentMethod;
use crate::recorder::Facts;
use crate::sql::update_table;
pub use crate::subscription_state::{Move, Status};
use crate::{Error, Result, event};

/// One row of `subscriptions`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0016_subscription.sql explains those that need it.
pub struct Subscription {
    pub id: SubscriptionId,
    pub offering_id: OfferingId,
    pub investor_id: InvestorId,
    pub status: Status,
    pub amount: i64,
    pub quantity: Option<Dec<u128>>,
    pub wallet_address: Option<Hex<Address>>,
    pub cooling_off_expires_at: DateTime<Utc>,
    pub mint_operation_id: Option<OperationId>,
    pub mint_tx_hash: Option<Hex<B256>>,
    pub mint_block_number: Option<i64>,
    pub minted_at: Option<DateTime<Utc>>,
    pub lock_release_at: Option<DateTime<Utc>>,
    pub terms_version: i64,
    pub reference: Option<String>,
    pub status_reason: Option<String>,
    pub previous_status: Option<Status>,
    pub reconfirm_by: Option<DateTime<Utc>>,
    pub payment_due_at: Option<DateTime<Utc>>,
    /// Until when the identity must be approved or the amount paid; none if the identity was approved at the commitment.
    pub verify_by: Option<DateTime<Utc>>,
    pub payment_method: Option<PaymentMethod>,
    pub received_amount: i64,
    pub refunded_amount: i64,
    pub accepted_at: Option<DateTime<Utc>>,
    pub calendar_version: i64,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Subscription {
    /// Money received and not refunded, in minor units.
    pub const fn net_received(&self) -> i64 {
        self.received_amount - self.refunded_amount
    }

    /// When the timer of this subscription is due next.
    pub fn next_due(&self) -> Option<DateTime<Utc>> {
        match self.status {
            Status::Committed => {
                Some(self.verify_by.map_or(self.cooling_off_expires_at, |by| by.min(self.cooling_off_expires_at)))
            }
            Status::PendingReconfirmation => self.reconfirm_by,
            Status::Binding if !self.is_paid() => self.verify_by.into_iter().chain(self.payment_due_at).min(),
            _ => None,
        }
    }

    /// Whether the whole amount is there.
    pub const fn is_paid(&self) -> bool {
        self.net_received() >= self.amount
    }

    /// The error for an action that the status does not allow.
    pub fn illegal(&self, what: &str) -> Error {
        Error::illegal_move("subscription", self.status.as_str(), what, self.status.requests())
    }
}

/// Moves a subscription and writes its event and reservation, unless the row has changed since it was read. The caller locks the offering.
pub async fn transition(
    tx: &mut Tx,
    offering: &Offering,
    s: &mut Subscription,
    by: Move,
    actor: &str,
    reason: &str,
) -> Result<()> {
    let from = s.status;
    let to = from.next(by, s.previous_status, s.net_received() > 0).ok_or_else(|| s.illegal(by.as_str()))?;
    s.previous_status = (to == Status::PendingReconfirmation).then_some(from);
    s.status = to;
    s.status_reason = (!reason.is_empty()).then(|| reason.to_owned());
    match to {
        Status::Accepted => s.accepted_at = Some(tx.now()),
        Status::PendingReconfirmation => {}
        _ => s.reconfirm_by = None,
    }
    save(tx, s).await?;
    // The part of the hard cap becomes free for others in the same commit.
    if from.reserves() && !to.reserves() {
        reservation::release(tx, &s.offering_id, s.amount).await?;
    }
    let what = if to == Status::PendingReconfirmation { "reconfirmation_required" } else { to.as_str() };
    write_event(tx, offering, s, what, json!({ "from": from, "actor": actor, "reason": s.status_reason })).await
}

/// Writes the changed columns if the version is still the one that was read.
pub async fn save(tx: &mut Tx, s: &mut Subscription) -> Result<()> {
    let before = if tx.recorder().has_caller() { Some(facts(&find(tx, &Scope::All, &s.id).await?)) } else { None };
    let read = s.version;
    s.version += 1;
    s.updated_at = tx.now();
    let rows = update_table("subscriptions")
        .set("status", s.status)
        .set("quantity", s.quantity)
        .set("wallet_address", s.wallet_address)
        .set("terms_version", s.terms_version)
        .set("status_reason", &s.status_reason)
        .set("previous_status", s.previous_status)
        .set("reconfirm_by", s.reconfirm_by)
        .set("payment_due_at", s.payment_due_at)
        .set("verify_by", s.verify_by)
        .set("payment_method", s.payment_method)
        .set("received_amount", s.received_amount)
        .set("refunded_amount", s.refunded_amount)
        .set("accepted_at", s.accepted_at)
        .set("version", s.version)
        .set("updated_at", s.updated_at)
        .set("cooling_off_expires_at", s.cooling_off_expires_at)
        .set("calendar_version", s.calendar_version)
        .with(" where id = ", &s.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "subscription", &s.id)?;
    if let Some(before) = before {
        tx.recorder().record_change(&s.id, before, facts(s));
    }
    Ok(())
}

/// The fields for the audit log.
fn facts(s: &Subscription) -> Facts {
    let open = json!({
        "status": s.status, "amount": s.amount, "quantity": s.quantity.map(|q| q.to_string()), "wallet_address": s.wallet_address.map(|w| w.to_string()),
        "terms_version": s.terms_version, "previous_status": s.previous_status, "reconfirm_by": s.reconfirm_by,
        "cooling_off_expires_at": s.cooling_off_expires_at, "payment_due_at": s.payment_due_at, "payment_method": s.payment_method,
        "received_amount": s.received_amount, "refunded_amount": s.refunded_amount, "accepted_at": s.accepted_at, "version": s.version,
    });
    Facts::new(open, json!({ "status_reason": s.status_reason }))
}

/// Writes an event of a subscription.
pub async fn write_event(tx: &mut Tx, offering: &Offering, s: &Subscription, what: &str, data: Value) -> Result<()> {
    event::write_all(tx, &[new_event(&offering.currency, s, what, data)]).await
}

/// An event with the data that all events of a subscription have.
fn new_event(currency: &str, s: &Subscription, what: &str, mut data: Value) -> event::New {
    data["offering_id"] = json!(s.offering_id);
    data["investor_id"] = json!(s.investor_id);
    data["status"] = json!(s.status);
    data["amount"] = json!(Money::from_minor(s.amount).to_string());
    data["currency"] = json!(currency);
    data["quantity"] = json!(s.quantity.map(|q| q.to_string()));
    data["cooling_off_expires_at"] = json!(s.cooling_off_expires_at);
    event::New {
        name: format!("subscription.{what}"),
        subject_type: "subscription",
        subject_id: s.id.to_string(),
        sequence: s.version,
        data,
    }
}
