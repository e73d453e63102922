//! Receipts: read by block or by hash, checked against the request, and confirmed by several endpoints.
use alloy::primitives::{Address, B256, Bytes, U64, U256};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    chain::Chain,
    fault::Fault,
    rpc::{Answer, Request, endpoint::Endpoint, optional, required},
};

const ONE: &str = "eth_getTransactionReceipt";
const OF_BLOCK: &str = "eth_getBlockReceipts";

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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawReceipt {
    transaction_hash: B256,
    block_number: U64,
    block_hash: B256,
    from: Address,
    #[serde(default)]
    to: Option<Address>,
    #[serde(default)]
    contract_address: Option<Address>,
    status: U64,
    gas_used: U64,
    #[serde(default)]
    effective_gas_price: U256,
    logs: Vec<Log>,
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
            success: raw.status == U64::from(1),
            gas_used: raw.gas_used.to(),
            effective_gas_price: raw.effective_gas_price.saturating_to(),
            logs: raw.logs,
        }
    }
}

impl Chain {
    /// The receipts of our transactions in this block. A missing receipt is a fault, never an empty result.
    pub async fn receipts_of_block(&self, hash: B256, ours: &[B256]) -> Result<Vec<Receipt>, Fault> {
        if ours.is_empty() {
            return Ok(Vec::new());
        }
        // One call for the whole block is cheaper than one for each transaction, but not every node offers it.
        let requests = |endpoint: &Endpoint| match endpoint.lacks(OF_BLOCK) {
            false => vec![Request::new(OF_BLOCK, json!([hash]))],
            true => ours.iter().map(one).collect(),
        };
        self.ask_each(requests, |answers| of_block(hash, ours, answers)).await
    }

    /// The receipts of our transactions in several blocks, in one request. A missing receipt is a fault.
    pub async fn receipts_of_blocks(&self, blocks: &[(B256, Vec<B256>)]) -> Result<Vec<Vec<Receipt>>, Fault> {
        let with_ours: Vec<_> = blocks.iter().filter(|(_, ours)| !ours.is_empty()).collect();
        let mut found = match with_ours.as_slice() {
            [] => Vec::new(),
            [(hash, ours)] => vec![self.receipts_of_block(*hash, ours).await?],
            several => {
                let requests = |endpoint: &Endpoint| match endpoint.lacks(OF_BLOCK) {
                    false => several.iter().map(|(hash, _)| Request::new(OF_BLOCK, json!([hash]))).collect(),
                    true => several.iter().flat_map(|(_, ours)| ours.iter().map(one)).collect(),
                };
                self.ask_each(requests, |answers| of_blocks(several, answers)).await?
            }
        }
        .into_iter();
        let of = |ours: &Vec<B256>| if ours.is_empty() { None } else { found.next() };
        Ok(blocks.iter().map(|(_, ours)| ours).map(of).map(Option::unwrap_or_default).collect())
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

    /// Asks as many endpoints as the quorum requires whether they show this receipt.
    pub async fn confirm_receipt(&self, receipt: &Receipt) -> Result<Agreement, Fault> {
        let quorum = self.config.quorum.max(1);
        // With a quorum of one, or with one endpoint, there is nobody else to ask.
        if quorum == 1 || self.endpoints().len() == 1 {
            return Ok(Agreement::Agreed);
        }
        let hash = receipt.tx_hash;
        let mut agreed = 0;
        for endpoint in self.candidates() {
            match self.receipt_of(endpoint, hash).await {
                Ok(Some(found)) if found == *receipt => agreed += 1,
                Ok(Some(found)) => {
                    let label = &endpoint.redaction.label;
                    return Ok(Agreement::Disputed(format!("{label} shows {hash} {}", difference(receipt, &found))));
                }
                // No answer and no receipt are not a vote.
                Ok(None) | Err(_) => {}
            }
            if agreed >= quorum {
                return Ok(Agreement::Agreed);
            }
        }
        Ok(Agreement::Pending)
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

fn of_blocks(blocks: &[&(B256, Vec<B256>)], answers: Vec<Answer>) -> Result<Vec<Vec<Receipt>>, Fault> {
    // Answers are per block or per transaction. If both give the same number of answers, the order is the same too.
    let by_block = answers.len() == blocks.len();
    let mut answers = answers.into_iter();
    let part = |(hash, ours): &&(B256, Vec<B256>)| {
        of_block(*hash, ours, answers.by_ref().take(if by_block { 1 } else { ours.len() }).collect())
    };
    blocks.iter().map(part).collect()
}

fn of_block(hash: B256, ours: &[B256], answers: Vec<Answer>) -> Result<Vec<Receipt>, Fault> {
    // One answer can be a block's array or a single receipt.
    let by_block = answers.len() == 1 && !matches!(&answers[0], Ok(value) if value.is_object());
    let mut found: Vec<Receipt> = Vec::new();
    if by_block {
        let answer = answers.into_iter().next().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
        let all: Vec<RawReceipt> = required(OF_BLOCK, answer)?;
        found.extend(all.into_iter().map(Receipt::from).filter(|receipt| ours.contains(&receipt.tx_hash)));
    } else {
        for answer in answers {
            found.push(required::<RawReceipt>(ONE, answer)?.into());
        }
    }
    if let Some(receipt) = found.iter().find(|receipt| receipt.block_hash != hash) {
        let (tx, other) = (receipt.tx_hash, receipt.block_hash);
        return Err(Fault::Incomplete(format!(
            "the receipt of {tx} is in block {other}, not in {hash}; the chain was reorganised"
        )));
    }
    ours.iter()
        .map(|tx| {
            let receipt = found.iter().find(|receipt| receipt.tx_hash == *tx);
            receipt.cloned().ok_or_else(|| Fault::Incomplete(format!("the receipts of block {hash} lack {tx}")))
        })
        .collect()
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
