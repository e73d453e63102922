//! Changes to a subscription before it is minted: withdrawal by the investor, cancellation by staff, confirmation of changed terms, and
//! another wallet.

use alloy_primitives::Address;
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::id::SubscriptionId;
use muniment_domain::offering::Offering;
use muniment_domain::subscription::{self, Move, Scope, Status, Subscription};
use muniment_domain::{Code, Error, Result};
use serde_json::json;

use super::{not_in_a_mint, subscribe, wallet};
use crate::engine::timer;
use crate::own_record::not_own;
use crate::requester::Requester;
use crate::settings::Settings;

/// The capacity in which a person ends a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The investor, until the cooling-off period ends.
    Investor,
    /// Staff, until it is minted, with a reason.
    Staff,
}

/// Ends a subscription, and frees its reserved amount in the same commit.
pub async fn cancel(
    tx: &mut Tx,
    scope: &Scope,
    id: &SubscriptionId,
    part: EndedBy,
    reason: &str,
    by: &Requester,
) -> Result<(Offering, Subscription)> {
    let (offering, mut s) = subscription::lock_row(tx, scope, id).await?;
    let (mover, given) = match part {
        EndedBy::Investor => {
            subscription::renew_window(tx, &offering, &mut s).await?;
            can_withdraw(tx, &s)?;
            (Move::Withdraw, if reason.is_empty() { "withdrawn" } else { reason })
        }
        EndedBy::Staff => {
            // Staff is not bound by the cooling-off period, so nobody of them ends their own.
            not_own(tx, &s.investor_id, by).await?;
            if s.status.is_open() {
                not_in_a_mint(tx, &s).await?;
            }
            (Move::Cancel, reason)
        }
    };
    subscription::transition(tx, &offering, &mut s, mover, &by.actor, given).await?;
    Ok((offering, s))
}

/// Refuses a withdrawal after the cooling-off period, even if the calendar has not moved the subscription yet. While the investor is asked
/// to confirm changed terms, withdrawal is possible.
fn can_withdraw(tx: &Tx, s: &Subscription) -> Result<()> {
    let elapsed = match s.status {
        Status::Committed => s.cooling_off_expires_at <= tx.now(),
        Status::Binding | Status::Accepted | Status::Minted => true,
        _ => false,
    };
    if !elapsed {
        return Ok(());
    }
    let detail = format!(
        "The cooling-off period ended at {}. The subscription can no longer be withdrawn.",
        s.cooling_off_expires_at.to_rfc3339()
    );
    Err(Error::refused(Code::CoolingOffElapsed, detail))
}

/// The investor confirms the current terms, and names the version that was read. The subscription continues in its former status.
pub async fn reconfirm(
    tx: &mut Tx,
    settings: &Settings,
    scope: &Scope,
    id: &SubscriptionId,
    offering_version: i64,
    by: &Requester,
) -> Result<(Offering, Subscription)> {
    let (offering, mut s) = subscription::lock_row(tx, scope, id).await?;
    let now = tx.now();
    // Without a confirmation until the deadline the subscription ends, even if the calendar has not moved it yet. After another change of
    // terms there is no deadline until the calendar sets it.
    if s.status != Status::PendingReconfirmation || s.reconfirm_by.is_some_and(|at| at <= now) {
        return Err(s.illegal(Move::Reconfirm.as_str()));
    }
    if offering_version != offering.version {
        let detail = format!("The offering has version {} now. Read it again before you confirm.", offering.version);
        return Err(Error::refused(Code::VersionConflict, detail));
    }
    s.terms_version = offering.terms_version;
    // After the confirmation the full payment period starts again.
    let due_at = subscribe::payment_due_at(tx, settings, now).await?;
    s.payment_due_at = s.payment_due_at.map(|at| at.max(due_at));
    subscription::transition(tx, &offering, &mut s, Move::Reconfirm, &by.actor, "").await?;
    timer::set(tx, &s.id, s.next_due()).await?;
    Ok((offering, s))
}

/// Changes the wallet of a subscription that is not accepted yet.
pub async fn change_wallet(
    tx: &mut Tx,
    scope: &Scope,
    id: &SubscriptionId,
    address: Address,
    by: &Requester,
) -> Result<(Offering, Subscription)> {
    let (offering, mut s) = subscription::lock_row(tx, scope, id).await?;
    if !matches!(s.status, Status::Committed | Status::PendingReconfirmation | Status::Binding) {
        return Err(s.illegal("another wallet"));
    }
    if let Some(chosen) =
        wallet::choose(tx, &offering, &s.investor_id, Some(address)).await?.filter(|chosen| chosen.is_new)
    {
        muniment_domain::wallet::insert_unverified(tx, &s.investor_id, chosen.address).await?;
    }
    s.wallet_address = Some(Hex(address));
    subscription::save(tx, &mut s).await?;
    let wallet_address = address.to_checksum(None);
    let data = json!({ "actor": by.actor, "wallet_address": wallet_address });
    subscription::write_event(tx, &offering, &s, "wallet_changed", data).await?;
    Ok((offering, s))
}
