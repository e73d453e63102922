//! The actions of operators on operations and signers.

pub mod bulk_retry;
pub mod cancel;
mod chain;
pub mod history;
pub mod import;
mod nonce;
mod proof;
mod queue;
pub mod reconcile;
pub mod reconciliation;
pub mod retry;
mod routes;
pub mod signer;
pub mod speed_up;

pub use routes::routes;
