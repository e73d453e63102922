//! Subscriptions: the commitment of an investor, and every move until it is accepted.
//!
//! 1. **Commit.** `POST /v1/offerings/{id}/subscribe` locks the offering, then the investor. It evaluates the rules and reserves the amount
//!    by a guarded update of `committed_total`. One commit writes row, event, timer, results of the rules and idempotent answer: 201.
//! 2. **Rules.** `muniment_domain::subscription::eligibility` is one pure function for preview, commitment, acceptance and mint, with other
//!    rules at each stage. Its results are stored for each subscription.
//! 3. **Investment limit.** The investor's row is locked, so that commitments to several offerings are counted one after the other against
//!    the limit of twelve months (`muniment_domain::investment_limit`). An erased investor cannot commit.
//! 4. **Order of locks.** Every later move, timers included, locks the offering first and the subscription second. So they cannot deadlock,
//!    the hard cap is never exceeded, and a move that ends a subscription gives the reserved amount back in its commit.
//! 5. **Timers.** The end of the cooling-off period makes it `binding`, an overdue payment `expired`, and silence about changed terms a
//!    refusal. A right with a deadline is checked against the time, even if the timer is late.
//! 6. **Words.** A promise reserves a bounded part of the cap: less before the identity is approved, and then only for some hours. An offering
//!    closes by its cap when all of it is paid.
//! 7. **Money.** A payment is recorded once for its bank reference. What ends while money is there stays `refund_pending` until all of it
//!    is returned.
//! 8. **Acceptance.** `accept` evaluates the rules again and fixes the quantity. From then on a mint may take it, and an unfinished mint
//!    refuses every cancellation.

mod accept;
mod payment;
mod subscribe;
mod wallet;
mod withdraw;

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::SubscriptionId;
use muniment_domain::subscription::{self, Move, Scope, Status, Subscription};
use muniment_domain::{Code, Error, Result, investor, offering, operation_item};

pub use accept::{accept, reject};
pub use payment::{Receipt, record, refund};
pub use subscribe::{Preview, SubscribeRequest, preview, subscribe, warn};
pub use withdraw::{EndedBy, cancel, change_wallet, reconfirm};

/// The actor of a move that the calendar makes.
const CALENDAR: &str = "calendar";

/// Locks the offering of a subscription. A timer must do so before it locks the subscription, like every other move: the opposite order
/// could deadlock.
pub async fn lock_offering_of(tx: &mut Tx, id: &SubscriptionId) -> Result<()> {
    match subscription::find(tx, &Scope::All, id).await {
        Ok(s) => offering::lock_row(tx, &s.offering_id).await.map(|_| ()),
        Err(Error::Refused { code: Code::NotFound, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes the moves that are due, and returns the time of the next one.
pub async fn on_timer(tx: &mut Tx, id: &SubscriptionId) -> Result<Option<DateTime<Utc>>> {
    let (offering, mut s) = subscription::lock_row(tx, &Scope::All, id).await?;
    let now = tx.now();
    subscription::renew_window(tx, &offering, &mut s).await?;
    if s.verify_by.is_some_and(|by| by <= now) && (s.is_paid() || investor::is_approved(tx, &s.investor_id).await?) {
        s.verify_by = None;
        subscription::save(tx, &mut s).await?;
    }
    // After a long outage one move can make the next one due at once.
    while let Some((by, reason)) = due(&s, now) {
        subscription::transition(tx, &offering, &mut s, by, CALENDAR, reason).await?;
    }
    Ok(s.next_due())
}

fn due(s: &Subscription, now: DateTime<Utc>) -> Option<(Move, &'static str)> {
    if s.next_due().is_none_or(|at| at > now) {
        return None;
    }
    let unverified = s.verify_by.is_some_and(|by| by <= now);
    match s.status {
        Status::Committed | Status::Binding if unverified => Some((Move::Expire, "identity_not_approved")),
        Status::Committed => Some((Move::Bind, "")),
        Status::PendingReconfirmation => Some((Move::Lapse, "not_reconfirmed")),
        Status::Binding => Some((Move::Expire, "payment_overdue")),
        _ => None,
    }
}

/// Refuses a move while an unfinished mint contains the subscription.
async fn not_in_a_mint(tx: &mut Tx, s: &Subscription) -> Result<()> {
    match operation_item::live_operation(tx, "subscription", &s.id).await? {
        None => Ok(()),
        Some(operation) => Err(Error::refused(
            Code::OperationInProgress,
            format!("The subscription is in operation {operation}, which is not finished."),
        )),
    }
}
