//! Ending the freeze of an address. One that was recovered to another wallet stays frozen for ever.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{freeze::frozen_after, operation::MissingEffect, receipt::Receipt, token};

/// Whose freeze ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfreeze {
    /// Whose.
    pub account: Address,
    /// The hash of a document, or nothing.
    pub reference: Bytes,
}

impl Unfreeze {
    /// The call.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::unfreeze(Address::ZERO, token, self.account, self.reference.clone()).data
    }

    /// Whether the address is free after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match frozen_after(receipt, token, self.account) {
            Some(false) => Ok(()),
            Some(true) => Err(MissingEffect(format!("{} was frozen again in the same transaction", self.account))),
            None => Err(MissingEffect(format!("{token} did not say that {} is not frozen", self.account))),
        }
    }
}
