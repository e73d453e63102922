//! The endpoints of offerings: one row each.

use super::{act, detail, document, holder, list, timeline, write};
use crate::access::permission::{ARCHIVE, Access, OFFERING, OFFERING_END, OFFERING_LIST, OFFERINGS, PERSON};
use crate::access::route::{Route, route};

/// The endpoints of offerings.
pub fn routes() -> Vec<Route> {
    vec![
        route!(holder::list, OFFERINGS),
        route!(list::list, OFFERING_LIST).opened_by_configuration(),
        route!(write::create, OFFERING),
        route!(detail::detail, Access::Public),
        route!(write::change, OFFERING),
        route!(act::submit, OFFERING),
        route!(act::approve, PERSON),
        route!(act::request_changes, PERSON),
        route!(act::publish, OFFERING),
        route!(act::pause, OFFERING),
        route!(act::resume, OFFERING),
        route!(act::reopen, OFFERING),
        route!(act::close, OFFERING),
        route!(act::cancel, OFFERING_END),
        route!(act::archive, ARCHIVE),
        route!(act::material_change, OFFERING),
        route!(document::list, Access::Public),
        route!(document::add, OFFERING),
        route!(timeline::timeline, OFFERINGS),
    ]
}
