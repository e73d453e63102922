//! Tokens: deploying them, minting them and reading them.

pub mod deploy;
pub mod mint;
pub mod mint_list;
pub(crate) mod split;
pub mod view;
