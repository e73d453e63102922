//! Blocks, transactions and receipts, and how a node writes them.

use std::sync::Arc;

use alloy::consensus::transaction::SignerRecoverable;
use alloy::consensus::{Transaction, TxEnvelope};
use alloy::eips::Decodable2718;
use alloy::primitives::{Address, B256, Bytes, keccak256};
use serde_json::{Value, json};

use crate::ledger::{Event, Ledger};

/// A transaction that was on the wire.
#[derive(Clone, Debug)]
pub struct Tx {
    pub hash: B256,
    pub from: Address,
    pub nonce: u64,
    pub to: Address,
    pub data: Bytes,
    pub max_fee: u128,
    pub tip: u128,
    /// Whether the engine signed it; the others are strangers' and carry no signature.
    pub ours: bool,
}

/// A transaction in its block.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub tx: Arc<Tx>,
    pub success: bool,
    pub revert: Bytes,
    pub events: Vec<Event>,
}

/// A block with the state after it.
pub struct Block {
    pub number: u64,
    pub hash: B256,
    pub parent: B256,
    pub timestamp: u64,
    pub base_fee: u128,
    pub receipts: Vec<Receipt>,
    pub ledger: Arc<Ledger>,
}

impl Tx {
    /// Reads signed bytes.
    pub fn decode(raw: &[u8]) -> Option<Self> {
        let envelope = TxEnvelope::decode_2718(&mut &raw[..]).ok()?;
        Some(Self {
            hash: keccak256(raw),
            from: envelope.recover_signer().ok()?,
            nonce: envelope.nonce(),
            to: envelope.to()?,
            data: envelope.input().clone(),
            max_fee: envelope.max_fee_per_gas(),
            tip: envelope.max_priority_fee_per_gas().unwrap_or_default(),
            ours: true,
        })
    }

    /// A transaction that somebody else made.
    pub fn strange(from: Address, nonce: u64, to: Address, data: Bytes, salt: u64) -> Self {
        let hash = keccak256([from.as_slice(), &nonce.to_be_bytes(), &salt.to_be_bytes()].concat());
        Self { hash, from, nonce, to, data, max_fee: u128::MAX, tip: 1, ours: false }
    }
}

impl Block {
    /// The header, with whole transactions if they are asked for.
    pub fn json(&self, full: bool) -> Value {
        let transactions: Vec<Value> = match full {
            true => self.receipts.iter().map(|r| self.transaction(r)).collect(),
            false => self.receipts.iter().map(|r| json!(r.tx.hash)).collect(),
        };
        json!({
            "number": hex(self.number), "hash": self.hash, "parentHash": self.parent, "timestamp": hex(self.timestamp),
            "baseFeePerGas": format!("{:#x}", self.base_fee), "gasLimit": hex(30_000_000), "transactions": transactions,
        })
    }

    /// One transaction of the block.
    pub fn transaction(&self, receipt: &Receipt) -> Value {
        let tx = &receipt.tx;
        json!({
            "hash": tx.hash, "from": tx.from, "nonce": hex(tx.nonce), "to": tx.to, "input": tx.data,
            "blockNumber": hex(self.number), "blockHash": self.hash,
        })
    }

    /// One receipt of the block.
    pub fn receipt(&self, receipt: &Receipt) -> Value {
        let logs: Vec<Value> = self.logs(receipt).collect();
        json!({
            "transactionHash": receipt.tx.hash, "blockNumber": hex(self.number), "blockHash": self.hash, "from": receipt.tx.from,
            "to": receipt.tx.to, "contractAddress": null, "status": hex(u64::from(receipt.success)), "gasUsed": hex(50_000),
            "effectiveGasPrice": format!("{:#x}", self.base_fee), "logs": logs,
        })
    }

    /// The events of a receipt, each with its place.
    pub fn logs<'a>(&'a self, receipt: &'a Receipt) -> impl Iterator<Item = Value> + 'a {
        let before =
            self.receipts.iter().take_while(|r| r.tx.hash != receipt.tx.hash).map(|r| r.events.len()).sum::<usize>();
        receipt.events.iter().enumerate().map(move |(index, (address, log))| {
            let index = before + index;
            json!({
                "address": address, "topics": log.topics(), "data": log.data, "blockNumber": hex(self.number),
                "blockHash": self.hash, "transactionHash": receipt.tx.hash, "logIndex": hex(index as u64),
            })
        })
    }
}

/// A quantity as JSON-RPC writes it.
pub fn hex(number: u64) -> String {
    format!("{number:#x}")
}
