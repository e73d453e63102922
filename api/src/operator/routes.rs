//! The endpoints of operator actions: one row each.

use super::{
    bulk_retry, cancel, chain, history, import, nonce, proof, queue, reconcile, reconciliation, retry, signer, speed_up,
};
use crate::access::permission::{ADMIN, EXECUTION, OPERATIONS, PERSON};
use crate::access::route::{Rate, Route, route};

/// The endpoints of what operators do.
pub fn routes() -> Vec<Route> {
    vec![
        route!(bulk_retry::handle, EXECUTION).rate(Rate::BulkRetry).requires_idempotency_key(),
        route!(retry::handle, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(reconcile::handle, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(proof::read, OPERATIONS).rate(Rate::TokenRead),
        route!(speed_up::handle, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(cancel::handle, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(history::accept, ADMIN).rate(Rate::OperatorWrite).requires_idempotency_key().step_up(),
        route!(chain::list, OPERATIONS),
        route!(signer::list, OPERATIONS),
        route!(nonce::list, OPERATIONS),
        route!(queue::read, OPERATIONS),
        route!(signer::pause, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(signer::resume, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(import::list, OPERATIONS).rate(Rate::TokenRead),
        route!(import::handle, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key().step_up(),
        route!(reconciliation::list, OPERATIONS),
        route!(reconciliation::start, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(reconciliation::detail, OPERATIONS),
    ]
}
