//! Cancelling an offering. An issuer always needs an approval, and so does everybody once money is committed.

use muniment_domain::approval::Approval;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::offering::{self, Move, Offering, Scope};
use muniment_domain::{Code, Error, Result, subscription};
use serde::{Deserialize, Serialize};

use super::{lock, make_move};
use crate::approval_request::{self, About, NewRequest};
use crate::requester::Requester;
use crate::settings::Settings;

/// The name of the action that an approval of a cancellation executes.
pub const CANCEL: &str = "cancel_offering";

/// A request to cancel an offering.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: OfferingId,
    /// The reason.
    pub reason: String,
}

/// The result of a request to cancel.
#[derive(Debug)]
pub enum CancelResult {
    /// The offering is cancelled.
    Cancelled(Box<Offering>),
    /// A second person must approve it.
    AwaitsApproval(Box<Approval>),
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About {
            subject_type: "offering",
            subject_id: self.offering_id.to_string(),
            offering_id: Some(self.offering_id.clone()),
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: format!("cancel_offering:{}", self.offering_id),
        }
    }
}

/// Cancels an offering, or requests the approval that this needs.
pub async fn cancel(
    tx: &mut Tx,
    settings: &Settings,
    scope: &Scope,
    request: Request,
    by: &Requester,
) -> Result<CancelResult> {
    let o = lock(tx, scope, &request.offering_id).await?;
    let alone = *scope == Scope::All && o.committed_total == 0;
    if alone || o.status.next(Move::Cancel).is_none() {
        return Ok(CancelResult::Cancelled(Box::new(end(tx, &request, by).await?)));
    }
    check(tx, &request).await?;
    let request = NewRequest::new(CANCEL, request.about(), &request)?;
    let approval = approval_request::store(tx, settings, request, by).await?;
    Ok(CancelResult::AwaitsApproval(Box::new(approval)))
}

/// Refuses an offering that cannot be cancelled: some of its units are minted, or an unfinished mint may mint them.
pub async fn check(tx: &mut Tx, request: &Request) -> Result<()> {
    let o = offering::find(tx, &request.offering_id).await?;
    if o.status.next(Move::Cancel).is_none() {
        return Err(offering::illegal_move(&o, Move::Cancel));
    }
    if subscription::totals(tx, &o.id).await?.minted > 0 {
        let detail = "Units of this offering are already minted, so it cannot be cancelled.";
        return Err(Error::illegal(detail, o.status.as_str(), o.status.requests()));
    }
    match offering::live_mint(tx, &o.id).await? {
        Some(id) => Err(Error::refused(
            Code::OperationInProgress,
            format!("The mint {id} is not finished. Cancel it, or wait for it."),
        )),
        None => Ok(()),
    }
}

/// Cancels an offering. The calendar then ends its subscriptions page by page.
pub async fn end(tx: &mut Tx, request: &Request, by: &Requester) -> Result<Offering> {
    let mut o = offering::lock_row(tx, &request.offering_id).await?;
    check(tx, request).await?;
    make_move(tx, &mut o, Move::Cancel, &by.actor, Some(&request.reason)).await?;
    Ok(o)
}
