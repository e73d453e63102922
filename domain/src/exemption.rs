//! The exemptions under which something is offered, each a row of one table: what the law asks for at the least. An issuer may only
//! tighten. Not legal advice; `VERSION` changes with every change of the table.

use chrono::{DateTime, Datelike, Duration, Utc, Weekday};

use crate::country;
use crate::means::Limit;
use crate::offering::Offering;

/// The version of the table, for whoever has to show later by which rules something was decided.
pub const VERSION: i64 = 3;

/// The longest cooling-off time that can be asked for.
pub const COOLING_OFF_HOURS_MAX: i64 = 1_440;

crate::words! {
    /// Under which rules something is offered.
    Exemption {
        /// None in particular: the platform's own rules.
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

/// Until when somebody may withdraw without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoolingOff {
    /// So many hours from the commitment on.
    After(i64),
    /// The same, but not beyond the end of the offering.
    AfterWithin(i64),
    /// Until so many hours before the end of the offering.
    BeforeClose(i64),
}

/// What an exemption asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Until when somebody may withdraw.
    pub cooling_off: CoolingOff,
    /// How long tokens stay locked at the least, in days.
    pub lockup_days: i64,
    /// The same where what is offered is debt.
    pub debt_lockup_days: i64,
    /// How long the offering must be open at the least, in days.
    pub open_days_min: i64,
    /// How many working days ahead an earlier end has to be said; none where it cannot be moved back.
    pub early_end_notice_days: Option<u32>,
    /// The most that an issuer may raise in twelve months, in minor units.
    pub raise_max: Option<i64>,
    /// How much whoever is not accredited may put in.
    pub investor_limit: Option<Limit>,
    /// How many investors may be in an offering who are not accredited.
    pub unaccredited_max: Option<i64>,
    /// How long somebody who was never warned of the risk before has to think about it first, in hours.
    pub first_warning_hours: i64,
    /// Whether only accredited investors may subscribe.
    pub accredited_only: bool,
    /// Whose residents may never subscribe.
    pub blocked_countries: &'static str,
    /// Whether it may be shown to everybody.
    pub may_be_public: bool,
    /// What an investor has to say to have understood.
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
/// That everything may be lost.
const RISK: &[&str] = &["risk_warning"];
const FIVE_MILLION: i64 = 500_000_000;
const YEAR: i64 = 365;

impl Exemption {
    /// Its row of the table.
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
    /// The hours from the commitment on, where the law counts from there.
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

/// Until when a commitment of that time can be withdrawn. Where that has passed before it began, it is the commitment's own time: such a
/// commitment cannot be withdrawn, and whoever shows it must say so.
pub fn cooling_off_expires_at(offering: &Offering, committed_at: DateTime<Utc>) -> DateTime<Utc> {
    let cooling_off = offering.exemption.profile().cooling_off;
    let after = |hours: i64| committed_at + Duration::hours(offering.cooling_off_hours.unwrap_or(hours).max(hours));
    let expires_at = match (cooling_off, offering.closes_at) {
        (CoolingOff::BeforeClose(hours), Some(closes_at)) => closes_at - Duration::hours(hours),
        (CoolingOff::AfterWithin(hours), Some(closes_at)) => after(hours).min(closes_at),
        (CoolingOff::After(hours) | CoolingOff::AfterWithin(hours) | CoolingOff::BeforeClose(hours), _) => after(hours),
    };
    expires_at.max(committed_at)
}

/// The same time of day so many working days later; Saturdays and Sundays are none.
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

    fn offered(exemption: Exemption, closes_at: &str, hours: Option<i64>) -> Offering {
        Offering { exemption, closes_at: Some(at(closes_at)), cooling_off_hours: hours, ..Offering::default() }
    }

    #[test]
    fn the_time_to_withdraw_is_what_the_exemption_says_or_longer() {
        let committed = at("2026-11-02T10:00:00Z");
        for (exemption, hours, expires) in [
            (Exemption::Default, None, "2026-11-16T10:00:00Z"),
            (Exemption::Default, Some(400), "2026-11-19T02:00:00Z"),
            (Exemption::Default, Some(1), "2026-11-16T10:00:00Z"),
            (Exemption::RegCf, None, "2026-11-28T00:00:00Z"),
            (Exemption::RegD506b, None, "2026-11-02T10:00:00Z"),
            (Exemption::RegD506c, Some(24), "2026-11-03T10:00:00Z"),
            (Exemption::RegAT2, None, "2026-11-02T10:00:00Z"),
            (Exemption::RegS, None, "2026-11-02T10:00:00Z"),
            (Exemption::EuEcsp, None, "2026-11-06T10:00:00Z"),
            (Exemption::EuMicaOther, None, "2026-11-16T10:00:00Z"),
            (Exemption::EuMicaOther, Some(1_000), "2026-11-30T00:00:00Z"),
            (Exemption::UkRmmi, None, "2026-11-16T10:00:00Z"),
        ] {
            let offering = offered(exemption, "2026-11-30T00:00:00Z", hours);
            assert_eq!(cooling_off_expires_at(&offering, committed), at(expires), "{exemption} {hours:?}");
        }
    }

    #[test]
    fn a_late_commitment_cannot_be_withdrawn_where_the_law_counts_back_from_the_end() {
        let late = at("2026-11-29T10:00:00Z");
        let offering = offered(Exemption::RegCf, "2026-11-30T00:00:00Z", None);
        assert_eq!(cooling_off_expires_at(&offering, late), late);
    }

    #[test]
    fn working_days_skip_the_weekend() {
        for (from, to) in [("2026-11-02", "2026-11-09"), ("2026-11-05", "2026-11-12"), ("2026-11-07", "2026-11-13")] {
            let midday = |day: &str| at(&format!("{day}T12:00:00Z"));
            assert_eq!(working_days_after(midday(from), 5), midday(to));
        }
    }
}
