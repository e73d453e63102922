#![doc = include_str!("../README.md")]

pub mod account;
pub mod block;
mod calls;
pub mod chain;
pub mod classify;
pub mod config;
pub mod endpoint;
pub mod errors;
pub mod fault;
pub mod fees;
pub mod gas;
pub mod line;
pub mod logs;
pub mod payout;
pub mod policy;
pub mod receipt;
mod redact;
pub mod revert;
mod rpc;
pub mod send;
pub mod signer;
pub mod simulate;
pub mod transaction;
mod wire;
pub use wire::Node;
