//! The crate from outside: against small nodes that lie, and against anvil.
mod agreement;
mod anvil;
mod blocks;
mod contracts;
mod failover;
mod keys;
mod node;
mod sends;
mod server;
