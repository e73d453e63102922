//! Payments for a subscription, and refunds.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::SubscriptionId;
use muniment_domain::money::Money;
use muniment_domain::offering::Offering;
use muniment_domain::offering::choice::PaymentMethod;
use muniment_domain::subscription::{self, NewPayment, Payment, PaymentKind, Scope, Status, Subscription};
use muniment_domain::{Error, Result};

use crate::engine::timer;
use crate::own_record::not_own;
use crate::requester::Requester;

/// A movement on a bank account.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// A payment or a refund.
    pub kind: PaymentKind,
    /// The amount. Without it a refund is the whole amount held.
    pub amount: Option<Money>,
    /// The payment method.
    pub method: PaymentMethod,
    /// The bank's reference.
    pub external_reference: String,
    /// The time of the movement. Without it, now.
    pub received_at: Option<DateTime<Utc>>,
}

/// Records a payment or a refund. A repetition under the same reference returns the recorded one.
pub async fn record(
    tx: &mut Tx,
    id: &SubscriptionId,
    receipt: &Receipt,
    by: &Requester,
) -> Result<(Offering, Subscription, Payment)> {
    let (offering, mut s) = subscription::lock_row(tx, &Scope::All, id).await?;
    not_own(tx, &s.investor_id, by).await?;
    let received_at = receipt.received_at.unwrap_or_else(|| tx.now());
    if received_at > tx.now() {
        return Err(Error::field("/received_at", "above_maximum", "The payment date cannot be in the future."));
    }
    let amount = receipt.amount.map_or_else(|| s.net_received(), |amount| amount.minor());
    let new = NewPayment {
        kind: receipt.kind,
        amount,
        method: receipt.method,
        external_reference: &receipt.external_reference,
        received_at,
        recorded_by: &by.actor,
    };
    let payment = subscription::record(tx, &offering, &mut s, &new).await?;
    // After a refund the amount is due again until the payment deadline.
    timer::set(tx, &s.id, s.next_due()).await?;
    Ok((offering, s, payment))
}

/// Records that all the money of an ended subscription was returned.
pub async fn refund(
    tx: &mut Tx,
    id: &SubscriptionId,
    receipt: &Receipt,
    by: &Requester,
) -> Result<(Offering, Subscription, Payment)> {
    let (_, s) = subscription::lock_row(tx, &Scope::All, id).await?;
    if !matches!(s.status, Status::RefundPending | Status::Refunded) {
        return Err(s.illegal("refund"));
    }
    // A repetition after the refund means the amount that was refunded.
    let amount = match s.status {
        Status::Refunded => recorded_refund(tx, &s, receipt).await?.unwrap_or(s.refunded_amount),
        _ => s.net_received(),
    };
    match receipt.amount.map(Money::minor) {
        Some(named) if named > amount => return Err(unlike(amount, "above_maximum")),
        Some(named) if named < amount => return Err(unlike(amount, "below_minimum")),
        _ => {}
    }
    let whole = Receipt { kind: PaymentKind::Refunded, amount: Some(Money::from_minor(amount)), ..receipt.clone() };
    record(tx, id, &whole, by).await
}

fn unlike(amount: i64, code: &'static str) -> Error {
    Error::field("/amount", code, format!("The whole refund is {}.", Money::from_minor(amount)))
}

/// The amount of this refund, if it was recorded before.
async fn recorded_refund(tx: &mut Tx, s: &Subscription, receipt: &Receipt) -> Result<Option<i64>> {
    let same = |known: &&Payment| {
        let of_receipt = (PaymentKind::Refunded, receipt.method, receipt.external_reference.as_str());
        (known.kind, known.method, known.external_reference.as_str()) == of_receipt
    };
    let payments = subscription::payments(tx, &s.id).await?;
    let known = payments.iter().find(same);
    Ok(known.map(|known| known.amount))
}
