//! The business limits that two admins can change at run time, in versions. They replace those of the configuration.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::types::Json;

use crate::db::{Tx, expect_updated};
use crate::money::Money;
use crate::recorder::Facts;
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result, event};

/// All limits that can be changed at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// A mint of this amount or more needs an approval.
    pub mint_dual_control_threshold: Money,
    /// A payout with this total or more needs an approval.
    pub payout_dual_control_threshold: Money,
    /// A mint needs an approval if all mints of the day reach this amount, whatever their offerings.
    #[serde(default = "defaults::mint_platform_dual_control_threshold")]
    pub mint_platform_dual_control_threshold: Money,
    /// A payout needs an approval if all payouts of the day reach this total, whatever their offerings.
    #[serde(default = "defaults::payout_platform_dual_control_threshold")]
    pub payout_platform_dual_control_threshold: Money,
    /// Days after which an investor may declare a higher income or net worth again. 0 means at any time.
    #[serde(default = "defaults::means_raise_days")]
    pub means_raise_days: u32,
    /// Entitlements below this amount are not paid out.
    pub payout_dust_threshold: Money,
    /// Days until an unpaid subscription expires.
    pub payment_due_days: u32,
    /// Hours until an approval request expires.
    pub approval_hours: u32,
    /// Months until the approval of an identity expires.
    pub kyc_months: u32,
    /// Months until the approval of an identity expires at high risk.
    pub kyc_months_at_high_risk: u32,
    /// Members that an issuer may invite in one day.
    #[serde(default = "defaults::issuer_invitations_per_day")]
    pub issuer_invitations_per_day: u32,
    /// Share of the hard cap that one investor may reserve before a payment, in percent.
    #[serde(default = "defaults::unpaid_investor_percent")]
    pub unpaid_investor_percent: u32,
    /// Share of the hard cap that one investor may reserve before the identity is approved, in percent.
    #[serde(default = "defaults::unverified_investor_percent")]
    pub unverified_investor_percent: u32,
    /// Share of the hard cap that all these investors may reserve together, in percent.
    #[serde(default = "defaults::unverified_total_percent")]
    pub unverified_total_percent: u32,
    /// Hours after which their subscriptions expire, unless the identity is approved or the amount is paid.
    #[serde(default = "defaults::unverified_hours")]
    pub unverified_hours: u32,
}

/// The defaults of limits that older versions of the stored limits do not have.
#[allow(missing_docs)]
pub mod defaults {
    use crate::money::Money;

    pub const fn mint_platform_dual_control_threshold() -> Money {
        Money::from_minor(100_000_000)
    }

    pub const fn payout_platform_dual_control_threshold() -> Money {
        Money::from_minor(4_000_000)
    }

    pub const fn means_raise_days() -> u32 {
        30
    }

    pub const fn issuer_invitations_per_day() -> u32 {
        20
    }

    pub const fn unpaid_investor_percent() -> u32 {
        50
    }

    pub const fn unverified_investor_percent() -> u32 {
        5
    }

    pub const fn unverified_total_percent() -> u32 {
        20
    }

    pub const fn unverified_hours() -> u32 {
        72
    }
}

/// The range of a limit; money in minor units.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Name of the limit.
    pub name: &'static str,
    /// JSON pointer to the limit in a request.
    pub pointer: &'static str,
    /// Minimum.
    pub minimum: i64,
    /// Maximum.
    pub maximum: i64,
    /// Whether it is an amount of money.
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

/// The range of every limit. An approval request lives longer than the day that a lone admin must wait.
pub const BOUNDS: &[Bound] = &[
    bound!(mint_dual_control_threshold, |l| l.mint_dual_control_threshold.minor(), true, 0, 1_000_000_000),
    bound!(payout_dual_control_threshold, |l| l.payout_dual_control_threshold.minor(), true, 0, 100_000_000),
    bound!(
        mint_platform_dual_control_threshold,
        |l| l.mint_platform_dual_control_threshold.minor(),
        true,
        0,
        10_000_000_000
    ),
    bound!(
        payout_platform_dual_control_threshold,
        |l| l.payout_platform_dual_control_threshold.minor(),
        true,
        0,
        1_000_000_000
    ),
    bound!(means_raise_days, |l| l.means_raise_days.into(), false, 0, 365),
    bound!(payout_dust_threshold, |l| l.payout_dust_threshold.minor(), true, 1, 10_000),
    bound!(payment_due_days, |l| l.payment_due_days.into(), false, 1, 90),
    bound!(approval_hours, |l| l.approval_hours.into(), false, 25, 336),
    bound!(kyc_months, |l| l.kyc_months.into(), false, 1, 36),
    bound!(kyc_months_at_high_risk, |l| l.kyc_months_at_high_risk.into(), false, 1, 12),
    bound!(issuer_invitations_per_day, |l| l.issuer_invitations_per_day.into(), false, 1, 100),
    bound!(unpaid_investor_percent, |l| l.unpaid_investor_percent.into(), false, 1, 100),
    bound!(unverified_investor_percent, |l| l.unverified_investor_percent.into(), false, 1, 100),
    bound!(unverified_total_percent, |l| l.unverified_total_percent.into(), false, 1, 100),
    bound!(unverified_hours, |l| l.unverified_hours.into(), false, 1, 720),
];

impl Bound {
    /// A value in the form of requests.
    pub fn shown(&self, value: i64) -> Value {
        if self.is_money { json!(Money::from_minor(value).to_string()) } else { json!(value) }
    }
}

impl Limits {
    /// Validates the ranges, and that identities at high risk do not expire later than others.
    pub fn check(&self) -> Result<()> {
        Error::all(BOUNDS.iter().map(|bound| {
            if (bound.minimum..=bound.maximum).contains(&(bound.value)(self)) {
                return Ok(());
            }
            let (minimum, maximum) = (bound.shown(bound.minimum), bound.shown(bound.maximum));
            let detail = format!("The value must be between {minimum} and {maximum}.");
            let named = json!({ "minimum": minimum, "maximum": maximum });
            Err(Error::field(bound.pointer, "out_of_range", detail).with_params(named))
        }))?;
        // A higher risk must be checked at least as often.
        if self.kyc_months_at_high_risk > self.kyc_months {
            let detail = "An approval at high risk cannot last longer than other approvals.";
            return Err(Error::field("/limits/kyc_months_at_high_risk", "out_of_range", detail));
        }
        Ok(())
    }

    fn facts(&self) -> Facts {
        Facts::new(json!(self), Value::Null)
    }
}

/// One version of the limits.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Policy {
    pub version: i64,
    pub limits: Json<Limits>,
    pub reason: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
}

/// The current version; none if the configuration applies.
pub async fn newest(tx: &mut Tx) -> Result<Option<Policy>> {
    sql("select * from policies order by version desc limit 1").optional(tx).await
}

/// One version, past or current.
pub async fn find(tx: &mut Tx, version: i64) -> Result<Policy> {
    sql("select * from policies where version = $1")
        .bind(version)
        .optional::<Policy>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no version {version} of the limits.")))
}

/// Stores the next version, unless another one was stored since this one was read.
pub async fn append(tx: &mut Tx, before: (i64, &Limits), limits: &Limits, reason: &str, by: &str) -> Result<()> {
    let (version, now) = (before.0 + 1, tx.now());
    let rows = insert_into("policies")
        .set("version", version)
        .set("limits", Json(limits))
        .set("reason", reason)
        .set("created_by", by)
        .set("created_at", now)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    let id = version.to_string();
    expect_updated(rows, "policy", &id)?;
    event::write(tx, "policy.changed", "policy", &id, version, json!({ "version": version })).await?;
    tx.recorder().record_change(&id, before.1.facts(), limits.facts());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_range() {
        let limits = json!(Limits {
            mint_dual_control_threshold: Money::from_minor(1),
            payout_dual_control_threshold: Money::from_minor(1),
            mint_platform_dual_control_threshold: Money::from_minor(1),
            payout_platform_dual_control_threshold: Money::from_minor(1),
            means_raise_days: 1,
            payout_dust_threshold: Money::from_minor(1),
            payment_due_days: 1,
            approval_hours: 25,
            kyc_months: 1,
            kyc_months_at_high_risk: 1,
            issuer_invitations_per_day: 1,
            unpaid_investor_percent: 1,
            unverified_investor_percent: 1,
            unverified_total_percent: 1,
            unverified_hours: 1,
        });
        let mut bounded: Vec<_> = BOUNDS.iter().map(|bound| bound.name).collect();
        bounded.sort_unstable();
        let named: Vec<_> = limits.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(bounded, named);
    }
}
