//! The endpoints of subscriptions: one row each.

use super::{act, payment, subscribe, wallet};
use crate::access::permission::{
    OFFERINGS, OWN_SUBSCRIPTIONS, PAYMENTS, SUBSCRIBING, SUBSCRIPTIONS, TAKING, WITHDRAWING,
};
use crate::access::route::{Rate, Route, route};

/// The endpoints of subscriptions.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::of_offering, OFFERINGS),
        route!(subscribe::subscribe, SUBSCRIBING).proved_email().rate(Rate::Subscribe).requires_idempotency_key(),
        route!(super::list, SUBSCRIPTIONS).own_rows(),
        route!(super::detail, SUBSCRIPTIONS).own_rows(),
        route!(wallet::change_wallet, OWN_SUBSCRIPTIONS),
        route!(act::cancel, WITHDRAWING),
        route!(act::reconfirm, OWN_SUBSCRIPTIONS),
        route!(payment::list, SUBSCRIPTIONS).own_rows(),
        route!(payment::payments, PAYMENTS).requires_idempotency_key(),
        route!(act::accept, TAKING),
        route!(act::reject, TAKING),
        route!(payment::refund, PAYMENTS).requires_idempotency_key(),
    ]
}
