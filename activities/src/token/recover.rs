//! Recovery: moves balances, locks, whitelist entries and freeze of a lost wallet to another wallet, in one transaction.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::AddressRecovered,
        operation::{MissingEffect, events, executed_effect},
    },
    token,
};

/// The parameters of a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The operation number on the token.
    pub op_id: u64,
    /// The lost wallet; it stays frozen permanently.
    pub lost: Address,
    /// The wallet that replaces it.
    pub replacement: Address,
}

impl Recovery {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::recover(Address::ZERO, token, self.lost, self.replacement, self.op_id).data
    }

    /// Checks that this transaction recovered the wallet. Units moved are not compared here: holdings follow the transfer events.
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
