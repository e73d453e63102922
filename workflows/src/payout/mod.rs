//! Payout: an approved list becomes operations. A direct payout has one operation for each page, and each page succeeds or fails by itself.
//! A payout through the distributor is one operation, because the contract accepts the pages of a list only in order.
//!
//! # A payday
//!
//! 1. **Draft and snapshot.** `POST /v1/distributions` writes a draft. The snapshot finds the last final block of the record date and
//!    compares the ledger's balances at it with the chain's supply at that block, by its hash. Until both agree it stays `snapshotting`
//!    with the reason.
//! 2. **Record date.** A date without a time ends in the offering's time zone (`utc_offset_minutes`). On a chain that mines on demand
//!    (block time at most a second), five seconds without a block show that no further block belongs to the date.
//! 3. **Calculation.** The amount is split by the largest remainder, tax is withheld, payees who cannot be paid now are held, and one
//!    Merkle root fixes the list.
//! 4. **Approval.** `submit` binds snapshot, root, coin, payer and list into one hash. From the threshold on (summed over an offering and a
//!    day, like mints), a second person approves exactly this hash. An issuer can go this far for its own offerings; its answers name no
//!    platform wallet and no operation.
//! 5. **Execution.** `execute` refuses a changed list. `funding` asks the chain before the transaction for coin, allowance and gas. The
//!    first time a contract pulls from a payer, an unlimited allowance goes first: our contracts pull only from their caller.
//! 6. **Proof.** A line is paid when the coin shows a `Transfer` of exactly its amount. The distributor keeps the amount of a frozen
//!    holder: the entitlement is `held` and can be claimed, alone or with all others of the distribution (`claim`).
//! 7. **Split.** A page that would fail because of some lines is cut before signing (`split`), so the others are paid.
//! 8. **Failure.** An operation that is given up leaves its entitlements `failed`. `reissue` puts one, or a list of them, into new
//!    operations. A receipt's key is its entitlement, so there is never a second one.
//! 9. **Partial effect.** A call executed without its whole effect is given up line by line, by two people (`shortfall`). A list whose
//!    pages cannot be finished is ended early (`reclaim`): the distributor returns the money of the unpaid pages.

pub mod allowance;
pub mod approval;
pub mod claim;
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
pub(crate) mod withheld;

pub use kind::{AuditDeclaration, DirectPayout, DistributorPayout};
pub use payment::{
    Accepted, LINES_MAX, due, execute, fall_short, finish, give_up, insert, items, lines, new_operation, page_step,
    pay, pay_approved, payload, resume, settle, step,
};
