//! The endpoints of webhooks: one row each.

use super::{delivery, endpoint, event};
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
        route!(delivery::test, TELLING),
        route!(delivery::recover, TELLING),
        route!(delivery::redeliver_failed, TELLING),
        route!(delivery::list, TOLD).own_rows(),
        route!(delivery::detail, TOLD).own_rows(),
        route!(delivery::redeliver, TELLING),
        route!(event::list, TOLD).own_rows().waits(),
        route!(event::detail, TOLD).own_rows(),
    ]
}
