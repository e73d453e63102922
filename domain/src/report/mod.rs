//! Reports: long lists read in independent pages, so that neither memory nor any statement grows with the report.

pub mod cap_table;
pub mod distribution;
pub mod tax;
pub mod transaction;

use chrono::{DateTime, TimeZone, Utc};

use crate::id::OfferingId;

/// The filter of a report.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Only this offering.
    pub offering_id: Option<OfferingId>,
    /// Start of the period, included.
    pub from: DateTime<Utc>,
    /// End of the period, not included.
    pub to: DateTime<Utc>,
}

impl Filter {
    /// A year in UTC, or the whole time.
    pub fn new(offering_id: Option<OfferingId>, year: Option<i32>) -> Self {
        let (first, next) = year.map_or((1970, 9999), |year| (year, year + 1));
        let start = |year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).single().unwrap_or(DateTime::UNIX_EPOCH);
        Self { offering_id, from: start(first), to: start(next) }
    }
}
