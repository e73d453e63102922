//! The endpoints of distributions: one row each.

use super::{act, claim, create, entitlement, execute, reissue, report};
use crate::access::permission::{AUDITING, DISTRIBUTING, DISTRIBUTIONS, ORG_DISTRIBUTIONS, OWN_DISTRIBUTIONS, PERSON};
use crate::access::route::{Route, route};

/// The endpoints of distributions.
pub fn routes() -> Vec<Route> {
    vec![
        route!(super::list, OWN_DISTRIBUTIONS).own_rows(),
        route!(super::detail, OWN_DISTRIBUTIONS).own_rows(),
        route!(entitlement::list, ORG_DISTRIBUTIONS).own_rows(),
        route!(report::report, DISTRIBUTIONS).own_rows(),
        route!(create::create, DISTRIBUTING).requires_idempotency_key(),
        route!(act::snapshot, DISTRIBUTING).requires_idempotency_key(),
        route!(act::calculate, DISTRIBUTING).requires_idempotency_key(),
        route!(act::submit, DISTRIBUTING).requires_idempotency_key(),
        route!(execute::execute, PERSON).requires_idempotency_key(),
        route!(act::cancel, DISTRIBUTING).requires_idempotency_key(),
        route!(act::reclaim, PERSON).requires_idempotency_key(),
        route!(reissue::reissue, PERSON).requires_idempotency_key(),
        route!(claim::claim_withheld, PERSON).requires_idempotency_key(),
        route!(act::declare_audit, AUDITING).requires_idempotency_key(),
        route!(entitlement::hold, PERSON).requires_idempotency_key(),
        route!(entitlement::release, PERSON).requires_idempotency_key(),
        route!(entitlement::exclude, PERSON).requires_idempotency_key(),
        route!(entitlement::reissue, PERSON).requires_idempotency_key(),
    ]
}
