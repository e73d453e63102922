//! Taking the locks of a holder that are due off the books. A lock ends by time alone; this tidies up what is written on the chain.
use alloy::primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::token::PlatformSecurityToken7518::TokenUnlocked,
    operation::{MissingEffect, events},
    receipt::Receipt,
    token,
};

/// Whose due locks go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlock {
    /// Whose.
    pub account: Address,
    /// The partition.
    pub partition: u32,
}

impl Unlock {
    /// The call.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::unlock(Address::ZERO, token, self.account, self.partition).data
    }

    /// Whether this transaction took them off.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        let ours = |event: &TokenUnlocked| event.account == self.account && event.id == U256::from(self.partition);
        match receipt.success && events::<TokenUnlocked>(receipt, token).any(|event| ours(&event)) {
            true => Ok(()),
            false => Err(MissingEffect(format!("{token} did not say that locks of {} are gone", self.account))),
        }
    }
}
