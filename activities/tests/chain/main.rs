//! Tests of the crate's public API: against fake nodes and against anvil.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod agreement;
mod anvil;
mod blocks;
mod contracts;
mod failover;
mod final_block;
mod keys;
mod node;
mod nonsense;
mod sends;
mod server;
mod simulate;
