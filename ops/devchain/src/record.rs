//! A journal entry in RLP: a block with its receipts and its change of state.

use std::sync::Arc;

use alloy::consensus::transaction::Recovered;
use alloy::consensus::{Header, ReceiptEnvelope, TxEnvelope};
use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::{Decodable, Encodable, RlpDecodable, RlpEncodable};

use crate::block::Block;
use crate::state::{Account, Change, Diff};

/// One entry. Without a block it is a change of state that was ordered from outside.
#[derive(Debug, PartialEq, RlpEncodable, RlpDecodable)]
pub(crate) struct Entry {
    pub chain_id: u64,
    /// Seconds that the chain's time is ahead of the clock, as the bits of an `i64`.
    pub ahead_seconds: u64,
    block: Vec<StoredBlock>,
    diff: StoredDiff,
}

#[derive(Debug, PartialEq, RlpEncodable, RlpDecodable)]
struct StoredBlock {
    header: Header,
    transactions: Vec<TxEnvelope>,
    /// Kept because recovering them from signatures would take most of the time of a start.
    senders: Vec<Address>,
    receipts: Vec<ReceiptEnvelope>,
}

#[derive(Debug, PartialEq, RlpEncodable, RlpDecodable)]
struct StoredDiff {
    accounts: Vec<StoredChange>,
    codes: Vec<Bytes>,
}

#[derive(Debug, PartialEq, RlpEncodable, RlpDecodable)]
struct StoredChange {
    address: Address,
    exists: bool,
    nonce: u64,
    balance: U256,
    code_hash: B256,
    slots: Vec<StoredSlot>,
}

#[derive(Debug, PartialEq, RlpEncodable, RlpDecodable)]
struct StoredSlot {
    key: U256,
    value: U256,
}

impl Entry {
    /// The entry of a block, or of a change outside of blocks.
    pub fn new(chain_id: u64, ahead_seconds: i64, block: Option<&Block>, diff: &Diff) -> Self {
        let block = block.map(|block| StoredBlock {
            header: block.header.clone(),
            transactions: block.transactions.iter().map(|transaction| transaction.inner().clone()).collect(),
            senders: block.transactions.iter().map(|transaction| transaction.signer()).collect(),
            receipts: block.receipts.clone(),
        });
        Self {
            chain_id,
            ahead_seconds: u64::from_be_bytes(ahead_seconds.to_be_bytes()),
            block: block.into_iter().collect(),
            diff: stored(diff),
        }
    }

    /// The block, its hash computed again from the header, and the change.
    pub fn open(self) -> (Option<Block>, Diff) {
        let block = self.block.into_iter().next().map(|stored| Block {
            hash: stored.header.hash_slow(),
            header: stored.header,
            transactions: stored
                .transactions
                .into_iter()
                .zip(stored.senders)
                .map(|(transaction, sender)| Arc::new(Recovered::new_unchecked(transaction, sender)))
                .collect(),
            receipts: stored.receipts,
        });
        (block, restored(self.diff))
    }
}

/// All entries of one commit, which reach the journal together or not at all.
pub(crate) fn encode(entries: &Vec<Entry>) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.length());
    entries.encode(&mut out);
    out
}

/// Reads back what [`encode`] wrote.
pub(crate) fn decode(mut payload: &[u8]) -> alloy_rlp::Result<Vec<Entry>> {
    let entries = Vec::<Entry>::decode(&mut payload)?;
    if payload.is_empty() { Ok(entries) } else { Err(alloy_rlp::Error::UnexpectedLength) }
}

/// The bytes that the state commitment of a block is made of.
pub(crate) fn encode_diff(diff: &Diff) -> Vec<u8> {
    alloy_rlp::encode(stored(diff))
}

fn stored(diff: &Diff) -> StoredDiff {
    let accounts = diff.accounts.iter().map(|(address, change)| {
        let account = change.account.unwrap_or(Account::funded(U256::ZERO));
        StoredChange {
            address: *address,
            exists: change.account.is_some(),
            nonce: account.nonce,
            balance: account.balance,
            code_hash: account.code_hash,
            slots: change.slots.iter().map(|(key, value)| StoredSlot { key: *key, value: *value }).collect(),
        }
    });
    StoredDiff { accounts: accounts.collect(), codes: diff.codes.values().cloned().collect() }
}

fn restored(diff: StoredDiff) -> Diff {
    let accounts = diff.accounts.into_iter().map(|stored| {
        let account = Account { nonce: stored.nonce, balance: stored.balance, code_hash: stored.code_hash };
        let slots = stored.slots.into_iter().map(|slot| (slot.key, slot.value)).collect();
        (stored.address, Change { account: stored.exists.then_some(account), slots })
    });
    Diff { accounts: accounts.collect(), codes: diff.codes.into_iter().map(|code| (keccak256(&code), code)).collect() }
}
