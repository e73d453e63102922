//! Redemption: burns units of a holder, past freeze, locks and pause. The operation number makes it happen once.
use alloy::primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::TransferSingle,
        line::Line,
        operation::{MissingEffect, events, executed_effect},
    },
    token,
};

/// The parameters of a redemption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redeem {
    /// The operation number on the token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// The holder and the units.
    pub line: Line,
}

impl Redeem {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::redeem(Address::ZERO, token, self.op_id, self.partition, self.line).data
    }

    /// Checks that this transaction burned exactly these units.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let (holder, units) = (self.line.holder(), self.line.units());
        let burned = |event: &TransferSingle| {
            (event.from, event.to) == (holder, Address::ZERO)
                && event.id == U256::from(self.partition)
                && event.value == U256::from(units)
        };
        match receipt.success && events::<TransferSingle>(receipt, token).any(|event| burned(&event)) {
            true => Ok(()),
            false => Err(MissingEffect(format!("the receipt shows no redemption of {units} units of {holder}"))),
        }
    }
}
