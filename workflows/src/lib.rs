#![doc = include_str!("../README.md")]

pub mod approval;
pub mod approval_request;
pub mod compliance;
pub mod engine;
pub mod investor;
mod limits;
pub mod offering;
pub mod operations;
pub mod operator;
pub mod payout;
pub mod platform;
pub mod reconciliation;
pub mod requester;
pub mod settings;
pub mod staff;
pub mod subscription;
pub mod token;
