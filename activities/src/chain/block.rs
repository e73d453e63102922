//! Blocks and headers, read by number.
use std::collections::BTreeMap;

use alloy::primitives::{Address, B256, U64};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

pub use super::header::Header;
use crate::{
    chain::{Chain, Tag, proof::has_transactions},
    fault::Fault,
    rpc::{Answer, Request, endpoint::Endpoint, first, parse, required},
};

pub(crate) const METHOD: &str = "eth_getBlockByNumber";
/// Full blocks in one batch: a mainnet block can take a megabyte.
const BLOCKS_PER_BATCH: u64 = 16;
/// Headers in one batch: a header is small.
const HEADERS_PER_BATCH: usize = 100;

/// A block with its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The root of its receipts, if the block's hash proves it.
    pub receipts_root: Option<B256>,
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
struct RawBody<'a> {
    #[serde(borrow)]
    transactions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawTx {
    hash: B256,
    from: Address,
    nonce: U64,
    #[serde(default)]
    to: Option<Address>,
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

/// A block as one endpoint shows it.
pub(crate) struct Body {
    pub block: Block,
    /// Whether the block's own hash proves its transactions.
    pub is_proved: bool,
}

/// The list of a block's transactions, without the transactions.
#[derive(Deserialize)]
struct Listed {
    hash: B256,
    transactions: Vec<B256>,
}

impl Chain {
    /// Reads a full block, and compares it with its own hash.
    pub(crate) fn body(&self, answer: Answer) -> Result<Body, Fault> {
        let text: Box<RawValue> = required(METHOD, answer)?;
        let roots = self.proofs.roots(&text)?;
        let header: Header = parse(METHOD, &text)?;
        let RawBody { transactions: listed } = parse(METHOD, &text)?;
        let is_proved = match roots {
            Some(roots) => has_transactions(header.number, &listed, roots)?,
            None => false,
        };
        if let Some(roots) = roots {
            self.proved.keep_header(&header, roots.bloom);
        }
        let transactions = listed.into_iter().map(|text| parse(METHOD, text)).collect::<Result<_, _>>()?;
        let Header { number, hash, parent_hash, timestamp, base_fee_per_gas, gas_limit } = header;
        let receipts_root = roots.map(|roots| roots.receipts);
        let block =
            Block { number, hash, parent_hash, timestamp, base_fee_per_gas, gas_limit, transactions, receipts_root };
        Ok(Body { block, is_proved })
    }

    /// Reads a header, and compares it with its own hash.
    pub(crate) fn sealed(&self, answer: Answer) -> Result<Header, Fault> {
        let text: Box<RawValue> = required(METHOD, answer)?;
        self.proofs.roots(&text)?;
        parse(METHOD, &text)
    }

    /// Reads a header; none above the head, where one node answers null and another one an error.
    pub(crate) fn header_or_none(&self, answers: Vec<Answer>) -> Result<Option<Header>, Fault> {
        match answers.into_iter().next() {
            Some(Ok(text)) if text.get() == "null" => Ok(None),
            Some(answer) => self.sealed(answer).map(Some).or_else(|fault| match fault {
                Fault::UnknownBlock => Ok(None),
                other => Err(other),
            }),
            None => Err(Fault::Incomplete("no answer".into())),
        }
    }

    /// A block that its hash proves, or that a second endpoint shows with the same transactions. If no second endpoint is configured, one is believed.
    pub(crate) async fn believed(&self, body: Body) -> Result<Block, Fault> {
        let Body { block, is_proved } = body;
        if is_proved {
            return Ok(block);
        }
        if self.proofs.tells_unproved() {
            tracing::warn!(
                chain.id = self.config.chain_id,
                "block {} does not encode as Ethereum's, so a second endpoint is asked about such blocks where there is one",
                block.number
            );
        }
        let now = (self.now)();
        let usable = |endpoint: &&Endpoint| {
            endpoint.wrong_chain().is_none() && !endpoint.is_distrusted() && !endpoint.is_cooling(now)
        };
        let asked: Vec<&Endpoint> = self.endpoints().iter().filter(usable).collect();
        if asked.len() < 2 {
            return Ok(block);
        }
        let requests = |_: &Endpoint| vec![by_number(Tag::Number(block.number), false)];
        let read = |answers| first::<Listed>(METHOD, answers);
        let shown =
            futures::future::join_all(asked.iter().map(|endpoint| self.ask_one(endpoint, &requests, &read))).await;
        let (mut voices, mut against, mut waits) = (0, 0, false);
        for listed in shown {
            match listed {
                Ok(listed) if listed.hash != block.hash => waits = true,
                Ok(listed) if listed.transactions.iter().eq(block.transactions.iter().map(|t| &t.hash)) => voices += 1,
                Ok(_) => against += 1,
                Err(Fault::Incomplete(_) | Fault::UnknownBlock) => waits = true,
                // One that does not answer is no voice, and not waited for.
                Err(_) => {}
            }
        }
        if voices >= 2 || (against == 0 && (!waits || self.proofs.takes_unproved(block.hash))) {
            return Ok(block);
        }
        let (number, count) = (block.number, asked.len());
        Err(Fault::Incomplete(format!(
            "{voices} of {count} endpoints show block {number} with these transactions; two must"
        )))
    }

    /// Reads the blocks from `from` to `to`, both included. Each block must be the parent of the next.
    pub async fn blocks(&self, from: u64, to: u64) -> Result<Vec<Block>, Fault> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut start = from;
        while start <= to {
            let end = to.min(start + BLOCKS_PER_BATCH - 1);
            let requests = (start..=end).map(|number| by_number(Tag::Number(number), true)).collect();
            let part: Vec<Body> =
                self.ask(requests, |answers| answers.into_iter().map(|answer| self.body(answer)).collect()).await?;
            for (number, body) in (start..).zip(part) {
                if body.block.number != number {
                    return Err(other_number(number, body.block.number));
                }
                let block = self.believed(body).await?;
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
        let header: Option<Header> =
            self.ask(vec![by_number(Tag::Number(number), false)], |answers| self.header_or_none(answers)).await?;
        match header {
            Some(header) if header.number != number => Err(other_number(number, header.number)),
            header => Ok(header),
        }
    }

    /// The times of these blocks, in seconds since 1970. Each must be the canonical one at its height.
    pub async fn times(&self, blocks: &BTreeMap<u64, B256>) -> Result<BTreeMap<u64, u64>, Fault> {
        let known = blocks.iter().filter_map(|(number, hash)| Some((*number, self.proved.timestamp(*number, *hash)?)));
        let mut times: BTreeMap<u64, u64> = known.collect();
        let unknown: Vec<u64> = blocks.keys().filter(|number| !times.contains_key(number)).copied().collect();
        for header in self.headers(&unknown).await? {
            if blocks.get(&header.number) != Some(&header.hash) {
                return Err(Fault::Incomplete(format!("block {} has another hash now", header.number)));
            }
            times.insert(header.number, header.timestamp);
        }
        Ok(times)
    }

    /// The headers at these heights. All of them must exist.
    pub async fn headers(&self, numbers: &[u64]) -> Result<Vec<Header>, Fault> {
        let mut headers = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(HEADERS_PER_BATCH) {
            let requests = chunk.iter().map(|number| by_number(Tag::Number(*number), false)).collect();
            let part: Vec<Header> =
                self.ask(requests, |answers| answers.into_iter().map(|answer| self.sealed(answer)).collect()).await?;
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
