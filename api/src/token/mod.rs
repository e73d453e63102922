//! Tokens of offerings: deployment, minting, and what the contract says.

pub mod deploy;
pub mod mint;
mod mint_preview;
mod routes;
pub mod view;

pub use routes::routes;
