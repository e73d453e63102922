//! Payouts: straight from the payer, or through the distributor; and the coin that is paid.
pub mod calldata;
pub mod coin;
pub mod direct;
pub mod distributor;
