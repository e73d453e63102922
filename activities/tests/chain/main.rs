//! The crate from outside: against small nodes that lie, and against anvil.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod agreement;
mod anvil;
mod blocks;
mod contracts;
mod failover;
mod keys;
mod node;
mod nonsense;
mod sends;
mod server;
