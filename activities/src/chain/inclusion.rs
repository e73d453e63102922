//! Transactions in blocks: signer, nonce and calldata.
use std::sync::atomic::{AtomicBool, Ordering};

use alloy::consensus::TxEnvelope;
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Address, B256, Bytes, U64, keccak256};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::{
    chain::Chain,
    fault::Fault,
    rpc::{Answer, Request, endpoint::Endpoint, optional, required},
};

const METHOD: &str = "eth_getTransactionByHash";

/// A transaction that is in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedTransaction {
    /// The hash.
    pub hash: B256,
    /// The signer.
    pub from: Address,
    /// The nonce.
    pub nonce: u64,
    /// The contract or account called; none for a deployment.
    pub to: Option<Address>,
    /// Selector and arguments.
    pub data: Bytes,
    /// The number of its block.
    pub block_number: u64,
    /// The hash of its block.
    pub block_hash: B256,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    hash: B256,
    from: Address,
    nonce: U64,
    #[serde(default)]
    to: Option<Address>,
    input: Bytes,
    #[serde(default)]
    block_number: Option<U64>,
    #[serde(default)]
    block_hash: Option<B256>,
}

impl Chain {
    /// The transactions with these hashes, in the same order; none where the node knows no block with it.
    pub async fn included_transactions(&self, hashes: &[B256]) -> Result<Vec<Option<IncludedTransaction>>, Fault> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let requests = hashes.iter().map(|hash| Request::new(METHOD, json!([hash]))).collect();
        self.ask(requests, |answers| {
            answers.into_iter().zip(hashes).map(|(answer, hash)| checked(optional(METHOD, answer)?, *hash)).collect()
        })
        .await
    }

    /// Whether as many endpoints as the quorum requires show that a transaction of this signer took this nonce in this block.
    pub async fn is_taken_by(&self, signer: Address, nonce: u64, hash: B256, block: B256) -> bool {
        let endpoints = self.candidates();
        let requests = |_: &Endpoint| vec![Request::new(METHOD, json!([hash]))];
        let read = |mut answers: Vec<Answer>| {
            let answer = answers.pop().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
            checked(optional(METHOD, answer)?, hash)
        };
        let asked = endpoints.iter().map(|endpoint| self.ask_one(endpoint, &requests, &read));
        let shown = futures::future::join_all(asked).await.into_iter().flatten().flatten();
        let agreed = shown.filter(|taken| (taken.from, taken.nonce, taken.block_hash) == (signer, nonce, block));
        agreed.count() >= self.quorum()
    }

    /// Whether this account signed a transaction. No hash covers the sender that a block names. None if its form cannot be read here.
    pub async fn is_signed_by(&self, hash: B256, signer: Address) -> Result<Option<bool>, Fault> {
        let other_hash = AtomicBool::new(false);
        let sender = |mut answers: Vec<Answer>| {
            let answer = answers.pop().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
            let text: Box<RawValue> = required(METHOD, answer)?;
            let Ok(transaction) = serde_json::from_str::<TxEnvelope>(text.get()) else { return Ok(None) };
            let shown = keccak256(transaction.encoded_2718());
            if shown != hash {
                other_hash.store(true, Ordering::Relaxed);
                return Err(Fault::Malformed(format!("the answer for transaction {hash} hashes to {shown}")));
            }
            let signed = transaction.signature().recover_address_from_prehash(&transaction.signature_hash());
            Ok(Some(signed.ok()))
        };
        match self.ask(vec![Request::new(METHOD, json!([hash]))], sender).await {
            Ok(found) => Ok(found.map(|sender| sender == Some(signer))),
            // If no other endpoint shows it, this chain may hash in another way.
            Err(_) if other_hash.load(Ordering::Relaxed) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

fn checked(raw: Option<Raw>, hash: B256) -> Result<Option<IncludedTransaction>, Fault> {
    let Some(raw) = raw else { return Ok(None) };
    if raw.hash != hash {
        return Err(Fault::Malformed(format!("the request was for transaction {hash}, the answer is {}", raw.hash)));
    }
    let (Some(number), Some(block_hash)) = (raw.block_number, raw.block_hash) else { return Ok(None) };
    let (from, nonce, to) = (raw.from, raw.nonce.to(), raw.to);
    Ok(Some(IncludedTransaction { hash, from, nonce, to, data: raw.input, block_number: number.to(), block_hash }))
}
