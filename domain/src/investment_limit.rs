//! Investment limits that the law ties to income and net worth. Both figures are the investor's own declaration. Currencies count at
//! par, because the platform has no exchange rates.

use chrono::{DateTime, Months, Utc};

/// The crowdfunding limit of an investor without declared income or net worth, in minor units.
const CROWDFUNDING_LEAST: i64 = 250_000;
/// With at least this income and net worth the higher rate applies; it is also the highest limit.
const CROWDFUNDING_STEP: i64 = 12_400_000;
/// The period over which crowdfunding investments are counted.
const MONTHS: Months = Months::new(12);

/// Declared income and net worth in minor units; for a company its revenue and net assets. An undeclared figure counts as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Finances {
    pub annual_income: Option<i64>,
    pub net_worth: Option<i64>,
}

/// How an exemption limits investors who are not accredited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Over twelve months and all crowdfunding offerings on this platform (17 CFR 227.100(a)(2)).
    CrowdfundingYear,
    /// A tenth of income or net worth in each offering (17 CFR 230.251(d)(2)(i)(C)).
    TenthOfEach,
}

impl Limit {
    /// The limit for an investor with these means, in minor units.
    pub fn of(self, means: Finances) -> i64 {
        let (income, worth) = (means.annual_income.unwrap_or(0), means.net_worth.unwrap_or(0));
        let (greater, lesser) = (income.max(worth), income.min(worth));
        match self {
            Self::CrowdfundingYear if lesser < CROWDFUNDING_STEP => (greater / 20).max(CROWDFUNDING_LEAST),
            Self::CrowdfundingYear => (greater / 10).min(CROWDFUNDING_STEP),
            Self::TenthOfEach => greater / 10,
        }
    }
}

/// The start of the crowdfunding period.
pub fn crowdfunding_start(now: DateTime<Utc>) -> DateTime<Utc> {
    now.checked_sub_months(MONTHS).unwrap_or(DateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: Limit, income: &[i64], worth: &[i64]) -> i64 {
        limit.of(Finances { annual_income: income.first().copied(), net_worth: worth.first().copied() })
    }

    #[test]
    fn the_crowdfunding_limit_is_a_twentieth_or_with_higher_means_a_tenth() {
        for (income, worth, limit) in [
            (&[][..], &[][..], 250_000),
            (&[0], &[0], 250_000),
            (&[4_000_000], &[1_000_000], 250_000),
            (&[8_000_000], &[], 400_000),
            (&[12_399_999], &[50_000_000], 2_500_000),
            (&[50_000_000], &[12_399_999], 2_500_000),
            (&[12_400_000], &[12_400_000], 1_240_000),
            (&[12_400_000], &[100_000_000], 10_000_000),
            (&[200_000_000], &[300_000_000], 12_400_000),
        ] {
            assert_eq!(of(Limit::CrowdfundingYear, income, worth), limit, "{income:?} {worth:?}");
        }
    }

    #[test]
    fn the_regulation_a_limit_is_a_tenth_of_the_greater_figure() {
        assert_eq!(of(Limit::TenthOfEach, &[], &[]), 0);
        assert_eq!(of(Limit::TenthOfEach, &[8_000_000], &[9_000_000]), 900_000);
    }
}
