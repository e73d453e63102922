//! The business limits: from the configuration, until one admin requests others and a second approves them. A check reads the limit in its
//! own transaction, so that every process applies a change at once.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::policy::{self, Limits};

use crate::settings::Settings;

/// The version of the current limits, and the limits. Version 0 is the configuration.
pub async fn current(tx: &mut Tx, settings: &Settings) -> Result<(i64, Limits)> {
    let newest = policy::newest(tx).await?;
    Ok(newest.map_or_else(|| (0, settings.limits()), |newest| (newest.version, newest.limits.0)))
}
