//! Freezing an address: it cannot send, receive, be minted to or be paid. A repeated freeze changes nothing and emits the event again.
use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolEvent;
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::{AddressFrozen, AddressRecovered, AddressUnfrozen},
        operation::MissingEffect,
    },
    token,
};

/// The parameters of a freeze.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// The address.
    pub account: Address,
    /// Hash of a document, or empty. The chain is public, so it holds no text about the person.
    pub reference: Bytes,
}

impl Freeze {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::freeze(Address::ZERO, token, self.account, self.reference.clone()).data
    }

    /// Checks that the address is frozen after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match frozen_after(receipt, token, self.account) {
            Some(true) => Ok(()),
            Some(false) => Err(MissingEffect(format!("{} was unfrozen again in the same transaction", self.account))),
            None => Err(MissingEffect(format!("{token} has no event that freezes {}", self.account))),
        }
    }
}

/// Whether the address is frozen after this transaction: its last event decides. None if there is no such event.
pub(crate) fn frozen_after(receipt: &Receipt, token: Address, account: Address) -> Option<bool> {
    let logs = receipt.logs.iter().filter(|log| receipt.success && log.address == token);
    let states = logs.filter_map(|log| {
        let topics = || log.topics.iter().copied();
        if let Ok(event) = AddressFrozen::decode_raw_log_validate(topics(), &log.data) {
            return (event.account == account).then_some(true);
        }
        // A recovery freezes the lost wallet.
        if let Ok(event) = AddressRecovered::decode_raw_log_validate(topics(), &log.data) {
            return (event.lost == account).then_some(true);
        }
        let event = AddressUnfrozen::decode_raw_log_validate(topics(), &log.data).ok()?;
        (event.account == account).then_some(false)
    });
    states.last()
}
