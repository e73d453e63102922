//! Proofs of a block by its own header: the hash covers the header, and the header covers the transactions and the receipts. An endpoint
//! that leaves something out contradicts its own header.
//!
//! Some chains have headers, transactions or receipts that do not encode as Ethereum's, such as the deposits of rollups. Nothing can be
//! proved there, and a second endpoint is asked instead.
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use alloy::{
    consensus::{Eip658Value, Receipt, TxEnvelope, proofs::ordered_trie_root_encoded},
    eips::eip2718::Encodable2718,
    primitives::{B256, Bloom, Log, U64, U256, keccak256},
    rlp::Encodable,
};
use serde::Deserialize;
use serde_json::Value;

use crate::fault::Fault;

/// Headers in a row that do not hash to their own hash before the chain counts as one of another kind.
const MISMATCHES_MAX: u32 = 20;
/// Reads of one block after which a body is taken that neither its header nor a second endpoint could prove.
const DOUBTS_MAX: u32 = 5;
/// The newest type of receipt that is known to encode as Ethereum's.
const RECEIPT_TYPE_MAX: u64 = 4;

/// The roots of a header whose hash was computed from its fields, and the filter of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roots {
    pub transactions: B256,
    pub receipts: B256,
    pub bloom: Bloom,
}

/// The proofs of a chain so far.
#[derive(Default)]
pub(crate) struct Proofs {
    /// A header of this chain hashed to its own hash.
    standard: AtomicBool,
    mismatches: AtomicU32,
    /// The last block in doubt, and how often it was read.
    doubts: Mutex<(B256, u32)>,
    is_logged: AtomicBool,
}

impl Proofs {
    /// The roots of a block or header, if its hash proves them. A header that contradicts its hash is refused on a chain whose other headers
    /// do not; a fork of the chain that adds fields would refuse all of them, so that ends after some.
    pub fn roots(&self, value: &Value) -> Result<Option<Roots>, Fault> {
        let header = alloy::consensus::Header::deserialize(value).ok();
        let claimed = value.get("hash").and_then(Value::as_str).and_then(|hash| hash.parse::<B256>().ok());
        let proved = header.filter(|header| Some(header.hash_slow()) == claimed);
        if let Some(header) = proved {
            self.standard.store(true, Ordering::Relaxed);
            self.mismatches.store(0, Ordering::Relaxed);
            let (transactions, receipts) = (header.transactions_root, header.receipts_root);
            return Ok(Some(Roots { transactions, receipts, bloom: header.logs_bloom }));
        }
        if !self.standard.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if self.mismatches.fetch_add(1, Ordering::Relaxed) >= MISMATCHES_MAX {
            self.standard.store(false, Ordering::Relaxed);
            tracing::error!(
                "the headers of the chain no longer hash to their hashes; blocks are believed without this proof"
            );
            return Ok(None);
        }
        Err(Fault::Malformed(format!("the header of block {} does not hash to {}", value["number"], value["hash"])))
    }

    /// Whether an unproved block is accepted after several reads. Otherwise the follower would wait for ever; a transaction that the block
    /// leaves out is found by its nonce later.
    pub fn takes_unproved(&self, hash: B256) -> bool {
        let mut doubts = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = if doubts.0 == hash { doubts.1 + 1 } else { 1 };
        *doubts = (hash, count);
        count >= DOUBTS_MAX
    }

    /// Whether this is the first time that the chain could not prove a body, so that it is logged once.
    pub fn tells_unproved(&self) -> bool {
        !self.is_logged.swap(true, Ordering::Relaxed)
    }
}

/// Whether the transactions of a block are those of its header. False if one of them has a form that cannot be encoded here; a fault if all
/// can be, and they are not what the header covers.
pub(crate) fn has_transactions(value: &Value, roots: Roots) -> Result<bool, Fault> {
    let Some(listed) = value.get("transactions").and_then(Value::as_array) else { return Ok(false) };
    let mut encoded = Vec::with_capacity(listed.len());
    for transaction in listed {
        let claimed = transaction.get("hash").and_then(Value::as_str).and_then(|hash| hash.parse::<B256>().ok());
        let Ok(envelope) = TxEnvelope::deserialize(transaction) else { return Ok(false) };
        let bytes = envelope.encoded_2718();
        if Some(keccak256(&bytes)) != claimed {
            return Ok(false);
        }
        encoded.push(bytes);
    }
    match ordered_trie_root_encoded(&encoded) == roots.transactions {
        true => Ok(true),
        false => Err(Fault::Malformed(format!(
            "the transactions of block {} are not those of its header; the endpoint left some out",
            value["number"]
        ))),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptFields {
    #[serde(default, rename = "type")]
    kind: U64,
    status: U64,
    cumulative_gas_used: U256,
    logs: Vec<LogFields>,
}

#[derive(Deserialize)]
struct LogFields {
    address: alloy::primitives::Address,
    topics: Vec<B256>,
    data: alloy::primitives::Bytes,
}

/// Whether these are all receipts of a block, as its header covers them. None if a receipt has a form that cannot be encoded here.
pub(crate) fn has_receipts(receipts: &[Value], root: B256) -> Option<bool> {
    let mut encoded = Vec::with_capacity(receipts.len());
    for value in receipts {
        let fields = ReceiptFields::deserialize(value).ok()?;
        let kind = fields.kind.to::<u64>();
        if kind > RECEIPT_TYPE_MAX {
            return None;
        }
        let logs =
            fields.logs.into_iter().map(|log| Log::new(log.address, log.topics, log.data)).collect::<Option<_>>()?;
        let receipt = Receipt {
            status: Eip658Value::Eip658(fields.status == U64::from(1)),
            cumulative_gas_used: fields.cumulative_gas_used.saturating_to(),
            logs,
        };
        let mut bytes = Vec::new();
        if kind > 0 {
            bytes.push(u8::try_from(kind).ok()?);
        }
        receipt.with_bloom().encode(&mut bytes);
        encoded.push(bytes);
    }
    Some(ordered_trie_root_encoded(&encoded) == root)
}
