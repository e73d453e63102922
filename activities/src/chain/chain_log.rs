//! The events of contracts.

use alloy::primitives::{Address, B256, Bytes, U64};
use serde::{Deserialize, Serialize};

/// One event of a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The contract that emitted it.
    pub address: Address,
    /// Signature hash and indexed fields.
    pub topics: Vec<B256>,
    /// The other fields.
    pub data: Bytes,
}

/// An event with its position on the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawLog")]
pub struct ChainLog {
    /// The contract that emitted it.
    pub address: Address,
    /// Signature hash and indexed fields.
    pub topics: Vec<B256>,
    /// The other fields.
    pub data: Bytes,
    /// The number of its block.
    pub block_number: u64,
    /// The hash of its block.
    pub block_hash: B256,
    /// The hash of its transaction.
    pub tx_hash: B256,
    /// Its index among the events of the block.
    pub log_index: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLog {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    block_number: U64,
    block_hash: B256,
    transaction_hash: B256,
    log_index: U64,
}

impl From<RawLog> for ChainLog {
    fn from(raw: RawLog) -> ChainLog {
        ChainLog {
            address: raw.address,
            topics: raw.topics,
            data: raw.data,
            block_number: raw.block_number.to(),
            block_hash: raw.block_hash,
            tx_hash: raw.transaction_hash,
            log_index: raw.log_index.to(),
        }
    }
}
