//! The endpoints of issuers: one row each.

use super::member;
use crate::access::permission::{INVITING, MEMBERS, ORGANISATION, PERSON, STAFF};
use crate::access::route::{Route, route};

/// The endpoints of issuers.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::list, STAFF),
        route!(super::detail, ORGANISATION),
        route!(super::approve, PERSON),
        route!(super::suspend, PERSON),
        route!(super::reinstate, PERSON),
        route!(member::list, ORGANISATION),
        route!(member::invite, INVITING).proved_email().step_up(),
        route!(member::remove, MEMBERS).step_up(),
    ]
}
