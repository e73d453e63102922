//! Suspensions: one person suspends an investor at once, because speed counts; ending it takes two people. A suspension does not freeze the
//! wallets: a freeze is a separate operation on each token.

use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::investor::{self, Investor, Move, Screening, Status};
use muniment_domain::kyc::{self, Cause, DecisionReason};
use muniment_domain::{Error, Result, approval};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::engine::timer;
use crate::investor::kyc::{approval_ended, await_mints, ends_at};
use crate::own_record::not_own;
use crate::requester::Requester;

/// A request to end a suspension.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reinstate {
    /// The investor.
    pub investor_id: InvestorId,
    /// The reason.
    pub reason: String,
    /// The hash of the supporting document.
    pub evidence_sha256: String,
    /// The result of a new screening. Required if the last one had a hit.
    #[serde(default)]
    pub screening: Option<Screening>,
}

/// Suspends an investor. What waits to be signed leaves the investor out, but for a list that the distributor pays as it was declared.
pub async fn suspend(
    tx: &mut Tx,
    investor_id: &InvestorId,
    cause: Cause,
    evidence_sha256: Option<&str>,
    by: &Requester,
) -> Result<Investor> {
    not_own(tx, investor_id, by).await?;
    await_mints(tx, investor_id).await?;
    let mut i = investor::find(tx, investor_id).await?;
    if let Some(mut asked) = approval::find_live(tx, &reinstate_key(investor_id)).await? {
        // Its maker did not know the new cause.
        approval::transition(tx, &mut asked, approval::Move::Cancel, &by.actor, "the investor is suspended again")
            .await?;
    }
    let screening = matches!(cause, Cause::SanctionsHit | Cause::PepHit).then_some(Screening::Hit);
    let decided =
        DecisionReason { decided_by: &by.actor, reason_code: Some(cause.as_str()), evidence_sha256, screening };
    kyc::transition(tx, &mut i, Move::Suspend, &decided).await?;
    timer::set(tx, &i.id, None).await?;
    approval_ended(tx, &i.id, by, "the investor is suspended").await?;
    Ok(i)
}

fn reinstate_key(investor_id: &InvestorId) -> String {
    format!("reinstate:{investor_id}")
}

impl Reinstate {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of("investor", &self.investor_id, Some(self.reason.clone()), reinstate_key(&self.investor_id))
    }

    /// Refuses an investor who is not suspended, or whose last screening had a hit.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        self.allowed(&investor::find(tx, &self.investor_id).await?)
    }

    fn allowed(&self, i: &Investor) -> Result<()> {
        if i.kyc_status != Status::Suspended {
            return Err(kyc::illegal_move(i, Move::Reinstate));
        }
        if self.screening.unwrap_or(i.sanctions_status) == Screening::Hit {
            let detail = "The last screening had a hit. Send the result of a new screening.";
            return Err(Error::field("/screening", "sanctions_not_clear", detail));
        }
        Ok(())
    }

    /// Ends the suspension. Held entitlements stay held until an operator releases them.
    pub async fn execute(self, tx: &mut Tx, by: &Requester) -> Result<()> {
        let mut i = investor::find(tx, &self.investor_id).await?;
        self.allowed(&i)?;
        let decided = DecisionReason {
            decided_by: &by.actor,
            reason_code: Some("reinstated"),
            evidence_sha256: Some(&self.evidence_sha256),
            screening: self.screening,
        };
        kyc::transition(tx, &mut i, Move::Reinstate, &decided).await?;
        // If the approval expired meanwhile, this timer is due at once and ends it.
        timer::set(tx, &i.id, ends_at(&i)).await
    }
}
