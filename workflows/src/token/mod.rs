//! Tokens: deploying them, minting them and reading them.

pub mod deploy;
mod kind;
pub mod mint;
pub mod mint_list;
mod split;
pub mod view;

pub use kind::{DeployToken, Mint};
