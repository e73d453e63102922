//! A block: header, transactions with their senders, receipts. Sealing computes the roots.

use std::sync::Arc;

use alloy::consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy::consensus::transaction::Recovered;
use alloy::consensus::{
    Block as ConsensusBlock, BlockBody, EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header, ReceiptEnvelope, TxEnvelope,
    TxReceipt,
};
use alloy::eips::eip1559::BaseFeeParams;
use alloy::eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy::primitives::{B256, Bloom, keccak256};
use alloy_rlp::Encodable;

/// A transaction whose sender is known.
pub(crate) type Signed = Recovered<TxEnvelope>;

/// One block of the chain; immutable, so readers share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub header: Header,
    pub hash: B256,
    pub transactions: Vec<Arc<Signed>>,
    pub receipts: Vec<ReceiptEnvelope>,
}

/// A block without its roots and its hash.
pub(crate) struct Draft {
    pub header: Header,
    pub transactions: Vec<Arc<Signed>>,
    pub receipts: Vec<ReceiptEnvelope>,
}

impl Draft {
    /// Computes roots, bloom and hash. `diff` is the encoded state change of the block.
    pub fn seal(mut self, parent_state_root: B256, diff: &[u8]) -> Block {
        let mut bloom = Bloom::ZERO;
        for receipt in &self.receipts {
            bloom |= receipt.bloom();
        }
        self.header.logs_bloom = bloom;
        self.header.gas_used = self.receipts.last().map_or(0, |receipt| receipt.cumulative_gas_used());
        let inner: Vec<&TxEnvelope> = self.transactions.iter().map(|transaction| transaction.inner()).collect();
        self.header.transactions_root = calculate_transaction_root(&inner);
        self.header.receipts_root = calculate_receipt_root(&self.receipts);
        self.header.state_root = chained_root(parent_state_root, diff);
        let hash = self.header.hash_slow();
        Block { header: self.header, hash, transactions: self.transactions, receipts: self.receipts }
    }
}

/// The header fields that never change here and do not need the block's content.
pub(crate) fn blank_header() -> Header {
    Header {
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        ..Default::default()
    }
}

/// The commitment that replaces a Merkle root: a chain of hashes over the state
/// changes. Equal histories have equal roots, but it proves no single account.
fn chained_root(parent: B256, diff: &[u8]) -> B256 {
    let mut text = parent.to_vec();
    text.extend_from_slice(keccak256(diff).as_slice());
    keccak256(text)
}

impl Block {
    /// The base fee of the block.
    pub fn base_fee(&self) -> u64 {
        self.header.base_fee_per_gas.unwrap_or_default()
    }

    /// The base fee that EIP-1559 gives the block after this one; genesis gives its own.
    pub fn next_base_fee(&self) -> u64 {
        if self.header.number == 0 {
            return self.base_fee();
        }
        self.header.next_block_base_fee(BaseFeeParams::ethereum()).unwrap_or_default()
    }

    /// Gas used by the transaction at `index` alone.
    pub fn gas_used(&self, index: usize) -> u64 {
        let through = |i: usize| self.receipts.get(i).map_or(0, |receipt| receipt.cumulative_gas_used());
        through(index) - index.checked_sub(1).map_or(0, through)
    }

    /// Length of the block's RLP in bytes, which the RPC calls its size.
    pub fn size(&self) -> usize {
        let body = BlockBody {
            transactions: self.transactions.iter().map(|transaction| transaction.inner().clone()).collect(),
            ommers: Vec::new(),
            withdrawals: Some(Default::default()),
        };
        ConsensusBlock::<TxEnvelope> { header: self.header.clone(), body }.length()
    }
}
