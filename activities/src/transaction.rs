//! A transaction before and after it is signed.
use alloy::{
    consensus::TxEip1559,
    primitives::{Address, B256, Bytes, TxKind, U256},
};
use serde::{Deserialize, Serialize};

use crate::fees::Fees;

/// What is put to the gate and then signed: an EIP-1559 transaction without an access list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// The chain.
    pub chain_id: u64,
    /// The signer's nonce that it takes.
    pub nonce: u64,
    /// The contract; none deploys one.
    pub to: Option<Address>,
    /// Selector and arguments, or the code to deploy.
    pub data: Bytes,
    /// Wei that go along; always zero here, also in a cancel.
    pub value: U256,
    /// The most gas that it may take.
    pub gas_limit: u64,
    /// The most that is paid for a unit of gas, in wei.
    pub max_fee_per_gas: u128,
    /// The tip for a unit of gas, in wei.
    pub max_priority_fee_per_gas: u128,
}

/// A signed transaction, ready for the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// Its hash.
    pub hash: B256,
    /// Its bytes.
    pub raw: Bytes,
}

/// The gas of a transfer that carries nothing.
pub const CANCEL_GAS: u64 = 21_000;

impl Transaction {
    /// A transfer of nothing to oneself: it takes the nonce and does nothing else.
    pub fn cancel(chain_id: u64, signer: Address, nonce: u64, fees: Fees) -> Transaction {
        Transaction {
            chain_id,
            nonce,
            to: Some(signer),
            data: Bytes::new(),
            value: U256::ZERO,
            gas_limit: CANCEL_GAS,
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
