//! Decisions about one entitlement: hold, release, exclude, reissue. The other entitlements do not wait for them.

use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Move as Step, Scope, Status as Stage};
use muniment_domain::entitlement::{self, Entitlement, HoldReason, Move, Status};
use muniment_domain::id::{DistributionId, EntitlementId, InvestorId};
use muniment_domain::operation::Operation;
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::own_record::not_own_entitlement;
use crate::payout;
use crate::payout::payee::Payees;
use crate::payout::{approval as payout_approval, claim, split};
use crate::requester::Requester;
use crate::settings::Settings;

/// A decision about an entitlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The distribution.
    pub distribution_id: DistributionId,
    /// The entitlement.
    pub entitlement_id: EntitlementId,
    /// The reason.
    pub reason: String,
}

/// Finds an entitlement for a change. The distribution is locked first, so that nobody executes a list that is changing.
async fn find_for_update(tx: &mut Tx, r: &Request) -> Result<(Distribution, Entitlement)> {
    distribution::lock_row(tx, &r.distribution_id).await?;
    find(tx, r).await
}

async fn find(tx: &mut Tx, r: &Request) -> Result<(Distribution, Entitlement)> {
    let d = distribution::find(tx, &Scope::All, &r.distribution_id).await?;
    let e = entitlement::find(tx, &r.distribution_id, &r.entitlement_id).await?;
    if !d.status.is_open() && !d.status.is_executed() {
        let detail = format!("The distribution is {}. Its entitlements cannot be changed.", d.status);
        return Err(d.illegal(detail));
    }
    Ok((d, e))
}

/// Withdraws the approval of a distribution whose list changed: it must be submitted again.
async fn revise(tx: &mut Tx, d: &mut Distribution, by: &Requester, reason: &str) -> Result<()> {
    if matches!(d.status, Stage::AwaitingApproval | Stage::Approved) {
        d.list_sha256 = None;
        payout_approval::withdraw(tx, d, &by.actor, reason).await?;
        distribution::transition(tx, d, Step::Revise, &by.actor, reason).await?;
    }
    Ok(())
}

/// Holds an entitlement.
pub async fn hold(tx: &mut Tx, r: &Request, by: &Requester) -> Result<Entitlement> {
    let (mut d, mut e) = find_for_update(tx, r).await?;
    not_own_entitlement(tx, [&e], by).await?;
    if e.status == Status::Queued {
        return Err(in_operation(&e));
    }
    entitlement::transition(tx, &mut e, Move::Hold, Some(HoldReason::Operator), &by.actor, &r.reason).await?;
    revise(tx, &mut d, by, "an entitlement was held").await?;
    Ok(e)
}

/// Holds every payable entitlement of an investor whose identity is no longer approved, also in a page that
/// the payer has not signed yet. A distribution that is not calculated yet is locked too: its calculation then sees the new status.
pub async fn hold_all_of(tx: &mut Tx, investor_id: &InvestorId, by: &Requester, note: &str) -> Result<()> {
    for id in distribution::about_to_pay(tx, investor_id).await? {
        let mut d = distribution::lock_row(tx, &id).await?;
        let payable = entitlement::calculated_of(tx, &id, investor_id).await?;
        for mut e in payable.iter().cloned() {
            entitlement::transition(tx, &mut e, Move::Hold, Some(HoldReason::KycRequired), &by.actor, note).await?;
        }
        if !payable.is_empty() {
            revise(tx, &mut d, by, "an entitlement was held").await?;
        }
        split::hold_waiting(tx, &id, investor_id, note).await?;
    }
    Ok(())
}

fn in_operation(e: &Entitlement) -> Error {
    let op = e.operation_id.clone().unwrap_or_default();
    Error::refused(
        Code::OperationInProgress,
        format!("The entitlement is in the operation {op}. Wait until that is finished."),
    )
}

/// Releases an entitlement that can be paid now. An amount that the distributor keeps is claimed for the holder by an operation.
pub async fn release(tx: &mut Tx, r: &Request, by: &Requester) -> Result<(Entitlement, Option<Operation>)> {
    let (mut d, mut e) = find_for_update(tx, r).await?;
    not_own_entitlement(tx, [&e], by).await?;
    if e.status == Status::Held {
        Payees::of(tx, std::slice::from_ref(&e)).await?.admit(&mut e)?;
    }
    if e.hold_reason.is_some_and(HoldReason::is_withheld) {
        payout::resume(tx, &mut d, by).await?;
        let op = claim::one(tx, &d, &e, by).await?;
        return Ok((entitlement::find(tx, &d.id, &e.id).await?, Some(op)));
    }
    entitlement::transition(tx, &mut e, Move::Release, None, &by.actor, &r.reason).await?;
    revise(tx, &mut d, by, "an entitlement was released").await?;
    Ok((e, None))
}

/// Excludes an entitlement permanently. The caller has an approval.
pub async fn exclude(tx: &mut Tx, r: &Request, by: &Requester) -> Result<Entitlement> {
    let (mut d, mut e) = find_for_update(tx, r).await?;
    check_exclude(&e)?;
    entitlement::transition(tx, &mut e, Move::Exclude, None, &by.actor, &r.reason).await?;
    revise(tx, &mut d, by, "an entitlement was excluded").await?;
    if d.status.is_executed() {
        payout::finish(tx, d).await?;
    }
    Ok(e)
}

fn check_exclude(e: &Entitlement) -> Result<()> {
    if e.hold_reason.is_some_and(HoldReason::is_withheld) {
        let detail = "Its money is in escrow for this holder and can only be claimed. Release it instead.";
        return Err(Error::refused(Code::PartialEffect, detail));
    }
    if e.status == Status::Queued {
        return Err(in_operation(e));
    }
    match e.status.next(Move::Exclude) {
        Some(_) => Ok(()),
        None => Err(Error::illegal_move("entitlement", e.status.as_str(), "exclude", e.status.requests())),
    }
}

/// Refuses an exclusion that could not be executed now.
pub async fn check_exclusion(tx: &mut Tx, r: &Request) -> Result<()> {
    let (_, e) = find(tx, r).await?;
    check_exclude(&e)
}

/// Refuses a reissue that could not be executed now. An entitlement can be reissued if its payment failed, or if it was released after the
/// others were paid.
pub async fn check_reissue(tx: &mut Tx, r: &Request) -> Result<(Distribution, Entitlement)> {
    let (d, mut e) = find(tx, r).await?;
    if !d.status.is_executed() {
        return Err(d.illegal("The distribution is not executed yet. Execute it instead."));
    }
    match e.status {
        Status::Failed | Status::Calculated => {}
        Status::Queued => return Err(in_operation(&e)),
        other => {
            let detail = format!("The entitlement is {other}. Only a failed or released one can be reissued.");
            return Err(Error::illegal(detail, other.as_str(), other.requests()));
        }
    }
    Payees::of(tx, std::slice::from_ref(&e)).await?.admit(&mut e)?;
    Ok((d, e))
}

/// Pays an entitlement by a new operation, directly from the payer. The caller has an approval.
pub async fn reissue(tx: &mut Tx, settings: &Settings, r: &Request, by: &Requester) -> Result<Vec<Operation>> {
    distribution::lock_row(tx, &r.distribution_id).await?;
    let (mut d, e) = check_reissue(tx, r).await?;
    payout::resume(tx, &mut d, by).await?;
    payout::pay(tx, settings, &d, std::slice::from_ref(&e), by).await
}
