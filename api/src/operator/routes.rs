//! The endpoints of operator actions: one row each.

use super::{bulk_retry, cancel, reconcile, reconciliation, retry, signer, speed_up};
use crate::access::permission::{EXECUTION, OPERATIONS, PERSON};
use crate::access::route::{Rate, Route, route};

/// The endpoints of what operators do.
pub fn routes() -> Vec<Route> {
    vec![
        route!(bulk_retry::handle, EXECUTION).rate(Rate::BulkRetry).requires_idempotency_key(),
        route!(retry::handle, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(reconcile::handle, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(speed_up::handle, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(cancel::handle, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(signer::list, OPERATIONS),
        route!(signer::pause, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(signer::resume, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(reconciliation::list, OPERATIONS),
        route!(reconciliation::start, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(reconciliation::detail, OPERATIONS),
    ]
}
