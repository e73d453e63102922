//! Unfreezing an address. A recovered wallet stays frozen permanently.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::operation::MissingEffect,
    token::{self, freeze::frozen_after},
};

/// The parameters of an unfreeze.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfreeze {
    /// The address.
    pub account: Address,
    /// Hash of a document, or empty.
    pub reference: Bytes,
}

impl Unfreeze {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::unfreeze(Address::ZERO, token, self.account, self.reference.clone()).data
    }

    /// Checks that the address is not frozen after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match frozen_after(receipt, token, self.account) {
            Some(false) => Ok(()),
            Some(true) => Err(MissingEffect(format!("{} was frozen again in the same transaction", self.account))),
            None => Err(MissingEffect(format!("{token} has no event that unfreezes {}", self.account))),
        }
    }
}
