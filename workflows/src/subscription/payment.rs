//! Money that came for a subscription, or went back.

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::money::Money;
use muniment_domain::offering::Offering;
use muniment_domain::offering::terms::PaymentMethod;
use muniment_domain::subscription::{self, NewPayment, Payment, PaymentKind, Scope, Status, Subscription};
use muniment_domain::{Error, Result};

use crate::engine::timer;
use crate::requester::Requester;

/// What a bank shows.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Which way it went.
    pub kind: PaymentKind,
    /// How much; for a refund, all that is there if it is not said.
    pub amount: Option<Money>,
    /// By which means.
    pub method: PaymentMethod,
    /// What the bank calls it.
    pub external_reference: String,
    /// When it moved; now if it is not said.
    pub received_at: Option<DateTime<Utc>>,
}

/// Enters money. What was entered before under the same reference is answered again.
pub async fn record(
    tx: &mut Tx,
    id: &str,
    receipt: &Receipt,
    by: &Requester,
) -> Result<(Offering, Subscription, Payment)> {
    let (offering, mut s) = subscription::hold(tx, &Scope::All, id).await?;
    let received_at = receipt.received_at.unwrap_or_else(|| tx.now());
    if received_at > tx.now() {
        return Err(Error::field("/received_at", "above_maximum", "Money that has not moved yet is not entered."));
    }
    let amount = receipt.amount.map_or_else(|| s.held(), |amount| amount.minor());
    let new = NewPayment {
        kind: receipt.kind,
        amount,
        method: receipt.method,
        external_reference: &receipt.external_reference,
        received_at,
        recorded_by: &by.actor,
    };
    let payment = subscription::record(tx, &offering, &mut s, &new).await?;
    // Money that goes back leaves something to be paid again, until its time.
    timer::set(tx, &s.id, s.next_look()).await?;
    Ok((offering, s, payment))
}

/// All the money of a subscription that ended went back.
pub async fn refund(
    tx: &mut Tx,
    id: &str,
    receipt: &Receipt,
    by: &Requester,
) -> Result<(Offering, Subscription, Payment)> {
    let s = subscription::find(tx, &Scope::All, id).await?;
    if !matches!(s.status, Status::RefundPending | Status::Refunded) {
        return Err(s.illegal("refund"));
    }
    // Asked again after it was refunded, it is what was refunded.
    let amount = match s.status {
        Status::Refunded => entered(tx, &s, receipt).await?.unwrap_or(s.refunded_amount),
        _ => s.held(),
    };
    let whole = Receipt { kind: PaymentKind::Refunded, amount: Some(Money::from_minor(amount)), ..receipt.clone() };
    record(tx, id, &whole, by).await
}

/// What was entered before as this refund.
async fn entered(tx: &mut Tx, s: &Subscription, receipt: &Receipt) -> Result<Option<i64>> {
    let (method, reference) = (receipt.method.as_str(), &receipt.external_reference);
    let known = subscription::payments(tx, &s.id).await?.into_iter().find(|known| {
        known.kind == PaymentKind::Refunded && known.method == method && known.external_reference == *reference
    });
    Ok(known.map(|known| known.amount))
}
