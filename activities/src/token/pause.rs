//! Pausing a token: holders cannot transfer or redeem, and nothing is minted. A repeated pause changes nothing and emits the event again.
use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolEvent;
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::{Paused, Unpaused},
        operation::MissingEffect,
    },
    token,
};

/// A pause has no parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {}

impl Pause {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::pause(Address::ZERO, token).data
    }

    /// Checks that the token is paused after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match paused_after(receipt, token) {
            Some(true) => Ok(()),
            _ => Err(MissingEffect(format!("{token} has no event that pauses it"))),
        }
    }
}

/// Whether the token is paused after this transaction: its last event decides. None if there is no such event.
pub(crate) fn paused_after(receipt: &Receipt, token: Address) -> Option<bool> {
    let logs = receipt.logs.iter().filter(|log| receipt.success && log.address == token);
    let states = logs.filter_map(|log| match log.topics.first() {
        Some(&Paused::SIGNATURE_HASH) => Some(true),
        Some(&Unpaused::SIGNATURE_HASH) => Some(false),
        _ => None,
    });
    states.last()
}
