//! Investors: identity checks, suspension, erasure and proof of a wallet.

pub mod erasure;
pub mod kyc;
pub mod suspension;
pub mod wallet_proof;
