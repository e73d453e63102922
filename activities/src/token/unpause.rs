//! The end of a token's pause. A repeated end changes nothing and emits the event again.
use alloy::primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};

use crate::{chain::receipt::Receipt, contract::operation::MissingEffect, token};

/// The end of a pause has no parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpause {}

impl Unpause {
    /// The calldata.
    pub fn calldata(&self, token: Address) -> Bytes {
        token::unpause(Address::ZERO, token).data
    }

    /// Checks that the token is not paused after this transaction.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match token::pause::paused_after(receipt, token) {
            Some(false) => Ok(()),
            _ => Err(MissingEffect(format!("{token} has no event that ends its pause"))),
        }
    }
}
