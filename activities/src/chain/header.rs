//! The header of a block.

use alloy::primitives::{B256, U64, U256};
use serde::{Deserialize, Serialize};

/// A block without its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawHeader")]
pub struct Header {
    /// The block number.
    pub number: u64,
    /// The block hash.
    pub hash: B256,
    /// The hash of the parent block.
    pub parent_hash: B256,
    /// The block time, in seconds since 1970.
    pub timestamp: u64,
    /// The base fee per unit of gas, in wei; 0 on chains without one.
    pub base_fee_per_gas: u128,
    /// The gas limit of the block.
    pub gas_limit: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawHeader {
    number: U64,
    hash: B256,
    parent_hash: B256,
    timestamp: U64,
    #[serde(default)]
    base_fee_per_gas: U256,
    gas_limit: U64,
}

impl From<RawHeader> for Header {
    fn from(raw: RawHeader) -> Header {
        Header {
            number: raw.number.to(),
            hash: raw.hash,
            parent_hash: raw.parent_hash,
            timestamp: raw.timestamp.to(),
            base_fee_per_gas: raw.base_fee_per_gas.saturating_to(),
            gas_limit: raw.gas_limit.to(),
        }
    }
}
