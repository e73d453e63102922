//! Payout: an approved list becomes operations. A direct payout has one operation for each page, and each page succeeds or fails by itself.
//! A payout through the distributor is one operation, because the contract accepts the pages of a list only in order.

pub mod allowance;
pub mod approval;
pub mod distribution;
pub mod distributor;
pub mod entitlement;
pub mod funding;
mod kind;
pub(crate) mod payee;
pub mod payer;
mod payment;
pub mod reclaim;
pub(crate) mod record_block;
pub mod reissue;
pub mod shortfall;
pub mod snapshot;
pub(crate) mod split;

pub use kind::{AuditDeclaration, DirectPayout, DistributorPayout};
pub use payment::{
    Accepted, LINES_MAX, due, execute, fall_short, finish, give_up, insert, items, lines, new_operation, page_step,
    pay, payload, settle, step,
};
