//! A receipt as a node shows it.
use alloy::{
    consensus::{self, Eip658Value},
    primitives::{Address, B256, Log as EncodedLog, U64, U256},
    rlp::Encodable,
};
use serde::Deserialize;

use super::chain_log::Log;

/// The newest type of receipt that is known to encode as Ethereum's.
const TYPE_MAX: u8 = 4;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawReceipt {
    pub transaction_hash: B256,
    pub block_number: U64,
    pub block_hash: B256,
    pub from: Address,
    #[serde(default)]
    pub to: Option<Address>,
    #[serde(default)]
    pub contract_address: Option<Address>,
    #[serde(default, rename = "type")]
    kind: Option<U64>,
    status: U64,
    pub gas_used: U64,
    #[serde(default)]
    cumulative_gas_used: Option<U64>,
    #[serde(default)]
    pub effective_gas_price: U256,
    pub logs: Vec<Log>,
}

impl RawReceipt {
    /// Whether the transaction succeeded.
    pub fn is_success(&self) -> bool {
        self.status == U64::from(1)
    }

    /// What a block's header covers of it. None if it has a form that cannot be encoded here.
    pub fn encoded(&self) -> Option<Vec<u8>> {
        let kind = u8::try_from(self.kind.unwrap_or_default()).ok().filter(|kind| *kind <= TYPE_MAX)?;
        let log = |log: &Log| EncodedLog::new(log.address, log.topics.clone(), log.data.clone());
        let receipt = consensus::Receipt {
            status: Eip658Value::Eip658(self.is_success()),
            cumulative_gas_used: self.cumulative_gas_used?.to(),
            logs: self.logs.iter().map(log).collect::<Option<_>>()?,
        };
        let mut bytes = if kind > 0 { vec![kind] } else { Vec::new() };
        receipt.with_bloom().encode(&mut bytes);
        Some(bytes)
    }
}
