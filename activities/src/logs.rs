//! Events by address, topic and range.
use alloy::primitives::{Address, B256, Bytes, U64};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    chain::Chain,
    classify,
    fault::Fault,
    rpc::{Request, first},
};

/// Which events are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// The first block.
    pub from_block: u64,
    /// The last block; none for the newest.
    pub to_block: Option<u64>,
    /// The contracts; empty for any.
    pub addresses: Vec<Address>,
    /// For each topic the values that are accepted; empty for any.
    pub topics: Vec<Vec<B256>>,
}

/// An event with its place on the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawLog")]
pub struct PlacedLog {
    /// The contract that emitted it.
    pub address: Address,
    /// The hash of its signature and its indexed fields.
    pub topics: Vec<B256>,
    /// Its other fields.
    pub data: Bytes,
    /// The height of its block.
    pub block_number: u64,
    /// The hash of its block.
    pub block_hash: B256,
    /// Its transaction.
    pub tx_hash: B256,
    /// Its place among the events of the block.
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

impl From<RawLog> for PlacedLog {
    fn from(raw: RawLog) -> PlacedLog {
        PlacedLog {
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

impl LogFilter {
    fn request(&self, from: u64, to: Option<u64>) -> Request {
        let topics: Vec<Value> =
            self.topics.iter().map(|values| if values.is_empty() { Value::Null } else { json!(values) }).collect();
        let to = to.map_or(json!("latest"), |number| json!(format!("{number:#x}")));
        let mut filter = json!({ "fromBlock": format!("{from:#x}"), "toBlock": to, "topics": topics });
        if !self.addresses.is_empty() {
            filter["address"] = json!(self.addresses);
        }
        Request::new("eth_getLogs", json!([filter]))
    }
}

impl Chain {
    /// The events in order; a range that is too wide for a provider is halved until it is not.
    pub async fn logs(&self, filter: &LogFilter) -> Result<Vec<PlacedLog>, Fault> {
        let mut found = Vec::new();
        let mut ranges = vec![(filter.from_block, filter.to_block)];
        while let Some((from, to)) = ranges.pop() {
            match self
                .ask(vec![filter.request(from, to)], |answers| first::<Vec<PlacedLog>>("eth_getLogs", answers))
                .await
            {
                Ok(part) => found.extend(part),
                Err(Fault::Refused(text)) if classify::is_range_too_wide(&text) => {
                    let end = match to {
                        Some(end) => end,
                        None => self.heads().await?.latest.number,
                    };
                    if end <= from {
                        return Err(Fault::Refused(text));
                    }
                    let middle = from + (end - from) / 2;
                    // The lower half is on top of the stack, so that the events come out in order.
                    ranges.push((middle + 1, Some(end)));
                    ranges.push((from, Some(middle)));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(found)
    }
}
