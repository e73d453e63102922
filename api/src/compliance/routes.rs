//! The endpoints of compliance: one row each.

use crate::access::permission::{FREEZE, PERSON};
use crate::access::route::{Rate, Route, route};

/// The endpoints of compliance.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::freeze, FREEZE).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::unfreeze, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::lock, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::unlock, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::restrict, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::unrestrict, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::release_lock, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::pause, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::unpause, PERSON).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::redeem, PERSON).step_up().rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::reinstate, PERSON).step_up().rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::force_transfer, PERSON).step_up().rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(super::recover, PERSON).step_up().rate(Rate::OperatorWrite).requires_idempotency_key(),
    ]
}
