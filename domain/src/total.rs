//! The number of items in a list, by one of two rules.
//!
//! Offerings, subscriptions, investors, users, operations and audit entries grow with the platform. For them counting stops a little after
//! the page, because a full count would cost as much as the table is large; the answer then has `total_is_exact: false`. All other lists hold
//! what people make by hand, or belong to one parent, such as the entitlements of a distribution. They are counted whole, so that `total` and
//! `total_pages` are exact wherever that is cheap.

use std::ops::RangeInclusive;

use crate::Result;
use crate::db::Tx;
use crate::sql::Sql;

/// How many items are counted from the beginning of the page.
const COUNTED_MAX: i64 = 1_000;

/// A number of items, exact or a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number counted.
    pub count: i64,
    /// Whether all items were counted.
    pub exact: bool,
}

impl Total {
    /// The total if the page itself shows it: a page that is neither full nor empty is the last. None if a count is needed.
    pub fn from_page(rows: usize, limit: i64, offset: i64) -> Option<Self> {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        // An empty page after the first can lie far behind the end, so it shows no total.
        let last: RangeInclusive<i64> = if offset == 0 { 0..=limit - 1 } else { 1..=limit - 1 };
        last.contains(&rows).then(|| Self::from(offset + rows))
    }

    /// Where counting stops for a page that begins at this offset.
    pub const fn bound(offset: i64) -> i64 {
        offset + COUNTED_MAX
    }

    /// Runs `select count(*) from (select 1 from …`, which it ends with the limit for a page that begins here.
    pub async fn count(tx: &mut Tx, unfinished: Sql, offset: i64) -> Result<Self> {
        Self::count_up_to(tx, unfinished, Self::bound(offset)).await
    }

    /// Runs such a statement with this limit, whatever the page.
    pub async fn count_up_to(tx: &mut Tx, unfinished: Sql, bound: i64) -> Result<Self> {
        let counted = unfinished.with(" limit ", bound).push(") as counted");
        Ok(Self::counted(counted.scalar(tx).await?, bound))
    }

    const fn counted(count: i64, bound: i64) -> Self {
        Self { count, exact: count < bound }
    }
}

impl From<i64> for Total {
    fn from(count: i64) -> Self {
        Self { count, exact: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_full_shows_the_total() {
        assert_eq!(Total::from_page(0, 20, 0), Some(Total::from(0)));
        assert_eq!(Total::from_page(19, 20, 0), Some(Total::from(19)));
        assert_eq!(Total::from_page(7, 20, 40), Some(Total::from(47)));
        for (rows, offset) in [(20, 0), (20, 40), (0, 40)] {
            assert_eq!(Total::from_page(rows, 20, offset), None, "{rows} after {offset}");
        }
    }

    #[test]
    fn a_count_that_reaches_its_bound_is_not_exact() {
        assert_eq!(Total::counted(999, Total::bound(0)), Total { count: 999, exact: true });
        assert_eq!(Total::counted(1_000, Total::bound(0)), Total { count: 1_000, exact: false });
        assert_eq!(Total::counted(1_039, Total::bound(40)), Total { count: 1_039, exact: true });
        assert_eq!(Total::counted(1_040, Total::bound(40)), Total { count: 1_040, exact: false });
    }
}
