//! Freezing an address: it can neither send, receive, be minted to nor be paid. A repetition changes nothing and says so again.
use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolEvent;
use serde::{Deserialize, Serialize};

use crate::{
    bindings::token::PlatformSecurityToken7518::{AddressFrozen, AddressRecovered, AddressUnfrozen},
    operation::MissingEffect,
    receipt::Receipt,
    token,
};

/// What is frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// Whom.
    pub account: Address,
    /// The hash of a document, or nothing: the chain is public, so no word about the person goes there.
    pub reference: Bytes,
}

impl Freeze {
    /// The call.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::freeze(Address::ZERO, token, self.account, self.reference.clone()).data
    }

    /// Whether the address is frozen after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match frozen_after(receipt, token, self.account) {
            Some(true) => Ok(()),
            Some(false) => Err(MissingEffect(format!("{} was unfrozen again in the same transaction", self.account))),
            None => Err(MissingEffect(format!("{token} did not say that {} is frozen", self.account))),
        }
    }
}

/// What the last word of a transaction about the freeze of an address was, if it had one.
pub(crate) fn frozen_after(receipt: &Receipt, token: Address, account: Address) -> Option<bool> {
    let logs = receipt.logs.iter().filter(|log| receipt.success && log.address == token);
    let words = logs.filter_map(|log| {
        let topics = || log.topics.iter().copied();
        if let Ok(event) = AddressFrozen::decode_raw_log_validate(topics(), &log.data) {
            return (event.account == account).then_some(true);
        }
        if let Ok(event) = AddressRecovered::decode_raw_log_validate(topics(), &log.data) {
            return (event.lost == account).then_some(true);
        }
        let event = AddressUnfrozen::decode_raw_log_validate(topics(), &log.data).ok()?;
        (event.account == account).then_some(false)
    });
    words.last()
}
