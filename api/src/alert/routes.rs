//! The endpoints of alerts: one row each.

use crate::access::permission::OWN;
use crate::access::route::{Route, route};

/// The endpoints of alerts.
pub fn routes() -> Vec<Route> {
    vec![route!(super::read, OWN).own_account(), route!(super::replace, OWN).own_account()]
}
