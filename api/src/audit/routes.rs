//! The endpoints of the audit log: one row each.

use super::proof;
use crate::access::permission::AUDIT;
use crate::access::route::{Route, route};

/// The endpoints of the audit log.
pub fn routes() -> Vec<Route> {
    vec![route!(super::list, AUDIT), route!(super::verify, AUDIT), route!(proof::handle, AUDIT)]
}
