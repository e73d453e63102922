//! Lifting the restriction of a partition.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::operation::MissingEffect,
    token::{self, restrict::restricted_after},
};

/// The parameters of a lifted restriction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrestrict {
    /// The partition.
    pub partition: u32,
}

impl Unrestrict {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::unrestrict(Address::ZERO, token, self.partition).data
    }

    /// Checks that the partition is not restricted after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match restricted_after(receipt, token, self.partition) {
            Some(false) => Ok(()),
            _ => Err(MissingEffect(format!(
                "{token} has no event that lifts the restriction of partition {}",
                self.partition
            ))),
        }
    }
}
