//! Points in time as people enter them: a day in the time zone of its offering, or an exact time.

use chrono::{DateTime, Duration, NaiveDate, NaiveTime, Utc};

/// The range of UTC offsets, in minutes.
pub const UTC_OFFSET_MINUTES: std::ops::RangeInclusive<i64> = -720..=840;

/// A day or an exact time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrTime {
    /// The whole day.
    Day(NaiveDate),
    /// This time.
    Exact(DateTime<Utc>),
}

impl DateOrTime {
    /// The last second, for this UTC offset.
    pub fn last(self, utc_offset_minutes: i64) -> DateTime<Utc> {
        self.at(NaiveTime::from_hms_opt(23, 59, 59).unwrap_or_default(), utc_offset_minutes)
    }

    /// The first second, for this UTC offset.
    pub fn first(self, utc_offset_minutes: i64) -> DateTime<Utc> {
        self.at(NaiveTime::MIN, utc_offset_minutes)
    }

    fn at(self, time: NaiveTime, utc_offset_minutes: i64) -> DateTime<Utc> {
        match self {
            Self::Day(day) => day.and_time(time).and_utc() - Duration::minutes(utc_offset_minutes),
            Self::Exact(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_and_ends_in_the_time_zone_of_its_offering() {
        let day = DateOrTime::Day("2026-12-31".parse().unwrap());
        for (offset, first, last) in [
            (0, "2026-12-31T00:00:00+00:00", "2026-12-31T23:59:59+00:00"),
            (60, "2026-12-30T23:00:00+00:00", "2026-12-31T22:59:59+00:00"),
            (-210, "2026-12-31T03:30:00+00:00", "2027-01-01T03:29:59+00:00"),
            (840, "2026-12-30T10:00:00+00:00", "2026-12-31T09:59:59+00:00"),
        ] {
            assert_eq!((day.first(offset).to_rfc3339(), day.last(offset).to_rfc3339()), (first.into(), last.into()));
        }
        let exact = DateOrTime::Exact("2026-12-31T11:00:00Z".parse().unwrap());
        assert_eq!((exact.first(840), exact.last(-720)), (exact.last(0), exact.first(0)));
    }
}
