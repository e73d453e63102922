//! The endpoints of reports: one row each.

use super::{cap_table, distribution, tax, transaction};
use crate::access::permission::AUDIT;
use crate::access::route::{Route, route};

/// The endpoints of reports.
pub fn routes() -> Vec<Route> {
    vec![
        route!(cap_table::read, AUDIT),
        route!(distribution::read, AUDIT),
        route!(transaction::read, AUDIT),
        route!(tax::read, AUDIT),
    ]
}
