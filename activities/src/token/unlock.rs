//! Removing expired locks of a holder from the chain. A lock ends by time alone; this only frees the storage.
use alloy::primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::TokenUnlocked,
        operation::{MissingEffect, events},
    },
    token,
};

/// The parameters of an unlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlock {
    /// The holder.
    pub account: Address,
    /// The partition.
    pub partition: u32,
}

impl Unlock {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::unlock(Address::ZERO, token, self.account, self.partition).data
    }

    /// Checks that this transaction removed the locks.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        let ours = |event: &TokenUnlocked| event.account == self.account && event.id == U256::from(self.partition);
        match receipt.success && events::<TokenUnlocked>(receipt, token).any(|event| ours(&event)) {
            true => Ok(()),
            false => Err(MissingEffect(format!("{token} has no event that removes locks of {}", self.account))),
        }
    }
}
