//! Payments of a subscription. A bank reference can be recorded once.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Move, Status, Subscription, save, transition, write_event};
use crate::db::Tx;
use crate::id::{InvestorId, PaymentId, SubscriptionId, of};
use crate::money::Money;
use crate::offering::Offering;
use crate::offering::choice::PaymentMethod;
use crate::sql::{insert_into, sql};
use crate::{Error, Result};

crate::words! {
    /// The direction of a payment.
    PaymentKind {
        /// From the investor.
        Received = "received",
        /// Back to the investor.
        Refunded = "refunded",
    }
}

crate::words! {
    /// The payment status of a subscription, derived from its amounts.
    PaymentStatus {
        /// Nothing was received.
        Unpaid = "unpaid",
        /// Less than the amount.
        PartiallyPaid = "partially_paid",
        /// The amount or more.
        Paid = "paid",
        /// A refund is due.
        RefundPending = "refund_pending",
        /// Everything was refunded.
        Refunded = "refunded",
    }
}

/// One row of `payments`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Payment {
    pub id: PaymentId,
    pub subscription_id: SubscriptionId,
    pub kind: PaymentKind,
    pub amount: i64,
    pub method: PaymentMethod,
    pub external_reference: String,
    pub received_at: DateTime<Utc>,
    pub recorded_by: String,
    pub created_at: DateTime<Utc>,
}

/// A payment to record.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewPayment<'a> {
    pub kind: PaymentKind,
    pub amount: i64,
    pub method: PaymentMethod,
    pub external_reference: &'a str,
    pub received_at: DateTime<Utc>,
    pub recorded_by: &'a str,
}

impl Subscription {
    /// The payment status.
    pub const fn payment_status(&self) -> PaymentStatus {
        match (self.status, self.net_received()) {
            (Status::RefundPending, _) => PaymentStatus::RefundPending,
            (Status::Refunded, _) => PaymentStatus::Refunded,
            (_, 0) => PaymentStatus::Unpaid,
            (_, held) if held < self.amount => PaymentStatus::PartiallyPaid,
            _ => PaymentStatus::Paid,
        }
    }

    /// Money received beyond the amount.
    pub const fn excess(&self) -> i64 {
        if self.net_received() > self.amount { self.net_received() - self.amount } else { 0 }
    }

    /// How much can be refunded in this status; none if no money can be there. After the acceptance only the excess.
    const fn refundable(&self) -> Option<i64> {
        match self.status {
            Status::Committed | Status::PendingReconfirmation | Status::Binding | Status::RefundPending => {
                Some(self.net_received())
            }
            Status::Accepted | Status::Minted => Some(self.excess()),
            Status::Cancelled | Status::Rejected | Status::Expired | Status::Refunded => None,
        }
    }
}

/// Records a payment, once for each bank reference. When everything due is refunded, the subscription is refunded.
pub async fn record(tx: &mut Tx, offering: &Offering, s: &mut Subscription, n: &NewPayment<'_>) -> Result<Payment> {
    if let Some(known) = known(tx, n).await? {
        // A repeated request is answered with the stored payment.
        let same = (&known.subscription_id, known.amount) == (&s.id, n.amount);
        return if same { Ok(known) } else { Err(already(&known)) };
    }
    match n.kind {
        // Money on the account is recorded, however late it came.
        PaymentKind::Received => s.received_amount += n.amount,
        PaymentKind::Refunded => {
            let most = s.refundable().ok_or_else(|| s.illegal("a refund"))?;
            if n.amount > most {
                let most = Money::from_minor(most).to_string();
                let detail = format!("At most {most} {} can be refunded.", offering.currency);
                return Err(Error::field("/amount", "above_maximum", detail).with_params(json!({ "maximum": most })));
            }
            s.refunded_amount += n.amount;
        }
    }
    let payment = insert(tx, &s.id, n).await?;
    save(tx, s).await?;
    let moved = json!({ "payment_id": payment.id, "payment_amount": Money::from_minor(n.amount).to_string(), "method": n.method });
    write_event(tx, offering, s, &format!("payment_{}", n.kind), moved).await?;
    // Money that arrives after the end must be refunded.
    if s.status.next(Move::Receive, None, true).is_some() {
        transition(tx, offering, s, Move::Receive, n.recorded_by, "late_payment").await?;
    }
    if s.status == Status::RefundPending && s.net_received() == 0 {
        let reason = s.status_reason.clone().unwrap_or_default();
        transition(tx, offering, s, Move::Refund, n.recorded_by, &reason).await?;
    }
    Ok(payment)
}

/// The reference as it is compared: banks repeat it in other case and with other blanks.
fn reference_key(reference: &str) -> String {
    reference.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

async fn known(tx: &mut Tx, n: &NewPayment<'_>) -> Result<Option<Payment>> {
    sql("select * from payments where method = $1 and kind = $2 and (external_reference = $3 or reference_key = $4)")
        .bind((n.method, n.kind, n.external_reference, reference_key(n.external_reference)))
        .optional(tx)
        .await
}

fn already(known: &Payment) -> Error {
    let amount = Money::from_minor(known.amount);
    let detail = format!("This reference was already recorded as {amount} for {}.", known.subscription_id);
    Error::field("/external_reference", "already_recorded", detail)
}

async fn insert(tx: &mut Tx, subscription_id: &SubscriptionId, n: &NewPayment<'_>) -> Result<Payment> {
    let (id, now) = (tx.new_id::<of::Payment>(), tx.now());
    let stored = insert_into("payments")
        .set("id", id)
        .set("subscription_id", subscription_id)
        .set("kind", n.kind)
        .set("amount", n.amount)
        .set("method", n.method)
        .set("external_reference", n.external_reference)
        .set("reference_key", reference_key(n.external_reference))
        .set("received_at", n.received_at)
        .set("recorded_by", n.recorded_by)
        .set("created_at", now)
        .push(" on conflict do nothing returning *")
        .optional::<Payment>(tx)
        .await?;
    // A parallel request has just recorded the reference for another subscription: the caller reads again.
    stored.ok_or_else(|| Error::Stale { what: "payment", id: n.external_reference.to_string() })
}

/// The payments of a subscription, oldest first.
pub async fn payments(tx: &mut Tx, subscription_id: &SubscriptionId) -> Result<Vec<Payment>> {
    sql("select * from payments where subscription_id = $1 order by id").bind(subscription_id).rows(tx).await
}

/// The payments of all subscriptions of an investor, newest first.
pub async fn payments_of_investor(tx: &mut Tx, investor_id: &InvestorId, limit: i64) -> Result<Vec<Payment>> {
    sql("select p.* from payments p join subscriptions s on s.id = p.subscription_id
         where s.investor_id = $1 order by p.id desc limit $2")
    .bind((investor_id, limit))
    .rows(tx)
    .await
}
