//! Approval of a payout: from the threshold on, a second person approves exactly this snapshot, these amounts, this coin, this payer and
//! this list.

use muniment_domain::approval::{self as approvals, Approval, Status as Approved};
use muniment_domain::daily_unapproved::{self, Addition, Thresholds};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Move, Scope, Status};
use muniment_domain::entitlement::{self, Agreement, agreement};
use muniment_domain::id::{DistributionId, OfferingId};
use muniment_domain::{Code, Error, Result, snapshot};
use serde::{Deserialize, Serialize};

use crate::approval_request::{self, About, NewRequest};
use crate::limits;
use crate::payout::entitlement::Request as Named;
use crate::requester::Requester;
use crate::settings::Settings;

/// The name of the action that an approval of a payout executes.
pub const ACTION: &str = "payout";

/// The payout that a second person approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayoutList {
    /// The distribution.
    pub distribution_id: DistributionId,
    /// The offering.
    pub offering_id: OfferingId,
    /// The gross total in cents, before withholding.
    pub gross_total: i64,
    /// The currency.
    pub currency: String,
    /// Everything that must not change until the payout is executed.
    pub agreement: Agreement,
    /// Holders that the distribution leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_holders: Vec<String>,
}

impl PayoutList {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About {
            subject_type: "distribution",
            subject_id: self.distribution_id.to_string(),
            offering_id: Some(self.offering_id.clone()),
            amount: Some((self.gross_total, self.currency.clone())),
            reason: None,
            live_key: format!("payout:{}", self.distribution_id),
        }
    }
}

/// What the approval of an exclusion or a reissue shows.
pub fn about(r: &Named, what: &str) -> About {
    About::of("entitlement", &r.entitlement_id, Some(r.reason.clone()), format!("{what}:{}", r.entitlement_id))
}

/// Submits a distribution for execution. While the amounts submitted in a day stay below the threshold, it is approved at once. From the
/// threshold on, or if it leaves out a holder, a second person must approve it.
pub async fn submit(
    tx: &mut Tx,
    settings: &Settings,
    scope: &Scope,
    id: &DistributionId,
    by: &Requester,
) -> Result<(Distribution, Option<Approval>)> {
    let mut d = distribution::find(tx, scope, id).await?;
    if matches!(d.status, Status::AwaitingApproval | Status::Approved) {
        reopen(tx, &mut d, by).await?;
    }
    let asks = d.status.next(Move::RequestApproval).is_some();
    if !asks {
        // The refusal lists the allowed moves.
        distribution::transition(tx, &mut d, Move::RequestApproval, &by.actor, "").await?;
    }
    let (agreed, list) = agreement(tx, &d).await?;
    if list.is_empty() {
        return Err(Error::refused(
            Code::NothingToPay,
            "No entitlement of this distribution can be paid now. All of them are held.",
        ));
    }
    let gross_total = entitlement::totals(tx, id).await?.gross;
    d.list_sha256 = Some(agreed.sha256());
    let limits = limits::current(tx, settings).await?.1;
    let (offering, platform) = (limits.payout_dual_control_threshold, limits.payout_platform_dual_control_threshold);
    let below = Thresholds { offering, platform };
    let more = Addition { offering_id: &d.offering_id, action: "payout", amount: gross_total, below };
    // Leaving out a holder takes a second person, like the exclusion of a single entitlement.
    let left_out = snapshot::holders_among(tx, id, &d.excluded_addresses.0).await?;
    if left_out.is_empty() && daily_unapproved::stays_below(tx, more).await? {
        daily_unapproved::add(tx, more).await?;
        // An approval that lapsed before does not belong to this payment, which could not be linked to it.
        d.approval_id = None;
        distribution::transition(tx, &mut d, Move::Approve, &by.actor, "below the threshold for a second person")
            .await?;
        return Ok((d, None));
    }
    let list = PayoutList {
        distribution_id: d.id.clone(),
        offering_id: d.offering_id.clone(),
        gross_total,
        currency: d.currency.clone(),
        agreement: agreed,
        excluded_holders: left_out,
    };
    check(tx, &list).await?;
    let request = NewRequest::new(ACTION, list.about(), &list)?;
    let asked = approval_request::store(tx, settings, request, by).await?;
    d.approval_id = Some(asked.id.clone());
    distribution::transition(tx, &mut d, Move::RequestApproval, &by.actor, "an approval was requested").await?;
    Ok((d, Some(asked)))
}

/// Lets a distribution be submitted again, if its list changed or its approval is no longer pending.
async fn reopen(tx: &mut Tx, d: &mut Distribution, by: &Requester) -> Result<()> {
    let (now, _) = agreement(tx, d).await?;
    let moved = d.list_sha256.as_deref() != Some(now.sha256().as_str());
    let asked = match &d.approval_id {
        Some(id) => Some(approvals::find(tx, id).await?),
        None => None,
    };
    if asked.as_ref().is_some_and(|a| a.status == Approved::Pending) {
        let id = &d.approval_id.clone().unwrap_or_default();
        let detail = format!("The distribution waits for the approval {id}. Decide that approval first, or cancel it.");
        return Err(Error::refused(Code::OperationInProgress, detail));
    }
    if d.status == Status::Approved && !moved {
        return Err(d.illegal("The distribution is already approved and has not changed. Execute it."));
    }
    d.list_sha256 = None;
    d.approval_id = None;
    distribution::transition(tx, d, Move::Revise, &by.actor, "submitted again").await
}

/// Refuses a list that differs from the current one.
pub async fn check(tx: &mut Tx, list: &PayoutList) -> Result<()> {
    let d = distribution::find(tx, &Scope::All, &list.distribution_id).await?;
    if !matches!(d.status, Status::Calculated | Status::AwaitingApproval) {
        return Err(d.illegal(format!("The distribution is {}. It cannot be approved in this status.", d.status)));
    }
    let (now, _) = agreement(tx, &d).await?;
    let changed = "The list changed after the request: an entitlement was held, released or redirected. Submit the distribution again.";
    if now == list.agreement { Ok(()) } else { Err(Error::refused(Code::SnapshotMismatch, changed)) }
}

/// Approves the distribution, in the commit of the approval.
pub async fn agree(tx: &mut Tx, list: &PayoutList, by: &Requester) -> Result<()> {
    check(tx, list).await?;
    let mut d = distribution::find(tx, &Scope::All, &list.distribution_id).await?;
    distribution::transition(tx, &mut d, Move::Approve, &by.actor, "approved by a second person").await
}

/// Locks the distribution of an approval. Every change of both locks the distribution first, so that two of them cannot deadlock.
pub async fn lock_distribution_of(tx: &mut Tx, a: &Approval) -> Result<()> {
    if a.subject_type == "distribution" {
        distribution::lock_row(tx, &a.subject()).await?;
    }
    Ok(())
}

/// Cancels the pending approval of a distribution whose list changed. The caller has locked the distribution.
pub async fn withdraw(tx: &mut Tx, d: &mut Distribution, actor: &str, reason: &str) -> Result<()> {
    let Some(id) = d.approval_id.take() else { return Ok(()) };
    let mut asked = approvals::find(tx, &id).await?;
    if asked.status == Approved::Pending {
        approvals::transition(tx, &mut asked, approvals::Move::Cancel, actor, reason).await?;
    }
    Ok(())
}

/// Reopens a distribution whose approval was rejected, cancelled or expired: it can be changed and submitted again.
pub async fn lapse(tx: &mut Tx, a: &Approval, actor: &str) -> Result<()> {
    if a.subject_type != "distribution" {
        return Ok(());
    }
    let mut d = distribution::find(tx, &Scope::All, &a.subject()).await?;
    if d.status != Status::AwaitingApproval || d.approval_id.as_deref() != Some(a.id.as_str()) {
        return Ok(());
    }
    d.list_sha256 = None;
    d.approval_id = None;
    distribution::transition(tx, &mut d, Move::Revise, actor, &format!("the approval is {}", a.status)).await
}
