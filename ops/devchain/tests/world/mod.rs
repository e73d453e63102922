//! The fixtures of the tests: a wallet, a contract, and nodes over HTTP.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod anvil;
pub mod contract;
pub mod folder;
pub mod http;
pub mod wallet;
