//! Receipts: read by block or by hash, checked against the request, and confirmed by several endpoints.
use std::collections::BTreeMap;
use std::iter::once;

use alloy::primitives::{Address, B256};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use super::chain_log::Log;
use super::{chain_log::ChainLog, raw_receipt::RawReceipt};
use crate::{
    chain::{Chain, block::Block, proof::has_receipts},
    fault::Fault,
    rpc::{Answer, Request, endpoint::Endpoint, optional, required},
};

const ONE: &str = "eth_getTransactionReceipt";
const OF_BLOCK: &str = "eth_getBlockReceipts";
/// Reads of receipts that an endpoint left out, and reads of an unproved receipt from a single endpoint.
const READS_MAX: usize = 5;

/// The result of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The transaction hash.
    pub tx_hash: B256,
    /// The number of its block.
    pub block_number: u64,
    /// The hash of its block.
    pub block_hash: B256,
    /// The signer.
    pub from: Address,
    /// The contract or account called; none for a deployment.
    pub to: Option<Address>,
    /// The deployed contract, for a deployment.
    pub contract_address: Option<Address>,
    /// Whether it succeeded; false means that it reverted.
    pub success: bool,
    /// Gas used.
    pub gas_used: u64,
    /// Price per unit of gas, in wei.
    pub effective_gas_price: u128,
    /// Its events, in order.
    pub logs: Vec<Log>,
}

/// Whether the endpoints agree on a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// As many endpoints as the quorum requires show this receipt.
    Agreed,
    /// Too few endpoints have answered.
    Pending,
    /// At least one endpoint shows a different receipt; the text names the endpoint and the difference.
    Disputed(String),
}

impl From<RawReceipt> for Receipt {
    fn from(raw: RawReceipt) -> Receipt {
        Receipt {
            tx_hash: raw.transaction_hash,
            block_number: raw.block_number.to(),
            block_hash: raw.block_hash,
            from: raw.from,
            to: raw.to,
            contract_address: raw.contract_address,
            success: raw.is_success(),
            gas_used: raw.gas_used.to(),
            effective_gas_price: raw.effective_gas_price.saturating_to(),
            logs: raw.logs,
        }
    }
}

/// A request for the receipts of our transactions in a block.
#[derive(Clone, Debug, Default)]
pub struct ReceiptRequest {
    /// The block hash.
    pub block: B256,
    /// The root of all its receipts, if the block's hash proves it.
    pub receipts_root: Option<B256>,
    /// All its transactions, in order.
    pub transactions: Vec<B256>,
    /// Our transactions.
    pub ours: Vec<B256>,
    /// The events that are kept until the block is final, by their first topic, if the receipts of the whole block are proved.
    pub events: &'static [B256],
}

/// The receipts of our transactions in a block, and whether the block proves them.
struct Part {
    receipts: Vec<Receipt>,
    is_proved: bool,
    /// The number of the block, and its events with the wanted topics, if the block proves them.
    events: Option<(u64, Vec<ChainLog>)>,
}

impl Chain {
    /// The receipts of our transactions in this block. A missing receipt is a fault, never an empty result.
    pub async fn receipts_of_block(&self, hash: B256, ours: &[B256]) -> Result<Vec<Receipt>, Fault> {
        let request = ReceiptRequest { block: hash, ours: ours.to_vec(), ..ReceiptRequest::default() };
        Ok(self.receipts_of_blocks(&[request]).await?.pop().unwrap_or_default())
    }

    /// The receipts of our transactions in several blocks, in one request. A missing receipt is a fault, and so is one that the block's own
    /// header contradicts.
    pub async fn receipts_of_blocks(&self, blocks: &[ReceiptRequest]) -> Result<Vec<Vec<Receipt>>, Fault> {
        let mut parts = self.parts(blocks).await?;
        let with_ours = blocks.iter().filter(|request| !request.ours.is_empty());
        for (request, part) in with_ours.zip(&mut parts) {
            if let Some((number, events)) = part.events.take() {
                self.proved.keep_events((number, request.block), request.events, events);
            }
        }
        let mut found = parts.into_iter();
        let of = |request: &ReceiptRequest| if request.ours.is_empty() { None } else { found.next() };
        Ok(blocks.iter().map(of).map(|part| part.map(|part| part.receipts).unwrap_or_default()).collect())
    }

    async fn parts(&self, blocks: &[ReceiptRequest]) -> Result<Vec<Part>, Fault> {
        let with_ours: Vec<&ReceiptRequest> = blocks.iter().filter(|request| !request.ours.is_empty()).collect();
        if with_ours.is_empty() {
            return Ok(Vec::new());
        }
        // One call for the whole block is cheaper than one for each transaction, but not every node offers it.
        let requests = |endpoint: &Endpoint| match endpoint.lacks(OF_BLOCK) {
            false => with_ours.iter().map(|request| Request::new(OF_BLOCK, json!([request.block]))).collect(),
            true => with_ours.iter().flat_map(|request| request.ours.iter().map(one)).collect(),
        };
        match self.ask_each(requests, |answers| of_blocks(&with_ours, answers)).await {
            Err(fault @ (Fault::Incomplete(_) | Fault::Malformed(_))) => {
                let mut parts = Vec::with_capacity(with_ours.len());
                for request in with_ours {
                    parts.push(self.one_by_one(request).await?.ok_or_else(|| fault.clone())?);
                }
                Ok(parts)
            }
            parts => parts,
        }
    }

    /// Reads each receipt of a block by its hash, because the list of the block was incomplete. None if the result does not match the root of
    /// the header, or if there is no proved root.
    async fn one_by_one(&self, request: &ReceiptRequest) -> Result<Option<Part>, Fault> {
        let Some(root) = request.receipts_root else { return Ok(None) };
        let mut found: BTreeMap<B256, RawReceipt> = BTreeMap::new();
        for _ in 0..READS_MAX {
            let missing: Vec<&B256> = request.transactions.iter().filter(|hash| !found.contains_key(*hash)).collect();
            if missing.is_empty() {
                break;
            }
            let answers = self.ask(missing.iter().map(|hash| one(hash)).collect(), Ok).await?;
            let seen = missing.into_iter().zip(answers);
            found.extend(seen.filter_map(|(hash, answer)| Some((*hash, optional(ONE, answer).ok().flatten()?))));
        }
        let all: Vec<RawReceipt> = request.transactions.iter().filter_map(|hash| found.remove(hash)).collect();
        match has_receipts(&all, root) {
            Some(true) => of_proved(request, all).map(Some),
            _ => Ok(None),
        }
    }

    /// The receipt if its block proves it. Without a proof two endpoints must agree, or a single endpoint is read several times. None while
    /// neither is the case. An operation fails only on a receipt from here.
    pub async fn proved_receipt(&self, receipt: &Receipt) -> Result<Option<Receipt>, Fault> {
        let (number, hash) = (receipt.block_number, receipt.tx_hash);
        let is_of_receipt =
            |block: &Block| block.hash == receipt.block_hash && block.transactions.iter().any(|t| t.hash == hash);
        let mut block = None;
        for asked in once(self.clone()).chain(self.alone()) {
            block = asked.blocks(number, number).await.ok().and_then(|mut read| read.pop()).filter(is_of_receipt);
            if block.is_some() {
                break;
            }
        }
        let Some(block) = block else { return Ok(None) };
        let transactions = block.transactions.iter().map(|t| t.hash).collect();
        let request = ReceiptRequest {
            block: block.hash,
            receipts_root: block.receipts_root,
            transactions,
            ours: vec![hash],
            events: &[],
        };
        if let Some(part) = self.parts(&[request]).await?.pop().filter(|part| part.is_proved) {
            return Ok(part.receipts.into_iter().next());
        }
        let endpoints = self.candidates();
        let reads = if self.endpoints().len() == 1 { READS_MAX } else { 1 };
        let mut votes: Vec<(usize, Receipt)> = Vec::new();
        for endpoint in endpoints.iter().cycle().take(endpoints.len() * reads) {
            let Ok(Some(seen)) = self.receipt_of(endpoint, hash).await else { continue };
            match votes.iter_mut().find(|(_, known)| *known == seen) {
                Some((count, _)) => *count += 1,
                None => votes.push((1, seen)),
            }
        }
        let needed = if reads == 1 { 2 } else { reads };
        Ok(votes.into_iter().find(|(count, seen)| *count >= needed && seen.block_hash == block.hash).map(|(_, r)| r))
    }

    /// The receipts by hash, in the same order; none where the node has no receipt, which proves nothing.
    pub async fn receipts(&self, hashes: &[B256]) -> Result<Vec<Option<Receipt>>, Fault> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(hashes.iter().map(one).collect(), |answers| {
            answers.into_iter().zip(hashes).map(|(answer, hash)| checked(optional(ONE, answer)?, *hash)).collect()
        })
        .await
    }

    /// Asks whether as many endpoints as the quorum requires show this receipt. One that shows another does not outvote them.
    pub async fn confirm_receipt(&self, receipt: &Receipt) -> Result<Agreement, Fault> {
        let quorum = self.config.quorum.max(1);
        // With a quorum of one, or with one endpoint, there is no other endpoint to ask.
        if quorum == 1 || self.endpoints().len() == 1 {
            return Ok(Agreement::Agreed);
        }
        let hash = receipt.tx_hash;
        let (mut agreed, mut dispute) = (0, None);
        for endpoint in self.candidates() {
            match self.receipt_of(endpoint, hash).await {
                Ok(Some(found)) if found == *receipt => agreed += 1,
                Ok(Some(found)) => {
                    let label = &endpoint.redaction.label;
                    dispute = Some(format!("{label} shows {hash} {}", difference(receipt, &found)));
                }
                // No answer and no receipt are not a vote.
                Ok(None) | Err(_) => {}
            }
            if agreed >= quorum {
                return Ok(Agreement::Agreed);
            }
        }
        Ok(dispute.map_or(Agreement::Pending, Agreement::Disputed))
    }

    async fn receipt_of(&self, endpoint: &Endpoint, hash: B256) -> Result<Option<Receipt>, Fault> {
        let requests = |_: &Endpoint| vec![one(&hash)];
        self.ask_one(endpoint, &requests, &|answers| {
            let answer = answers.into_iter().next().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
            checked(optional(ONE, answer)?, hash)
        })
        .await
    }
}

fn one(hash: &B256) -> Request {
    Request::new(ONE, json!([hash]))
}

fn of_blocks(blocks: &[&ReceiptRequest], answers: Vec<Answer>) -> Result<Vec<Part>, Fault> {
    // Answers are per block or per transaction. If both give the same number of answers, the order is the same too.
    let by_block = answers.len() == blocks.len();
    let mut answers = answers.into_iter();
    let part = |request: &&ReceiptRequest| {
        let count = if by_block { 1 } else { request.ours.len() };
        of_block(request, answers.by_ref().take(count).collect())
    };
    blocks.iter().map(part).collect()
}

fn of_block(request: &ReceiptRequest, answers: Vec<Answer>) -> Result<Part, Fault> {
    // One answer can be a block's array or a single receipt.
    let by_block = answers.len() == 1 && !matches!(&answers[0], Ok(text) if text.get().starts_with('{'));
    if !by_block {
        let each = answers.into_iter().map(|answer| required::<RawReceipt>(ONE, answer));
        return unproved(request, each.collect::<Result<_, _>>()?);
    }
    let answer = answers.into_iter().next().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
    let all: Vec<RawReceipt> = required(OF_BLOCK, answer)?;
    match request.receipts_root.and_then(|root| has_receipts(&all, root)) {
        Some(true) => of_proved(request, all),
        Some(false) => Err(Fault::Malformed(format!(
            "the receipts of block {} are not those of its header; the endpoint left some or their events out",
            request.block
        ))),
        None => unproved(request, all),
    }
}

/// Takes ours from the receipts of a block, which its header proves. Their hashes are not covered by the root, so they must be those of the
/// block's transactions, in their order.
fn of_proved(request: &ReceiptRequest, all: Vec<RawReceipt>) -> Result<Part, Fault> {
    let all: Vec<Receipt> = all.into_iter().map(Receipt::from).collect();
    if !all.iter().map(|receipt| &receipt.tx_hash).eq(&request.transactions) {
        let block = request.block;
        return Err(Fault::Malformed(format!("the receipts of block {block} name other transactions than the block")));
    }
    let events = events_of(&all, request);
    Ok(Part { receipts: ours(request, all)?, is_proved: true, events })
}

fn unproved(request: &ReceiptRequest, shown: Vec<RawReceipt>) -> Result<Part, Fault> {
    let receipts = ours(request, shown.into_iter().map(Receipt::from).collect())?;
    Ok(Part { receipts, is_proved: false, events: None })
}

/// The receipts of our transactions, which must all be there, and in the block.
fn ours(request: &ReceiptRequest, shown: Vec<Receipt>) -> Result<Vec<Receipt>, Fault> {
    let hash = request.block;
    let mut by_hash: BTreeMap<B256, Receipt> = shown.into_iter().map(|receipt| (receipt.tx_hash, receipt)).collect();
    let receipt = |tx: &B256| match by_hash.remove(tx) {
        Some(receipt) if receipt.block_hash != hash => Err(Fault::Incomplete(format!(
            "the receipt of {tx} is in block {}, not in {hash}; the chain was reorganised",
            receipt.block_hash
        ))),
        Some(receipt) => Ok(receipt),
        None => Err(Fault::Incomplete(format!("the receipts of block {hash} lack {tx}"))),
    };
    request.ours.iter().map(receipt).collect()
}

/// The number of a block and its events with the wanted topics, from all of its receipts in their order. The block that they name is not
/// covered by the root, so it must be the one that was asked for.
fn events_of(all: &[Receipt], request: &ReceiptRequest) -> Option<(u64, Vec<ChainLog>)> {
    let number = all.first()?.block_number;
    let is_of_block = |receipt: &Receipt| receipt.block_hash == request.block && receipt.block_number == number;
    if !all.iter().all(is_of_block) {
        return None;
    }
    let of_receipts = all.iter().flat_map(|receipt| receipt.logs.iter().map(|log| (receipt.tx_hash, log)));
    let events =
        (0..).zip(of_receipts).filter(|(_, (_, log))| log.topics.first().is_some_and(|t| request.events.contains(t)));
    let event = |(log_index, (tx_hash, log)): (u64, (B256, &Log))| ChainLog {
        address: log.address,
        topics: log.topics.clone(),
        data: log.data.clone(),
        block_number: number,
        block_hash: request.block,
        tx_hash,
        log_index,
    };
    Some((number, events.map(event).collect()))
}

fn checked(raw: Option<RawReceipt>, hash: B256) -> Result<Option<Receipt>, Fault> {
    match raw.map(Receipt::from) {
        Some(receipt) if receipt.tx_hash != hash => Err(Fault::Malformed(format!(
            "the request was for the receipt of {hash}, the answer is the receipt of {}",
            receipt.tx_hash
        ))),
        receipt => Ok(receipt),
    }
}

fn difference(ours: &Receipt, theirs: &Receipt) -> String {
    if ours.block_hash != theirs.block_hash {
        return format!("in block {} instead of {}", theirs.block_hash, ours.block_hash);
    }
    if ours.success != theirs.success {
        return format!("as {} instead of {}", outcome(theirs), outcome(ours));
    }
    "with other events, gas or fees".into()
}

fn outcome(receipt: &Receipt) -> &'static str {
    if receipt.success { "executed" } else { "reverted" }
}
