//! Reports: long lists that are read page by page, each page by itself, so that neither memory nor a statement grows with them.

pub mod cap_table;
pub mod distribution;
pub mod tax;
pub mod transaction;

use chrono::{DateTime, TimeZone, Utc};

/// What a report is about.
#[derive(Clone, Debug)]
pub struct Filter {
    /// One offering alone.
    pub offering_id: Option<String>,
    /// From then on.
    pub from: DateTime<Utc>,
    /// Until before then.
    pub to: DateTime<Utc>,
}

impl Filter {
    /// A year of UTC, or all there is.
    pub fn new(offering_id: Option<String>, year: Option<i32>) -> Self {
        let (first, next) = year.map_or((1970, 9999), |year| (year, year + 1));
        let start = |year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).single().unwrap_or(DateTime::UNIX_EPOCH);
        Self { offering_id, from: start(first), to: start(next) }
    }
}
