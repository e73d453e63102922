//! The operator's moves on operations that need a person: retry, mark confirmed, abandon, cancel, close a nonce and speed up.
//!
//! 1. `POST /blockchain/operations/{id}/retry` (`api/src/operator/retry.rs`) calls `retry::decide` first. With no transaction open, it asks
//!    the chain at its final block everything that the retry check needs.
//! 2. One commit writes the move, its history and the idempotent answer, guarded by the version that was read. If somebody moved the
//!    operation meanwhile, it is decided again.
//! 3. Mark confirmed and abandon work the same way, with the confirmation proof and the abandon check. `api::change` has this loop.
//! 4. A move that needs a key or waits its turn (a higher fee, a nonce to cancel, one of many retries) becomes a command: a row and a wake.
//!    A worker carries it out, and the commit of the effect completes the command, so that it is done once.

pub mod abandon;
pub mod act;
pub(crate) mod attention;
pub mod bulk_retry;
pub mod cancel;
pub mod carry_out;
pub mod chain_history;
pub mod close_nonce;
pub mod command;
pub mod lane;
pub mod mark_confirmed;
pub mod post_state;
pub mod retry;
pub mod speed_up;
pub mod suggestion;
