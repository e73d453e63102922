//! Payouts: straight from the payer, or through the distributor; claims of what it withholds; and the coin that is paid.
pub mod calldata;
pub mod claim;
pub mod coin;
pub mod direct;
pub mod distributor;
