//! The business limits: what two admins agree on instead of the configuration, version by version.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::types::Json;

use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::money::Money;
use crate::{Code, Error, Result, event, on};

/// All limits that can be changed while the platform runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// From which amount on a mint takes two people.
    pub mint_dual_control_threshold: Money,
    /// From which total on a payout takes two people.
    pub payout_dual_control_threshold: Money,
    /// What an investor must at least get to be paid now.
    pub payout_dust_threshold: Money,
    /// How long a subscription may stay unpaid, in days.
    pub payment_due_days: u32,
    /// How long an approval waits for a second person, in hours.
    pub approval_hours: u32,
    /// How long the approval of an identity holds, in months.
    pub kyc_months: u32,
    /// The same at high risk.
    pub kyc_months_at_high_risk: u32,
}

/// Between what a limit lies: money in minor units.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Its name.
    pub name: &'static str,
    /// Where it stands in a request.
    pub pointer: &'static str,
    /// At least.
    pub minimum: i64,
    /// At most.
    pub maximum: i64,
    /// Whether it is money.
    pub is_money: bool,
    value: fn(&Limits) -> i64,
}

macro_rules! bound {
    ($name:ident, $value:expr, $is_money:literal, $minimum:literal, $maximum:literal) => {
        Bound {
            name: stringify!($name),
            pointer: concat!("/limits/", stringify!($name)),
            minimum: $minimum,
            maximum: $maximum,
            is_money: $is_money,
            value: $value,
        }
    };
}

/// Every limit with its bounds. An approval outlives the day that a lone admin has to wait.
pub const BOUNDS: &[Bound] = &[
    bound!(mint_dual_control_threshold, |l| l.mint_dual_control_threshold.minor(), true, 0, 1_000_000_000),
    bound!(payout_dual_control_threshold, |l| l.payout_dual_control_threshold.minor(), true, 0, 100_000_000),
    bound!(payout_dust_threshold, |l| l.payout_dust_threshold.minor(), true, 1, 10_000),
    bound!(payment_due_days, |l| l.payment_due_days.into(), false, 1, 90),
    bound!(approval_hours, |l| l.approval_hours.into(), false, 25, 336),
    bound!(kyc_months, |l| l.kyc_months.into(), false, 1, 36),
    bound!(kyc_months_at_high_risk, |l| l.kyc_months_at_high_risk.into(), false, 1, 12),
];

impl Bound {
    /// One of its values as requests write it.
    pub fn shown(&self, value: i64) -> Value {
        if self.is_money { json!(Money::from_minor(value).to_string()) } else { json!(value) }
    }
}

impl Limits {
    /// Refuses what lies out of its bounds, and high risk that is trusted longer than any other.
    pub fn check(&self) -> Result<()> {
        for bound in BOUNDS {
            if !(bound.minimum..=bound.maximum).contains(&(bound.value)(self)) {
                let (minimum, maximum) = (bound.shown(bound.minimum), bound.shown(bound.maximum));
                let detail = format!("{minimum} to {maximum} are expected.");
                let named = json!({ "minimum": minimum, "maximum": maximum });
                return Err(Error::field(bound.pointer, "out_of_range", detail).with_params(named));
            }
        }
        if self.kyc_months_at_high_risk > self.kyc_months {
            let detail = "At high risk an approval holds no longer than any other one.";
            return Err(Error::field("/limits/kyc_months_at_high_risk", "out_of_range", detail));
        }
        Ok(())
    }

    fn facts(&self) -> Facts {
        Facts::new(json!(self), Value::Null)
    }
}

/// One version.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Policy {
    pub version: i64,
    pub limits: Json<Limits>,
    pub reason: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
}

/// The version that holds; none where the configuration does.
pub async fn newest(tx: &mut Tx) -> Result<Option<Policy>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Policy>("select * from policies order by version desc limit 1")
        .fetch_optional(conn).await?))
}

/// One version that held once, or holds.
pub async fn find(tx: &mut Tx, version: i64) -> Result<Policy> {
    on!(tx, conn => sqlx::query_as::<_, Policy>("select * from policies where version = $1").bind(version).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no version {version} of the limits.")))
}

/// Writes the next version, if nobody else did since this one was read.
pub async fn append(tx: &mut Tx, before: (i64, &Limits), limits: &Limits, reason: &str, by: &str) -> Result<()> {
    let (version, now) = (before.0 + 1, tx.now());
    let rows = on!(tx, conn => sqlx::query(
        "insert into policies (version, limits, reason, created_by, created_at) values ($1, $2, $3, $4, $5) on conflict do nothing")
        .bind(version).bind(Json(limits)).bind(reason).bind(by).bind(now).execute(conn).await?.rows_affected());
    let id = version.to_string();
    touched(rows, "policy", &id)?;
    event::write(tx, "policy.changed", "policy", &id, version, json!({ "version": version })).await?;
    tx.doing().changed(&id, before.1.facts(), limits.facts());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_its_bounds() {
        let limits = json!(Limits {
            mint_dual_control_threshold: Money::from_minor(1),
            payout_dual_control_threshold: Money::from_minor(1),
            payout_dust_threshold: Money::from_minor(1),
            payment_due_days: 1,
            approval_hours: 25,
            kyc_months: 1,
            kyc_months_at_high_risk: 1,
        });
        let mut bounded: Vec<_> = BOUNDS.iter().map(|bound| bound.name).collect();
        bounded.sort_unstable();
        let named: Vec<_> = limits.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(bounded, named);
    }
}
