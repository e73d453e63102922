//! The endpoints of tokens: one row each.

use super::{deploy, mint, mint_preview, view};
use crate::access::permission::{Access, EXECUTION, OPERATIONS, TOKENS};
use crate::access::route::{Rate, Route, route};

/// The endpoints of tokens.
pub fn routes() -> Vec<Route> {
    vec![
        route!(deploy::deploy_token, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(mint::trigger_mint, EXECUTION).rate(Rate::OperatorWrite).requires_idempotency_key(),
        route!(mint_preview::read, OPERATIONS).rate(Rate::TokenRead),
        route!(view::fact::facts, Access::Public).rate(Rate::TokenRead),
        route!(view::holder::can_transfer, TOKENS).rate(Rate::TokenRead),
        route!(view::holder::balances, TOKENS).rate(Rate::TokenRead),
        route!(view::fact::restriction, Access::Public).rate(Rate::TokenRead),
        route!(view::holder::frozen, TOKENS).rate(Rate::TokenRead),
    ]
}
