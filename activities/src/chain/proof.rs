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
    consensus::{Header, TxEnvelope, proofs::ordered_trie_root_encoded},
    eips::eip2718::Encodable2718,
    primitives::{B256, Bloom, U64, keccak256},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::raw_receipt::RawReceipt;
use crate::fault::Fault;

/// Headers in a row that do not hash to their own hash before the chain counts as one of another kind.
const MISMATCHES_MAX: u32 = 20;
/// Reads of one block after which a body is taken that neither its header nor a second endpoint could prove.
const DOUBTS_MAX: u32 = 5;

/// The roots of a header whose hash was computed from its fields, and the filter of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roots {
    pub transactions: B256,
    pub receipts: B256,
    pub bloom: Bloom,
}

/// What a block or a transaction says of itself.
#[derive(Default, Deserialize)]
struct Claim {
    #[serde(default)]
    number: Option<U64>,
    #[serde(default)]
    hash: Option<B256>,
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
    pub fn roots(&self, text: &RawValue) -> Result<Option<Roots>, Fault> {
        let header: Option<Header> = serde_json::from_str(text.get()).ok();
        let claim: Claim = serde_json::from_str(text.get()).unwrap_or_default();
        let proved = header.filter(|header| claim.hash == Some(header.hash_slow()));
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
        let (number, hash) = (claim.number.unwrap_or_default(), claim.hash.unwrap_or_default());
        Err(Fault::Malformed(format!("the header of block {number} does not hash to {hash}")))
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
pub(crate) fn has_transactions(block: u64, listed: &[&RawValue], roots: Roots) -> Result<bool, Fault> {
    let mut encoded = Vec::with_capacity(listed.len());
    for text in listed {
        let Ok(envelope) = serde_json::from_str::<TxEnvelope>(text.get()) else { return Ok(false) };
        let claim: Claim = serde_json::from_str(text.get()).unwrap_or_default();
        let bytes = envelope.encoded_2718();
        if claim.hash != Some(keccak256(&bytes)) {
            return Ok(false);
        }
        encoded.push(bytes);
    }
    match ordered_trie_root_encoded(&encoded) == roots.transactions {
        true => Ok(true),
        false => Err(Fault::Malformed(format!(
            "the transactions of block {block} are not those of its header; the endpoint left some out"
        ))),
    }
}

/// Whether these are all receipts of a block, as its header covers them. None if a receipt has a form that cannot be encoded here.
pub(super) fn has_receipts(receipts: &[RawReceipt], root: B256) -> Option<bool> {
    let encoded = receipts.iter().map(RawReceipt::encoded).collect::<Option<Vec<_>>>()?;
    Some(ordered_trie_root_encoded(&encoded) == root)
}
