//! How many items a list has. Counting a whole table would cost what the table has grown to, so it ends a little behind the page.

use std::ops::RangeInclusive;

/// How far is counted from where the page begins.
const COUNTED_MAX: i64 = 1_000;

/// How many there are, or how many there are at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number.
    pub count: i64,
    /// Whether everything was counted.
    pub exact: bool,
}

impl Total {
    /// What a page itself tells: one that is neither full nor empty is the last. None where it has to be counted.
    pub fn told(rows: usize, limit: i64, offset: i64) -> Option<Self> {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        let last: RangeInclusive<i64> = if offset == 0 { 0..=limit - 1 } else { 1..=limit - 1 };
        last.contains(&rows).then(|| Self::from(offset + rows))
    }

    /// Up to how many are counted for a page that begins here.
    pub const fn bound(offset: i64) -> i64 {
        offset + COUNTED_MAX
    }

    /// What was counted up to that bound.
    pub const fn counted(count: i64, offset: i64) -> Self {
        Self { count, exact: count < Self::bound(offset) }
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
    fn a_page_that_is_not_full_is_the_last_and_tells_the_number() {
        assert_eq!(Total::told(0, 20, 0), Some(Total::from(0)));
        assert_eq!(Total::told(19, 20, 0), Some(Total::from(19)));
        assert_eq!(Total::told(7, 20, 40), Some(Total::from(47)));
        for (rows, offset) in [(20, 0), (20, 40), (0, 40)] {
            assert_eq!(Total::told(rows, 20, offset), None, "{rows} after {offset}");
        }
    }

    #[test]
    fn a_count_that_reached_its_bound_says_that_there_may_be_more() {
        assert_eq!(Total::counted(999, 0), Total { count: 999, exact: true });
        assert_eq!(Total::counted(1_000, 0), Total { count: 1_000, exact: false });
        assert_eq!(Total::counted(1_039, 40), Total { count: 1_039, exact: true });
        assert_eq!(Total::counted(1_040, 40), Total { count: 1_040, exact: false });
    }
}
