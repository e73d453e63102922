//! A forced transfer: units of a frozen holder go to somebody else, past locks and restrictions. The evidence is part of the payload.
use alloy::primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::token::PlatformSecurityToken7518::{TokensForceTransferred, TransferSingle},
    line::Line,
    operation::{MissingEffect, events, executed_effect},
    receipt::Receipt,
    token,
};

/// What is moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForceTransfer {
    /// The operation id on the token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// From whom.
    pub from: Address,
    /// To whom, and how many units.
    pub line: Line,
    /// The SHA-256 of the legal document.
    pub evidence: B256,
}

impl ForceTransfer {
    /// The call.
    pub fn calldata(&self, token: Address) -> Bytes {
        let (op_id, evidence) = (self.op_id, self.evidence.as_slice());
        token::force_transfer(Address::ZERO, token, op_id, self.partition, self.from, self.line, evidence).data
    }

    /// Whether this transaction moved exactly this, as the token and as its ledger say.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let (to, units, id) = (self.line.holder(), U256::from(self.line.units()), U256::from(self.partition));
        let said = events::<TokensForceTransferred>(receipt, token)
            .any(|e| (e.from, e.to, e.id, e.amount) == (self.from, to, id, units));
        let moved = events::<TransferSingle>(receipt, token)
            .any(|e| (e.from, e.to, e.id, e.value) == (self.from, to, id, units));
        match receipt.success && said && moved {
            true => Ok(()),
            false => Err(MissingEffect(format!("no forced transfer of {units} units from {} to {to}", self.from))),
        }
    }
}
