//! Reinstatement: takes the retirement of a wallet back, for a recovery that named the wrong one. Units are not moved.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{
    chain::receipt::Receipt,
    contract::{
        bindings::token::PlatformSecurityToken7518::AddressReinstated,
        operation::{MissingEffect, events, executed_effect},
    },
    token,
};

/// The parameters of a reinstatement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reinstate {
    /// The operation number on the token.
    pub op_id: u64,
    /// The wallet that was recovered. It stays frozen until the freeze is ended, too.
    pub account: Address,
}

impl Reinstate {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::reinstate(Address::ZERO, token, self.account, self.op_id).data
    }

    /// Checks that this transaction reinstated the wallet.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        executed_effect(receipt, token, self.op_id, &self.calldata(token))?;
        let reinstated = events::<AddressReinstated>(receipt, token).any(|event| event.account == self.account);
        match receipt.success && reinstated {
            true => Ok(()),
            false => Err(MissingEffect(format!("the receipt does not show that {} was reinstated", self.account))),
        }
    }
}
