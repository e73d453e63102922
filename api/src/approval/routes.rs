//! The endpoints of approvals: one row each.

use super::{decide, simulation};
use crate::access::permission::{APPROVALS, OWN_APPROVAL, PERSON, STAFF};
use crate::access::route::{Route, route};

/// The endpoints of approvals.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::list, APPROVALS),
        route!(super::detail, APPROVALS),
        route!(simulation::simulation, STAFF),
        route!(decide::approve, PERSON).step_up().audits_refusals(),
        route!(decide::reject, PERSON).audits_refusals(),
        route!(decide::cancel, OWN_APPROVAL).audits_refusals(),
    ]
}
