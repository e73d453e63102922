//! Restricting a partition: holders cannot transfer its units. A repeated restriction changes nothing and emits the event again.
use alloy::primitives::{Address, Bytes, U256};
use alloy::sol_types::SolEvent;
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::{TransferRestricted, TransferRestrictionRemoved},
        operation::MissingEffect,
    },
    token,
};

/// The parameters of a restriction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restrict {
    /// The partition.
    pub partition: u32,
}

impl Restrict {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::restrict(Address::ZERO, token, self.partition).data
    }

    /// Checks that the partition is restricted after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match restricted_after(receipt, token, self.partition) {
            Some(true) => Ok(()),
            _ => Err(MissingEffect(format!("{token} has no event that restricts partition {}", self.partition))),
        }
    }
}

/// Whether the partition is restricted after this transaction: its last event decides. None if there is no such event.
pub(crate) fn restricted_after(receipt: &Receipt, token: Address, partition: u32) -> Option<bool> {
    let partition = U256::from(partition);
    let logs = receipt.logs.iter().filter(|log| receipt.success && log.address == token);
    let states = logs.filter_map(|log| {
        let topics = || log.topics.iter().copied();
        if let Ok(event) = TransferRestricted::decode_raw_log_validate(topics(), &log.data) {
            return (event.id == partition).then_some(true);
        }
        let event = TransferRestrictionRemoved::decode_raw_log_validate(topics(), &log.data).ok()?;
        (event.id == partition).then_some(false)
    });
    states.last()
}
