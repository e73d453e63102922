//! A change of the business limits: one admin requests it and another approves it.

use muniment_domain::db::Tx;
use muniment_domain::policy::{self, Limits};
use muniment_domain::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::approval_request::About;
use crate::limits;
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
        let (version, current) = limits::current(tx, settings).await?;
        if version != self.base_version {
            let detail = format!("The limits have version {version}, not {}. Read them again.", self.base_version);
            return Err(Error::refused(Code::VersionConflict, detail));
        }
        self.limits.check()?;
        if current == self.limits {
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
        let (version, before) = limits::current(tx, settings).await?;
        policy::append(tx, (version, &before), &self.limits, &self.reason, &by.actor).await
    }
}
