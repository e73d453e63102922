#![doc = include_str!("../README.md")]

pub mod acknowledgement;
pub mod approval;
pub mod attempt;
pub mod book;
pub mod canonical;
pub mod chain;
pub mod claim;
pub mod clock;
pub mod column;
pub mod contract;
pub mod db;
pub mod error;
pub mod event;
pub mod holding;
pub mod id;
pub mod idempotency;
pub mod investor;
pub mod item;
pub mod lane;
pub mod lease;
pub mod migrate;
pub mod money;
pub mod offering;
pub mod operation;
pub mod payout_day;
pub mod point;
pub mod reason;
mod rows;
pub mod step;
pub mod subscription;
pub mod token;
pub mod token_event;
pub mod user;
pub mod wallet;
pub mod wish;

pub use error::{Code, Error, Result};
