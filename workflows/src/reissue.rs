//! Paying anew, many at once: everybody of a distribution whose payment was given up or who was released after the others were paid, or
//! those of them that are named. Two people agree on exactly this list, and it is cut into pages like the first one.

use std::collections::BTreeSet;

use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Scope};
use muniment_domain::entitlement::{self, Entitlement, Status};
use muniment_domain::operation::Operation;
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::action::About;
use crate::entitlement::{obstacle, resume};
use crate::payout;
use crate::requester::Requester;
use crate::settings::Settings;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The distribution.
    pub distribution_id: String,
    /// Which of its entitlements; none for all that can be paid.
    pub entitlement_ids: Option<Vec<String>>,
    /// Why.
    pub reason: String,
}

/// What a second person says yes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReissueList {
    /// The distribution.
    pub distribution_id: String,
    /// Its offering.
    pub offering_id: String,
    /// Cents in all.
    pub net_total: i64,
    /// Their currency.
    pub currency: String,
    /// Who is paid, in the order of the payment.
    pub lines: Vec<Line>,
    /// Why.
    pub reason: String,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The entitlement.
    pub entitlement_id: String,
    /// Where its money goes.
    pub payee_address: String,
    /// Cents.
    pub net: i64,
}

impl ReissueList {
    /// What it is about.
    pub fn about(&self) -> About {
        About {
            subject_type: "distribution",
            subject_id: self.distribution_id.clone(),
            offering_id: Some(self.offering_id.clone()),
            amount: Some((self.net_total, self.currency.clone())),
            reason: Some(self.reason.clone()),
            live_key: format!("reissue:{}", self.distribution_id),
        }
    }

    fn of(d: &Distribution, chosen: &[Entitlement], reason: &str) -> Self {
        let line = |e: &Entitlement| Line {
            entitlement_id: e.id.clone(),
            payee_address: e.payee_address.to_string(),
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

/// The list as it is now. Changes nothing.
pub async fn list(tx: &mut Tx, r: &Request) -> Result<ReissueList> {
    let d = executed(tx, &r.distribution_id).await?;
    let chosen = choose(tx, &d, r.entitlement_ids.as_deref()).await?;
    if chosen.is_empty() {
        let detail = "Nobody of this distribution can be paid anew now: all are paid, held or under way.";
        return Err(Error::refused(Code::NothingToPay, detail));
    }
    Ok(ReissueList::of(&d, &chosen, &r.reason))
}

async fn executed(tx: &mut Tx, id: &str) -> Result<Distribution> {
    let d = distribution::find(tx, &Scope::All, id).await?;
    if d.status.was_executed() {
        return Ok(d);
    }
    let detail = format!("The distribution is {}: only what was executed can be paid anew.", d.status);
    Err(Error::refused(Code::InvalidState, detail))
}

/// Those that are named must all be payable; of all the others those count that are.
async fn choose(tx: &mut Tx, d: &Distribution, named: Option<&[String]>) -> Result<Vec<Entitlement>> {
    let payable = |e: &Entitlement| matches!(e.status, Status::Failed | Status::Calculated);
    let mut chosen = Vec::new();
    let Some(named) = named else {
        for mut e in entitlement::unpaid(tx, &d.id).await?.into_iter().filter(payable) {
            match obstacle(tx, &mut e).await {
                Ok(()) => chosen.push(e),
                Err(Error::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        return Ok(chosen);
    };
    let named: BTreeSet<&String> = named.iter().collect();
    for mut e in entitlement::unpaid(tx, &d.id).await? {
        if !named.contains(&e.id) {
            continue;
        }
        if !payable(&e) {
            let detail = format!(
                "The entitlement {} is {}; only one that failed or was released can be paid anew.",
                e.id, e.status
            );
            return Err(Error::refused(Code::InvalidState, detail));
        }
        obstacle(tx, &mut e).await?;
        chosen.push(e);
    }
    if chosen.len() == named.len() {
        return Ok(chosen);
    }
    let missing =
        named.iter().find(|id| chosen.iter().all(|e| e.id != ***id)).map(|id| id.as_str()).unwrap_or_default();
    let detail = format!("{missing} is no entitlement of this distribution that is still to be paid.");
    Err(Error::field("/entitlement_ids", "not_found", detail))
}

/// Refuses what is not the list any more.
pub async fn check(tx: &mut Tx, agreed: &ReissueList) -> Result<()> {
    again(tx, agreed).await.map(drop)
}

async fn again(tx: &mut Tx, agreed: &ReissueList) -> Result<(Distribution, Vec<Entitlement>)> {
    let d = executed(tx, &agreed.distribution_id).await?;
    let ids: Vec<String> = agreed.lines.iter().map(|line| line.entitlement_id.clone()).collect();
    let chosen = choose(tx, &d, Some(&ids)).await?;
    if ReissueList::of(&d, &chosen, &agreed.reason) == *agreed {
        return Ok((d, chosen));
    }
    let detail = "What was asked for is not what stands there now: somebody was redirected since. Ask for it again.";
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// Pays the list, straight from the payer, page by page.
pub async fn execute(tx: &mut Tx, settings: &Settings, agreed: &ReissueList, by: &Requester) -> Result<Vec<Operation>> {
    distribution::lock(tx, &agreed.distribution_id).await?;
    let (mut d, chosen) = again(tx, agreed).await?;
    resume(tx, &mut d, by).await?;
    payout::pay(tx, settings, &d, &chosen, by).await
}
