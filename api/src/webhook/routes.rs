//! The endpoints of webhooks: one row each.

use super::{endpoint, event};
use crate::access::permission::{Access, TELLING, TOLD};
use crate::access::route::{Route, route};

/// The endpoints of webhooks.
pub fn routes() -> Vec<Route> {
    vec![
        route!(event::types, Access::Public),
        route!(endpoint::list, TOLD).own_rows(),
        route!(endpoint::create, TELLING).proved_email().answers_secret(),
        route!(endpoint::detail, TOLD).own_rows(),
        route!(endpoint::change, TELLING),
        route!(endpoint::remove, TELLING),
        route!(endpoint::rotate, TELLING).answers_secret(),
        route!(event::list, TOLD).own_rows(),
        route!(event::detail, TOLD).own_rows(),
    ]
}
