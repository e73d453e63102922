#![doc = include_str!("../README.md")]

pub mod balance;
pub mod chain;
pub mod config;
pub mod contract;
pub mod decode;
pub mod delivery;
pub mod fault;
pub mod payout;
pub mod platform;
pub mod revert;
pub mod rpc;
pub mod signer;
pub mod token;
pub mod wallet_proof;

pub use rpc::transport::Node;
