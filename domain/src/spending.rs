//! How fast a signer spends its gas, from what its balance lost between two looks.

use alloy_primitives::U256;
use chrono::{DateTime, Duration, Utc};

/// After so long both sides of the rate are halved: it stays the same, and the last days count most.
const WINDOW_DAYS: i64 = 7;
/// A shorter time says nothing about a day.
const LEAST_MINUTES: i64 = 60;
const DAY_SECONDS: i64 = 86_400;

/// What was spent since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// In wei.
    pub wei: U256,
    /// Since when.
    pub since: DateTime<Utc>,
}

impl Spending {
    /// What is known after another look at the balance. A balance that rose was filled up.
    pub fn after(self, before: Option<U256>, balance: U256, now: DateTime<Utc>) -> Self {
        let wei = self.wei.saturating_add(before.unwrap_or(balance).saturating_sub(balance));
        let span = now - self.since;
        match span > Duration::days(WINDOW_DAYS) {
            true => Self { wei: wei / U256::from(2), since: now - span / 2 },
            false => Self { wei, since: self.since },
        }
    }

    /// Spent a day. None before there is enough to say so.
    pub fn wei_per_day(&self, now: DateTime<Utc>) -> Option<U256> {
        let seconds = (now - self.since).num_seconds();
        let span = U256::from(u64::try_from(seconds).ok().filter(|_| seconds >= LEAST_MINUTES * 60)?);
        Some(self.wei.saturating_mul(U256::from(DAY_SECONDS)) / span)
    }

    /// How many hours a balance lasts at this pace. None if nothing is spent, or too little is known.
    pub fn hours_left(&self, balance: U256, now: DateTime<Utc>) -> Option<i64> {
        let a_day = self.wei_per_day(now).filter(|wei| !wei.is_zero())?;
        Some(i64::try_from(balance.saturating_mul(U256::from(24)) / a_day).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + Duration::hours(hours)
    }

    fn wei(value: u64) -> U256 {
        U256::from(value)
    }

    #[test]
    fn what_is_left_lasts_as_long_as_it_did_so_far() {
        let start = Spending { wei: U256::ZERO, since: at(0) };
        let spent = start.after(Some(wei(1_000)), wei(900), at(12));
        assert_eq!(spent.wei_per_day(at(12)), Some(wei(200)));
        assert_eq!(spent.hours_left(wei(900), at(12)), Some(108));
        assert_eq!(start.hours_left(wei(900), at(12)), None, "nothing was spent");
        assert_eq!(spent.wei_per_day(at(0)), None, "it is too early");
    }

    #[test]
    fn a_balance_that_was_filled_up_spent_nothing() {
        let spent = Spending { wei: wei(7), since: at(0) }.after(Some(wei(10)), wei(5_000), at(1));
        assert_eq!(spent, Spending { wei: wei(7), since: at(0) });
    }

    #[test]
    fn after_a_week_the_last_days_count_most_and_the_pace_stays() {
        let spent = Spending { wei: wei(800), since: at(0) }.after(None, wei(5), at(200));
        assert_eq!(spent, Spending { wei: wei(400), since: at(100) });
        assert_eq!(spent.wei_per_day(at(200)), Some(wei(96)));
    }
}
