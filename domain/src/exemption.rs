//! Securities-law exemptions, each a row of one table with the minimum that the law requires. An issuer may only tighten. This is not
//! legal advice. `VERSION` changes with every change of the table.

use chrono::{DateTime, Datelike, Duration, Utc, Weekday};

use crate::country;
use crate::investment_limit::Limit;

/// The version of the table. Stored decisions name it, to show later which rules applied.
pub const VERSION: i64 = 3;

/// The longest cooling-off period of an offering, in hours.
pub const COOLING_OFF_HOURS_MAX: i64 = 1_440;

crate::words! {
    /// The exemption under which an offering is made.
    Exemption {
        /// No particular exemption: the platform's own rules.
        Default = "default",
        /// Crowdfunding in the United States (17 CFR 227).
        RegCf = "reg_cf",
        /// Private placement without solicitation (17 CFR 230.506(b)).
        RegD506b = "reg_d_506b",
        /// Private placement to verified accredited investors (17 CFR 230.506(c)).
        RegD506c = "reg_d_506c",
        /// Tier 2 of Regulation A.
        RegAT2 = "reg_a_t2",
        /// Offshore (17 CFR 230.901 to 905).
        RegS = "reg_s",
        /// Crowdfunding in the European Union (Regulation 2020/1503).
        EuEcsp = "eu_ecsp",
        /// Other crypto-assets in the European Union (Regulation 2023/1114, article 13).
        EuMicaOther = "eu_mica_other",
        /// Restricted mass-market investments in the United Kingdom.
        UkRmmi = "uk_rmmi",
    }
}

/// The period in which an investor may withdraw without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoolingOff {
    /// This many hours after the commitment.
    After(i64),
    /// This many hours after the commitment, but not beyond the end of the offering.
    AfterWithin(i64),
    /// Until this many hours before the end of the offering.
    BeforeClose(i64),
}

/// The requirements of an exemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The cooling-off period.
    pub cooling_off: CoolingOff,
    /// Minimum lockup of tokens, in days.
    pub lockup_days: i64,
    /// Minimum lockup of debt tokens, in days.
    pub debt_lockup_days: i64,
    /// Minimum time that the offering must be open, in days.
    pub open_days_min: i64,
    /// Working days of notice for an earlier end; none if the end needs no notice.
    pub early_end_notice_days: Option<u32>,
    /// Limit on what an issuer raises in twelve months, in minor units.
    pub raise_max: Option<i64>,
    /// Limit on what a non-accredited investor invests.
    pub investor_limit: Option<Limit>,
    /// Limit on the number of non-accredited investors in an offering.
    pub unaccredited_max: Option<i64>,
    /// Waiting time after an investor's first risk warning, in hours.
    pub first_warning_hours: i64,
    /// Whether only accredited investors may subscribe.
    pub accredited_only: bool,
    /// Countries whose residents may not subscribe.
    pub blocked_countries: &'static str,
    /// Whether the offering may be public.
    pub may_be_public: bool,
    /// What an investor must acknowledge.
    pub acknowledgements: &'static [&'static str],
}

const PLAIN: Profile = Profile {
    cooling_off: CoolingOff::After(0),
    lockup_days: 0,
    debt_lockup_days: 0,
    open_days_min: 0,
    early_end_notice_days: None,
    raise_max: None,
    investor_limit: None,
    unaccredited_max: None,
    first_warning_hours: 0,
    accredited_only: false,
    blocked_countries: "",
    may_be_public: true,
    acknowledgements: &[],
};
/// The investor acknowledges that the whole investment can be lost.
const RISK: &[&str] = &["risk_warning"];
const FIVE_MILLION: i64 = 500_000_000;
const YEAR: i64 = 365;

impl Exemption {
    /// The requirements of this exemption.
    pub const fn profile(self) -> Profile {
        match self {
            Self::Default => Profile { cooling_off: CoolingOff::After(336), ..PLAIN },
            Self::UkRmmi => Profile {
                cooling_off: CoolingOff::After(336),
                acknowledgements: RISK,
                first_warning_hours: 24,
                ..PLAIN
            },
            Self::RegCf => Profile {
                cooling_off: CoolingOff::BeforeClose(48),
                lockup_days: YEAR,
                debt_lockup_days: YEAR,
                open_days_min: 21,
                early_end_notice_days: Some(5),
                raise_max: Some(FIVE_MILLION),
                investor_limit: Some(Limit::CrowdfundingYear),
                acknowledgements: RISK,
                ..PLAIN
            },
            Self::RegD506b => Profile {
                lockup_days: YEAR,
                debt_lockup_days: YEAR,
                may_be_public: false,
                unaccredited_max: Some(35),
                ..PLAIN
            },
            Self::RegD506c => Profile { lockup_days: YEAR, debt_lockup_days: YEAR, accredited_only: true, ..PLAIN },
            Self::RegAT2 => Profile { investor_limit: Some(Limit::TenthOfEach), ..PLAIN },
            Self::RegS => Profile { lockup_days: YEAR, debt_lockup_days: 40, blocked_countries: "US", ..PLAIN },
            Self::EuEcsp => Profile {
                cooling_off: CoolingOff::After(96),
                raise_max: Some(FIVE_MILLION),
                acknowledgements: RISK,
                ..PLAIN
            },
            Self::EuMicaOther => Profile { cooling_off: CoolingOff::AfterWithin(336), ..PLAIN },
        }
    }
}

impl Profile {
    /// Cooling-off hours from the commitment, if the law counts from there.
    pub const fn hours(&self) -> Option<i64> {
        match self.cooling_off {
            CoolingOff::After(hours) | CoolingOff::AfterWithin(hours) => Some(hours),
            CoolingOff::BeforeClose(_) => None,
        }
    }

    /// Whether residents of a country may subscribe.
    pub fn admits(&self, code: &str) -> bool {
        !country::is_listed(self.blocked_countries, code)
    }
}

/// The same time of day this number of working days later. Saturdays and Sundays do not count.
pub fn working_days_after(at: DateTime<Utc>, days: u32) -> DateTime<Utc> {
    let (mut at, mut left) = (at, days);
    while left > 0 {
        at += Duration::days(1);
        if !matches!(at.weekday(), Weekday::Sat | Weekday::Sun) {
            left -= 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn working_days_skip_the_weekend() {
        for (from, to) in [("2026-11-02", "2026-11-09"), ("2026-11-05", "2026-11-12"), ("2026-11-07", "2026-11-13")] {
            let midday = |day: &str| at(&format!("{day}T12:00:00Z"));
            assert_eq!(working_days_after(midday(from), 5), midday(to));
        }
    }
}
