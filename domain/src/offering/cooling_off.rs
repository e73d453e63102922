//! The cooling-off period of an offering: what its exemption requires, or more.

use chrono::{DateTime, Duration, Utc};

use super::Offering;
use crate::exemption::CoolingOff;

impl Offering {
    /// The end of the cooling-off period of a commitment. If that is before the commitment, the result is the time of the commitment:
    /// such a commitment cannot be withdrawn, and the caller must say so.
    pub fn cooling_off_expires_at(&self, committed_at: DateTime<Utc>) -> DateTime<Utc> {
        let cooling_off = self.exemption.profile().cooling_off;
        // An issuer can only lengthen the period.
        let after = |hours: i64| committed_at + Duration::hours(self.cooling_off_hours.unwrap_or(hours).max(hours));
        // Without a closing time there is nothing to count back from, so the hours count from the commitment.
        let expires_at = match (cooling_off, self.closes_at) {
            (CoolingOff::BeforeClose(hours), Some(closes_at)) => closes_at - Duration::hours(hours),
            (CoolingOff::AfterWithin(hours), Some(closes_at)) => after(hours).min(closes_at),
            (CoolingOff::After(hours) | CoolingOff::AfterWithin(hours) | CoolingOff::BeforeClose(hours), _) => {
                after(hours)
            }
        };
        expires_at.max(committed_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exemption::Exemption;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn offered(exemption: Exemption, closes_at: &str, hours: Option<i64>) -> Offering {
        Offering { exemption, closes_at: Some(at(closes_at)), cooling_off_hours: hours, ..Offering::default() }
    }

    #[test]
    fn cooling_off_is_at_least_what_the_exemption_requires() {
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
            assert_eq!(offering.cooling_off_expires_at(committed), at(expires), "{exemption} {hours:?}");
        }
    }

    #[test]
    fn a_late_commitment_has_no_cooling_off_if_the_law_counts_back_from_the_end() {
        let late = at("2026-11-29T10:00:00Z");
        let offering = offered(Exemption::RegCf, "2026-11-30T00:00:00Z", None);
        assert_eq!(offering.cooling_off_expires_at(late), late);
    }
}
