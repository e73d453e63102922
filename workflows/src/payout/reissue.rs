//! Reissue of many entitlements: all of a distribution whose payment failed or that were released after the others were paid, or the named
//! ones of them. A second person approves exactly this list, and it is split into pages like the first payment.

use std::collections::BTreeSet;

use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Scope};
use muniment_domain::entitlement::{self, Entitlement, Status};
use muniment_domain::id::{DistributionId, EntitlementId, OfferingId};
use muniment_domain::operation::Operation;
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::payout;
use crate::payout::payee::Payees;
use crate::requester::Requester;
use crate::settings::Settings;

/// A request to reissue.
#[derive(Clone, Debug)]
pub struct Request {
    /// The distribution.
    pub distribution_id: DistributionId,
    /// The entitlements. Without them, all that can be paid.
    pub entitlement_ids: Option<Vec<EntitlementId>>,
    /// The reason.
    pub reason: String,
}

/// The list that a second person approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReissueList {
    /// The distribution.
    pub distribution_id: DistributionId,
    /// The offering.
    pub offering_id: OfferingId,
    /// The net total in cents.
    pub net_total: i64,
    /// The currency.
    pub currency: String,
    /// The payments, in their order.
    pub lines: Vec<Line>,
    /// The reason.
    pub reason: String,
}

/// One payment of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The entitlement.
    pub entitlement_id: EntitlementId,
    /// The wallet that is paid.
    pub payee_address: String,
    /// The net amount in cents.
    pub net: i64,
}

impl ReissueList {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About {
            subject_type: "distribution",
            subject_id: self.distribution_id.to_string(),
            offering_id: Some(self.offering_id.clone()),
            amount: Some((self.net_total, self.currency.clone())),
            reason: Some(self.reason.clone()),
            live_key: format!("reissue:{}", self.distribution_id),
        }
    }

    fn of(d: &Distribution, chosen: &[Entitlement], reason: &str) -> Self {
        let line = |e: &Entitlement| Line {
            entitlement_id: e.id.clone(),
            payee_address: e.payee_address.0.to_checksum(None),
            net: e.net,
        };
        Self {
            distribution_id: d.id.clone(),
            offering_id: d.offering_id.clone(),
            net_total: chosen.iter().map(|e| e.net).sum(),
            currency: d.currency.clone(),
            lines: chosen.iter().map(line).collect(),
            reason: reason.to_owned(),
        }
    }
}

/// The current list. Changes nothing.
pub async fn list(tx: &mut Tx, r: &Request) -> Result<ReissueList> {
    let d = executed(tx, &r.distribution_id).await?;
    let chosen = match &r.entitlement_ids {
        None => all(tx, &d).await?,
        Some(ids) => {
            let mut chosen = named(tx, &d, ids).await?;
            let payees = Payees::of(tx, &chosen).await?;
            chosen.iter_mut().try_for_each(|e| payees.admit(e))?;
            chosen
        }
    };
    if chosen.is_empty() {
        let detail =
            "No entitlement of this distribution can be reissued now. All of them are paid, held or in an operation.";
        return Err(Error::refused(Code::NothingToPay, detail));
    }
    Ok(ReissueList::of(&d, &chosen, &r.reason))
}

async fn executed(tx: &mut Tx, id: &DistributionId) -> Result<Distribution> {
    let d = distribution::find(tx, &Scope::All, id).await?;
    if d.status.is_executed() {
        return Ok(d);
    }
    let detail = format!("The distribution is {}. Only an executed distribution can be reissued.", d.status);
    Err(d.illegal(detail))
}

/// All entitlements that can be reissued now.
async fn all(tx: &mut Tx, d: &Distribution) -> Result<Vec<Entitlement>> {
    let mut list = entitlement::unpaid(tx, &d.id).await?;
    list.retain(is_payable);
    let payees = Payees::of(tx, &list).await?;
    list.retain_mut(|e| payees.admit(e).is_ok());
    Ok(list)
}

/// The named entitlements. Each of them must be unpaid and payable.
async fn named(tx: &mut Tx, d: &Distribution, ids: &[EntitlementId]) -> Result<Vec<Entitlement>> {
    let mut missing: BTreeSet<&EntitlementId> = ids.iter().collect();
    let mut list = entitlement::unpaid(tx, &d.id).await?;
    list.retain(|e| missing.remove(&e.id));
    if let Some(e) = list.iter().find(|e| !is_payable(e)) {
        let detail =
            format!("The entitlement {} is {}. Only a failed or released one can be reissued.", e.id, e.status);
        return Err(Error::illegal(detail, e.status.as_str(), e.status.requests()));
    }
    if let Some(id) = missing.first() {
        let detail = format!("{id} is not an unpaid entitlement of this distribution.");
        return Err(Error::field("/entitlement_ids", "not_found", detail));
    }
    Ok(list)
}

fn is_payable(e: &Entitlement) -> bool {
    Status::PAYABLE.contains(&e.status)
}

/// Refuses a list that differs from the current one.
pub async fn check(tx: &mut Tx, agreed: &ReissueList) -> Result<()> {
    unchanged(tx, agreed).await.map(drop)
}

async fn unchanged(tx: &mut Tx, agreed: &ReissueList) -> Result<(Distribution, Vec<Entitlement>)> {
    let d = executed(tx, &agreed.distribution_id).await?;
    let ids: Vec<EntitlementId> = agreed.lines.iter().map(|line| line.entitlement_id.clone()).collect();
    let mut chosen = named(tx, &d, &ids).await?;
    let payees = Payees::of(tx, &chosen).await?.ignoring_freezes();
    chosen.iter_mut().try_for_each(|e| payees.admit(e))?;
    if ReissueList::of(&d, &chosen, &agreed.reason) == *agreed {
        return Ok((d, chosen));
    }
    let detail = "The list changed after the request: an entitlement was redirected. Request the reissue again.";
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// Pays the list directly from the payer, page by page.
pub async fn execute(tx: &mut Tx, settings: &Settings, agreed: &ReissueList, by: &Requester) -> Result<Vec<Operation>> {
    distribution::lock_row(tx, &agreed.distribution_id).await?;
    let (mut d, chosen) = unchanged(tx, agreed).await?;
    payout::resume(tx, &mut d, by).await?;
    payout::pay(tx, settings, &d, &chosen, by).await
}
