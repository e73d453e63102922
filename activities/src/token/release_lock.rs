//! Release of a lock before its time: the units become free now, or earlier than planned.
use alloy::primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::LockReleased,
        line::Line,
        operation::{MissingEffect, events, executed_effect},
    },
    token,
};

/// The parameters of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseLock {
    /// The operation number on the token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// The holder and the units.
    pub line: Line,
    /// The present release time, in seconds since 1970.
    pub release_at: u64,
    /// The earlier release time; 0 for now.
    pub new_release_at: u64,
}

impl ReleaseLock {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        let times = (self.release_at, self.new_release_at);
        token::release_lock(Address::ZERO, token, self.op_id, self.partition, self.line, times).data
    }

    /// Checks that this transaction released exactly these units of this lock.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let (holder, units) = (self.line.holder(), self.line.units());
        let ours = |event: &LockReleased| {
            event.account == holder
                && event.partition == U256::from(self.partition)
                && event.units == U256::from(units)
                && event.releaseAt == U256::from(self.release_at)
                && event.newReleaseAt == U256::from(self.new_release_at)
        };
        match receipt.success && events::<LockReleased>(receipt, token).any(|event| ours(&event)) {
            true => Ok(()),
            false => Err(MissingEffect(format!("the receipt shows no release of {units} locked units of {holder}"))),
        }
    }
}
