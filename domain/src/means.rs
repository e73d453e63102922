//! What somebody may put in by what they earn and own, where the law ties it to that. Both are what the person says; currencies count at
//! par, because the platform knows no rates.

use chrono::{DateTime, Months, Utc};

use crate::db::Tx;
use crate::{Result, on};

/// What somebody may put in of whom nothing is known that would allow more, in minor units.
const CROWDFUNDING_LEAST: i64 = 250_000;
/// Whoever earns and owns so much may put in more of it; and more than that nobody.
const CROWDFUNDING_STEP: i64 = 12_400_000;
/// The window over which crowdfunding is counted.
const MONTHS: Months = Months::new(12);

/// What somebody says of themselves, in minor units: a company its revenue and its net assets. What was not said counts as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Means {
    pub annual_income: Option<i64>,
    pub net_worth: Option<i64>,
}

/// How an exemption limits whoever is not accredited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Over twelve months and all offerings for crowdfunding here (17 CFR 227.100(a)(2)).
    CrowdfundingYear,
    /// A tenth, in each offering (17 CFR 230.251(d)(2)(i)(C)).
    TenthOfEach,
}

impl Limit {
    /// What somebody of these means may put in altogether.
    pub fn of(self, means: Means) -> i64 {
        let (income, worth) = (means.annual_income.unwrap_or(0), means.net_worth.unwrap_or(0));
        let (greater, lesser) = (income.max(worth), income.min(worth));
        match self {
            Self::CrowdfundingYear if lesser < CROWDFUNDING_STEP => (greater / 20).max(CROWDFUNDING_LEAST),
            Self::CrowdfundingYear => (greater / 10).min(CROWDFUNDING_STEP),
            Self::TenthOfEach => greater / 10,
        }
    }
}

/// From when on crowdfunding is counted.
pub fn window_from(now: DateTime<Utc>) -> DateTime<Utc> {
    now.checked_sub_months(MONTHS).unwrap_or(DateTime::UNIX_EPOCH)
}

/// What an investor has put into crowdfunding since that time with everybody here, besides one subscription. It is found by the investor:
/// nobody has many.
pub async fn crowdfunded(tx: &mut Tx, investor_id: &str, besides_id: &str) -> Result<i64> {
    let from = window_from(tx.now());
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select cast(coalesce(sum(s.amount), 0) as bigint) from subscriptions s join offerings o on o.id = s.offering_id \
         where s.investor_id = $1 and s.id <> $2 and s.created_at > $3 and o.exemption = 'reg_cf' \
         and s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted')")
        .bind(investor_id).bind(besides_id).bind(from).fetch_one(conn).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: Limit, income: &[i64], worth: &[i64]) -> i64 {
        limit.of(Means { annual_income: income.first().copied(), net_worth: worth.first().copied() })
    }

    #[test]
    fn crowdfunding_lets_the_poorer_put_in_a_twentieth_and_the_richer_a_tenth() {
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
    fn regulation_a_lets_everybody_put_in_a_tenth_of_the_greater() {
        assert_eq!(of(Limit::TenthOfEach, &[], &[]), 0);
        assert_eq!(of(Limit::TenthOfEach, &[8_000_000], &[9_000_000]), 900_000);
    }
}
