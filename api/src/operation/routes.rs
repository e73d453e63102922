//! The endpoints of operations: one row each.

use crate::access::permission::OPERATIONS;
use crate::access::route::{Route, route};

/// The endpoints of operations.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::list, OPERATIONS),
        route!(super::stats, OPERATIONS),
        route!(super::series::read, OPERATIONS),
        route!(super::detail, OPERATIONS),
    ]
}
