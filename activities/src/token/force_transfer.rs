//! A forced transfer: moves units of a frozen holder past locks and restrictions. The evidence is part of the payload.
use alloy::primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::{TokensForceTransferred, TransferSingle},
        line::Line,
        operation::{MissingEffect, events, executed_effect},
    },
    token,
};

/// The parameters of a forced transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForceTransfer {
    /// The operation number on the token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// The holder who loses the units.
    pub from: Address,
    /// The recipient and the units.
    pub line: Line,
    /// SHA-256 of the legal document.
    pub evidence: B256,
}

impl ForceTransfer {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        let (op_id, evidence) = (self.op_id, self.evidence.as_slice());
        token::force_transfer(Address::ZERO, token, op_id, self.partition, self.from, self.line, evidence).data
    }

    /// Checks that this transaction moved exactly these units, by the event of the operation and by the transfer event.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let (to, units, id) = (self.line.holder(), U256::from(self.line.units()), U256::from(self.partition));
        let reported = events::<TokensForceTransferred>(receipt, token)
            .any(|e| (e.from, e.to, e.id, e.amount) == (self.from, to, id, units));
        let moved = events::<TransferSingle>(receipt, token)
            .any(|e| (e.from, e.to, e.id, e.value) == (self.from, to, id, units));
        match receipt.success && reported && moved {
            true => Ok(()),
            false => Err(MissingEffect(format!(
                "the receipt shows no forced transfer of {units} units from {} to {to}",
                self.from
            ))),
        }
    }
}
