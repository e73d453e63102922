//! Recovery: everything of a lost wallet (balances, locks, whitelist, freeze) becomes another wallet's, in one transaction.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::token::PlatformSecurityToken7518::AddressRecovered,
    operation::{MissingEffect, events, executed_effect},
    receipt::Receipt,
    token,
};

/// Which wallet follows which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The operation id on the token.
    pub op_id: u64,
    /// The wallet that is lost; it stays frozen for ever.
    pub lost: Address,
    /// The wallet that follows it.
    pub replacement: Address,
}

impl Recovery {
    /// The call.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::recover(Address::ZERO, token, self.lost, self.replacement, self.op_id).data
    }

    /// Whether this transaction moved the wallet. What it held is in the events of each partition, which the holdings follow.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let moved = events::<AddressRecovered>(receipt, token)
            .any(|event| (event.lost, event.replacement) == (self.lost, self.replacement));
        match receipt.success && moved {
            true => Ok(()),
            false => Err(MissingEffect(format!("{} was not recovered to {}", self.lost, self.replacement))),
        }
    }
}
