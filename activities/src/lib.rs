#![doc = include_str!("../README.md")]

pub mod account;
pub mod bindings;
pub mod block;
mod calls;
pub mod chain;
pub mod classify;
pub mod config;
pub mod contact;
mod decimal;
pub mod endpoint;
pub mod errors;
pub mod factory;
pub mod fault;
pub mod fees;
pub mod gas;
pub mod heads;
pub mod line;
pub mod logs;
pub mod mint;
pub mod operation;
pub mod payout;
pub mod platform;
pub mod policy;
pub mod receipt;
mod redact;
pub mod registry;
pub mod revert;
mod rpc;
pub mod send;
pub mod signer;
pub mod simulate;
pub mod token;
pub mod transaction;
mod wire;

pub use wire::Node;
