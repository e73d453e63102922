//! Transactions before and after signing.
use alloy::{
    consensus::TxEip1559,
    primitives::{Address, B256, Bytes, TxKind, U256},
};
use serde::{Deserialize, Serialize};

use crate::chain::fees::Fees;

/// An EIP-1559 transaction without an access list, as the gate checks it and the signer signs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// The chain id.
    pub chain_id: u64,
    /// The nonce of the signer.
    pub nonce: u64,
    /// The contract; none for a deployment.
    pub to: Option<Address>,
    /// Calldata, or creation code for a deployment.
    pub data: Bytes,
    /// Value in wei; always zero, also in a cancel.
    pub value: U256,
    /// The gas limit.
    pub gas_limit: u64,
    /// Maximum fee per unit of gas, in wei.
    pub max_fee_per_gas: u128,
    /// Tip per unit of gas, in wei.
    pub max_priority_fee_per_gas: u128,
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// Its hash.
    pub hash: B256,
    /// Its bytes.
    pub raw: Bytes,
}

/// The gas of an empty transfer.
pub const CANCEL_GAS: u64 = 21_000;

impl Transaction {
    /// An empty transfer from the signer to itself: it uses the nonce and has no other effect.
    pub fn cancel(chain_id: u64, signer: Address, nonce: u64, gas_limit: u64, fees: Fees) -> Transaction {
        Transaction {
            chain_id,
            nonce,
            to: Some(signer),
            data: Bytes::new(),
            value: U256::ZERO,
            gas_limit,
            max_fee_per_gas: fees.max_fee_per_gas,
            max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
        }
    }

    /// The fee fields.
    pub fn fees(&self) -> Fees {
        Fees { max_fee_per_gas: self.max_fee_per_gas, max_priority_fee_per_gas: self.max_priority_fee_per_gas }
    }

    pub(crate) fn to_alloy(&self) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.chain_id,
            nonce: self.nonce,
            gas_limit: self.gas_limit,
            max_fee_per_gas: self.max_fee_per_gas,
            max_priority_fee_per_gas: self.max_priority_fee_per_gas,
            to: self.to.map_or(TxKind::Create, TxKind::Call),
            value: self.value,
            access_list: Default::default(),
            input: self.data.clone(),
        }
    }
}
