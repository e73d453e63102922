//! Locking units of a holder until a time. The operation number makes it happen once: a second lock would add to the first.
use alloy::primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::TokensLocked,
        line::Line,
        operation::{MissingEffect, events, executed_effect},
    },
    token,
};

/// The parameters of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The operation number on the token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// The holder and the units.
    pub line: Line,
    /// The release time, in seconds since 1970.
    pub release_at: u64,
}

impl Lock {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::lock(Address::ZERO, token, self.op_id, self.partition, self.release_at, self.line).data
    }

    /// Checks that this transaction created exactly this lock.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let ours = |event: &TokensLocked| {
            event.account == self.line.holder()
                && event.id == U256::from(self.partition)
                && event.amount == U256::from(self.line.units())
                && event.releaseTime == U256::from(self.release_at)
        };
        match events::<TokensLocked>(receipt, token).any(|event| ours(&event)) {
            true => Ok(()),
            false => Err(MissingEffect(format!(
                "the receipt shows no lock of {} units of {}",
                self.line.units(),
                self.line.holder()
            ))),
        }
    }
}
