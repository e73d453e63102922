//! Transactions that wait: for the next block, or for the nonces before them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use alloy::consensus::Transaction;
use alloy::primitives::{Address, B256};

use crate::block::Signed;
use crate::fault::Fault;

/// More than this many waiting transactions are refused.
const TRANSACTIONS_MAX: usize = 20_000;

/// A waiting transaction and its place in the order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub transaction: Arc<Signed>,
    pub arrival: u64,
}

/// The pool. It is not journaled: what was not mined before a crash must be sent again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    senders: BTreeMap<Address, BTreeMap<u64, Waiting>>,
    by_hash: HashMap<B256, (Address, u64)>,
    arrivals: u64,
}

impl Pool {
    /// Takes a transaction, in the place of one with the same nonce if it pays enough more.
    pub fn insert(&mut self, transaction: Arc<Signed>) -> Result<(), Fault> {
        let hash = *transaction.inner().tx_hash();
        let (sender, nonce) = (transaction.signer(), transaction.nonce());
        if self.by_hash.contains_key(&hash) {
            return Err(Fault::rejected("already known"));
        }
        match self.get(&sender, nonce) {
            Some(old) if !outbids(&transaction, &old.transaction) => {
                return Err(Fault::rejected("replacement transaction underpriced"));
            }
            None if self.by_hash.len() >= TRANSACTIONS_MAX => return Err(Fault::rejected("txpool is full")),
            _ => {}
        }
        self.remove(&sender, nonce);
        self.arrivals += 1;
        let waiting = Waiting { transaction, arrival: self.arrivals };
        self.senders.entry(sender).or_default().insert(nonce, waiting);
        self.by_hash.insert(hash, (sender, nonce));
        Ok(())
    }

    /// The transaction of a sender with this nonce.
    pub fn get(&self, sender: &Address, nonce: u64) -> Option<&Waiting> {
        self.senders.get(sender)?.get(&nonce)
    }

    /// The transaction with this hash.
    pub fn by_hash(&self, hash: &B256) -> Option<&Arc<Signed>> {
        let (sender, nonce) = self.by_hash.get(hash)?;
        self.get(sender, *nonce).map(|waiting| &waiting.transaction)
    }

    /// Every sender that has something waiting.
    pub fn senders(&self) -> impl Iterator<Item = &Address> {
        self.senders.keys()
    }

    /// The nonce after the last waiting one, counted from `nonce` without a gap.
    pub fn next_nonce(&self, sender: &Address, mut nonce: u64) -> u64 {
        while self.get(sender, nonce).is_some() {
            nonce += 1;
        }
        nonce
    }

    /// Forgets everything of a sender below `nonce`: mined, or outrun by what was mined.
    pub fn forget_below(&mut self, sender: &Address, nonce: u64) {
        let Some(waiting) = self.senders.get_mut(sender) else { return };
        let kept = waiting.split_off(&nonce);
        for gone in waiting.values() {
            self.by_hash.remove(gone.transaction.inner().tx_hash());
        }
        *waiting = kept;
        if waiting.is_empty() {
            self.senders.remove(sender);
        }
    }

    /// Forgets the transaction with this hash.
    pub fn forget(&mut self, hash: &B256) {
        if let Some((sender, nonce)) = self.by_hash.get(hash).copied() {
            self.remove(&sender, nonce);
        }
    }

    /// Forgets what a sender has with this nonce.
    fn remove(&mut self, sender: &Address, nonce: u64) {
        let Some(waiting) = self.senders.get_mut(sender) else { return };
        if let Some(gone) = waiting.remove(&nonce) {
            self.by_hash.remove(gone.transaction.inner().tx_hash());
        }
        if waiting.is_empty() {
            self.senders.remove(sender);
        }
    }
}

/// A replacement raises both the fee cap and the tip by a tenth or more.
fn outbids(new: &Signed, old: &Signed) -> bool {
    let enough = |new: u128, old: u128| new >= old.saturating_add(old.div_ceil(10)) && new > old;
    let tip = |transaction: &Signed| transaction.max_priority_fee_per_gas().unwrap_or(transaction.max_fee_per_gas());
    enough(new.max_fee_per_gas(), old.max_fee_per_gas()) && (enough(tip(new), tip(old)) || tip(old) == 0)
}
