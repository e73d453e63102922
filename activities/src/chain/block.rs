//! Blocks and headers, read by number.
use alloy::primitives::{Address, B256, U64, U256};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    chain::{Chain, Tag},
    fault::Fault,
    rpc::{Request, optional, required},
};

pub(crate) const METHOD: &str = "eth_getBlockByNumber";
/// Full blocks in one batch: a mainnet block can take a megabyte.
const BLOCKS_PER_BATCH: u64 = 16;
/// Headers in one batch: a header is small.
const HEADERS_PER_BATCH: usize = 100;

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

/// A block with its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawBlock")]
pub struct Block {
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
    /// The transactions in block order.
    pub transactions: Vec<BlockTx>,
}

/// A transaction as a block lists it: enough to see which transaction took a nonce of our signers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawTx")]
pub struct BlockTx {
    /// The transaction hash.
    pub hash: B256,
    /// The signer.
    pub from: Address,
    /// The nonce.
    pub nonce: u64,
    /// The contract or account called; none for a deployment.
    pub to: Option<Address>,
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

#[derive(Deserialize)]
struct RawBlock {
    #[serde(flatten)]
    header: RawHeader,
    transactions: Vec<RawTx>,
}

#[derive(Deserialize)]
struct RawTx {
    hash: B256,
    from: Address,
    nonce: U64,
    #[serde(default)]
    to: Option<Address>,
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

impl From<RawBlock> for Block {
    fn from(raw: RawBlock) -> Block {
        let Header { number, hash, parent_hash, timestamp, base_fee_per_gas, gas_limit } = raw.header.into();
        let transactions = raw.transactions.into_iter().map(BlockTx::from).collect();
        Block { number, hash, parent_hash, timestamp, base_fee_per_gas, gas_limit, transactions }
    }
}

impl From<RawTx> for BlockTx {
    fn from(raw: RawTx) -> BlockTx {
        BlockTx { hash: raw.hash, from: raw.from, nonce: raw.nonce.to(), to: raw.to }
    }
}

impl Block {
    /// The block without its transactions.
    pub fn header(&self) -> Header {
        let Block { number, hash, parent_hash, timestamp, base_fee_per_gas, gas_limit, .. } = *self;
        Header { number, hash, parent_hash, timestamp, base_fee_per_gas, gas_limit }
    }
}

impl Chain {
    /// Reads the blocks from `from` to `to`, both included. Each block must be the parent of the next.
    pub async fn blocks(&self, from: u64, to: u64) -> Result<Vec<Block>, Fault> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut start = from;
        while start <= to {
            let end = to.min(start + BLOCKS_PER_BATCH - 1);
            let requests = (start..=end).map(|number| by_number(Tag::Number(number), true)).collect();
            let part: Vec<Block> = self
                .ask(requests, |answers| answers.into_iter().map(|answer| required(METHOD, answer)).collect())
                .await?;
            for (number, block) in (start..).zip(part) {
                if block.number != number {
                    return Err(other_number(number, block.number));
                }
                // Two batches can come from different endpoints, which can be on different forks.
                if blocks.last().is_some_and(|below| below.hash != block.parent_hash) {
                    return Err(Fault::Incomplete(format!(
                        "block {number} is not a child of the block below it; the chain was reorganised during the read"
                    )));
                }
                blocks.push(block);
            }
            start = end + 1;
        }
        Ok(blocks)
    }

    /// The header at a height; none above the head.
    pub async fn header(&self, number: u64) -> Result<Option<Header>, Fault> {
        let header: Option<Header> = self
            .ask(vec![by_number(Tag::Number(number), false)], |mut answers| match answers.pop() {
                // Above its head one node answers null and another one an error: both mean that there is no block yet.
                Some(answer) => optional(METHOD, answer).or_else(|fault| match fault {
                    Fault::UnknownBlock => Ok(None),
                    other => Err(other),
                }),
                None => Err(Fault::Incomplete("no answer".into())),
            })
            .await?;
        match header {
            Some(header) if header.number != number => Err(other_number(number, header.number)),
            header => Ok(header),
        }
    }

    /// The headers at these heights. All of them must exist.
    pub async fn headers(&self, numbers: &[u64]) -> Result<Vec<Header>, Fault> {
        let mut headers = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(HEADERS_PER_BATCH) {
            let requests = chunk.iter().map(|number| by_number(Tag::Number(*number), false)).collect();
            let part: Vec<Header> = self
                .ask(requests, |answers| answers.into_iter().map(|answer| required(METHOD, answer)).collect())
                .await?;
            if let Some((asked, found)) = chunk.iter().zip(&part).find(|(number, header)| **number != header.number) {
                return Err(other_number(*asked, found.number));
            }
            headers.extend(part);
        }
        Ok(headers)
    }
}

pub(crate) fn by_number(tag: Tag, full: bool) -> Request {
    Request::new(METHOD, json!([tag.param(), full]))
}

pub(crate) fn other_number(asked: u64, found: u64) -> Fault {
    Fault::Malformed(format!("the request was for block {asked}, the answer is block {found}"))
}
