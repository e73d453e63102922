//! The business limits: those of the configuration, until two admins agree on others. Whoever judges by one reads it in the same transaction, so
//! that every process knows of a change at once.

use muniment_domain::db::Tx;
use muniment_domain::policy::{self, Limits};
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;
use crate::requester::Requester;
use crate::settings::Settings;

/// Other limits, as two admins agree on them: all of them, instead of exactly this version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// What they take the place of.
    pub base_version: i64,
    /// All of them.
    pub limits: Limits,
    /// Why.
    pub reason: String,
}

/// What the configuration says: version 0.
pub fn configured(settings: &Settings) -> Limits {
    Limits {
        mint_dual_control_threshold: settings.mint_dual_control_threshold,
        payout_dual_control_threshold: settings.payout_dual_control_threshold,
        payout_dust_threshold: settings.payout_dust_threshold,
        payment_due_days: settings.payment_due_days,
        approval_hours: settings.approval_hours,
        kyc_months: settings.kyc_months,
        kyc_months_at_high_risk: settings.kyc_months_at_high_risk,
    }
}

/// The limits that hold now, and their version.
pub async fn current(tx: &mut Tx, settings: &Settings) -> Result<(i64, Limits)> {
    let newest = policy::newest(tx).await?;
    Ok(newest.map_or_else(|| (0, configured(settings)), |newest| (newest.version, newest.limits.0)))
}

/// The same for whoever judges by one of them.
pub async fn limits(tx: &mut Tx, settings: &Settings) -> Result<Limits> {
    Ok(current(tx, settings).await?.1)
}

impl Change {
    /// What it is about. One change waits at a time: two that were asked for beside each other would undo one another.
    pub fn about(&self) -> About {
        About {
            subject_type: "policy",
            subject_id: (self.base_version + 1).to_string(),
            offering_id: None,
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: "change_policies".to_owned(),
        }
    }

    /// Refuses what changes nothing, what is out of bounds, and what was written for limits that do not hold any more.
    pub async fn check(&self, tx: &mut Tx, settings: &Settings) -> Result<()> {
        let (version, limits) = current(tx, settings).await?;
        if version != self.base_version {
            let detail = format!("The limits have version {version}, not {}. Read them again.", self.base_version);
            return Err(Error::refused(Code::VersionConflict, detail));
        }
        self.limits.check()?;
        if limits == self.limits {
            return Err(Error::refused(Code::InvalidState, "These are the limits already."));
        }
        Ok(())
    }

    /// Writes the next version.
    pub async fn execute(&self, tx: &mut Tx, settings: &Settings, by: &Requester) -> Result<()> {
        self.check(tx, settings).await?;
        let (version, before) = current(tx, settings).await?;
        policy::append(tx, (version, &before), &self.limits, &self.reason, &by.actor).await
    }
}
