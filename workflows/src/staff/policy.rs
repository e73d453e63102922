//! The business limits: from the configuration, until one admin requests others and a second approves them. A check reads the limit in its own
//! transaction, so that every process applies a change at once.

use muniment_domain::db::Tx;
use muniment_domain::policy::{self, Limits};
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;
use crate::requester::Requester;
use crate::settings::Settings;

/// A request to replace all limits. It applies to exactly one version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The version that is replaced.
    pub base_version: i64,
    /// The new limits, all of them.
    pub limits: Limits,
    /// The reason.
    pub reason: String,
}

/// The limits of the configuration: version 0.
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

/// The current limits, and their version.
pub async fn current(tx: &mut Tx, settings: &Settings) -> Result<(i64, Limits)> {
    let newest = policy::newest(tx).await?;
    Ok(newest.map_or_else(|| (0, configured(settings)), |newest| (newest.version, newest.limits.0)))
}

/// The current limits.
pub async fn limits(tx: &mut Tx, settings: &Settings) -> Result<Limits> {
    Ok(current(tx, settings).await?.1)
}

impl Change {
    /// What the approval shows. Only one change can wait for approval: the second of two would undo the first.
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

    /// Refuses a change without effect, a limit out of range, and a request for an older version.
    pub async fn check(&self, tx: &mut Tx, settings: &Settings) -> Result<()> {
        let (version, limits) = current(tx, settings).await?;
        if version != self.base_version {
            let detail = format!("The limits have version {version}, not {}. Read them again.", self.base_version);
            return Err(Error::refused(Code::VersionConflict, detail));
        }
        self.limits.check()?;
        if limits == self.limits {
            return Err(Error::refused(
                Code::InvalidState,
                "The request changes nothing: these are the current limits.",
            ));
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
