//! What the tests are made of: a wallet, a contract, and nodes that are asked over HTTP.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod anvil;
pub mod contract;
pub mod folder;
pub mod http;
pub mod wallet;
