//! The chain behind all endpoints: blocks, the pool of transactions, and what the world does to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy::primitives::{Address, B256, U256, keccak256};
use serde_json::{Value, json};
use world::Seed;

use crate::block::{Block, Receipt, Tx};
use crate::fault::{Fault, Hits};
use crate::ledger::{AGENT, Ledger};

pub const GWEI: u128 = 1_000_000_000;
/// Moves of both workers, which may all be needed until one of them sees the new branch.
const LOOKS_AFTER_REORG: u8 = 6;
/// A base fee above the cap of every seed.
const DEAR: u128 = 60 * GWEI;

/// The network.
pub struct Net {
    /// The canonical chain; the index is the height.
    pub blocks: Vec<Arc<Block>>,
    pub pool: BTreeMap<(Address, u64), Arc<Tx>>,
    /// The blocks that were replaced.
    orphans: Vec<Arc<Block>>,
    /// Whether the nodes keep the receipts of replaced blocks.
    pub keeps_orphans: bool,
    /// After so many more moves that follow the chain the oracle looks at once: a worker may have undone replaced blocks.
    pub looks: u8,
    /// Every transaction that ever reached a node: each may turn up again while its nonce is free.
    pub seen: BTreeMap<B256, Arc<Tx>>,
    /// The height that was announced as final; what is there never moves.
    pub last: u64,
    pub lag: u64,
    pub base_fee: u128,
    /// The base fee stays above every cap until all faults stop.
    pub is_dear: bool,
    /// Signers without money.
    pub broke: bool,
    pub seed: Seed,
    pub hits: Hits,
    /// Whether work is in flight: a fault that meets none proves nothing.
    pub busy: bool,
    salt: u64,
    requires: BTreeMap<B256, u64>,
    parts: BTreeSet<B256>,
    /// The issuer lifts every cap with the next block.
    pub lift_caps: bool,
}

/// What a pool says to a transaction.
pub enum Taken {
    Yes,
    Known,
    NonceTooLow,
    Underpriced,
    Unfunded,
}

impl Net {
    pub fn new(seed: Seed, lag: u64, now: u64) -> Self {
        let genesis = Block {
            number: 0,
            hash: keccak256("genesis"),
            parent: B256::ZERO,
            timestamp: now,
            base_fee: GWEI,
            receipts: Vec::new(),
            ledger: Arc::default(),
        };
        Self {
            blocks: vec![Arc::new(genesis)],
            orphans: Vec::new(),
            keeps_orphans: false,
            looks: 0,
            pool: BTreeMap::new(),
            seen: BTreeMap::new(),
            last: 0,
            lag,
            base_fee: GWEI,
            is_dear: false,
            broke: false,
            seed,
            hits: Hits::default(),
            busy: false,
            salt: 0,
            requires: BTreeMap::new(),
            parts: BTreeSet::new(),
            lift_caps: false,
        }
    }

    /// The receipt of a transaction in the last of its replaced blocks.
    pub fn orphan_receipt(&mut self, hash: &Value) -> Value {
        let found = self.orphans.iter().rev().find_map(|block| {
            block.receipts.iter().find(|receipt| json!(receipt.tx.hash) == *hash).map(|receipt| block.receipt(receipt))
        });
        if found.is_some() {
            self.hit(Fault::OrphanReceipt);
        }
        found.unwrap_or_default()
    }

    /// The canonical chain in words, to find the cause of a failure.
    pub fn story(&self) -> String {
        let line = |block: &Arc<Block>| {
            let calls: Vec<String> = block
                .receipts
                .iter()
                .map(|r| format!("{} {} {} ok {} ours {}", r.tx.from, r.tx.nonce, r.tx.hash, r.success, r.tx.ours))
                .collect();
            format!("block {} {} {}", block.number, block.hash, calls.join(", "))
        };
        self.blocks.iter().take(60).map(line).collect::<Vec<_>>().join("\n")
    }

    pub fn head(&self) -> &Arc<Block> {
        self.blocks.last().expect("there is a genesis")
    }

    /// The state that can no longer change.
    pub fn settled(&self) -> &Ledger {
        &self.blocks[self.last as usize].ledger
    }

    /// Two payloads of one operation: from the next block on the second needs the first's operation id.
    pub fn require(&mut self, first: (B256, u64), second: B256) {
        self.requires.insert(second, first.1);
        self.parts.extend([first.0, second]);
    }

    /// Whether a payload belongs to an operation of several steps.
    pub fn is_part(&self, payload: B256) -> bool {
        self.parts.contains(&payload)
    }

    pub fn hit(&mut self, fault: Fault) {
        if self.busy {
            self.hits.add(fault);
        }
    }

    pub fn next_salt(&mut self) -> u64 {
        self.salt += 1;
        self.salt
    }

    /// The market changes, unless it stays dear.
    pub fn set_base_fee(&mut self, fee: u128) {
        self.base_fee = if self.is_dear { DEAR } else { fee };
    }

    /// The market goes above every cap, if a transaction of ours waits for a block. True if it does so now.
    pub fn become_dear(&mut self) -> bool {
        if self.is_dear || !self.pool.values().any(|tx| tx.ours) {
            return false;
        }
        (self.is_dear, self.base_fee) = (true, DEAR);
        self.hit(Fault::Dear);
        true
    }

    /// A transaction reaches a pool.
    pub fn take(&mut self, tx: Arc<Tx>) -> Taken {
        if self.broke {
            self.hit(Fault::Unfunded);
            return Taken::Unfunded;
        }
        let next = self.head().ledger.nonces.get(&tx.from).copied().unwrap_or(0);
        let key = (tx.from, tx.nonce);
        self.seen.insert(tx.hash, tx.clone());
        if tx.nonce < next {
            return Taken::NonceTooLow;
        }
        if let Some(old) = self.pool.get(&key) {
            if old.hash == tx.hash {
                return Taken::Known;
            }
            let enough = |new: u128, old: u128| new >= old.saturating_mul(110) / 100;
            if !enough(tx.max_fee, old.max_fee) || !enough(tx.tip, old.tip) {
                return Taken::Underpriced;
            }
        }
        self.pool.insert(key, tx);
        Taken::Yes
    }

    /// A block with whatever of the pool is ready, paid for and lucky.
    pub fn mine(&mut self, now: u64, odds: f64) {
        let mut ledger = (*self.head().ledger).clone();
        ledger.requires = self.requires.clone();
        if self.lift_caps {
            ledger.tokens.values_mut().for_each(|token| token.cap = U256::MAX);
        }
        let mut receipts = Vec::new();
        let signers: Vec<Address> = self.pool.keys().map(|(from, _)| *from).collect();
        for from in signers {
            while let Some(tx) = self.next_of(from, ledger.nonces.get(&from).copied().unwrap_or(0)) {
                if tx.max_fee < self.base_fee || (self.broke && tx.ours) {
                    break;
                }
                if !self.seed.chance(odds) {
                    self.hit(Fault::Delayed);
                    break;
                }
                receipts.push(self.include(&mut ledger, tx));
            }
        }
        self.append(now, ledger, receipts);
    }

    /// The transaction that takes a nonce: the pool's, or now and then one that a node had kept all along.
    fn next_of(&mut self, from: Address, nonce: u64) -> Option<Arc<Tx>> {
        let pooled = self.pool.get(&(from, nonce)).cloned();
        if self.seed.chance(0.05) {
            let kept: Vec<_> = self.seen.values().filter(|t| t.from == from && t.nonce == nonce).cloned().collect();
            if !kept.is_empty() {
                let found = self.seed.pick(&kept).clone();
                if pooled.as_ref().is_none_or(|p| p.hash != found.hash) {
                    self.hit(Fault::Resurfaced);
                }
                return Some(found);
            }
        }
        pooled
    }

    fn include(&mut self, ledger: &mut Ledger, tx: Arc<Tx>) -> Receipt {
        if self.seen.values().filter(|t| t.from == tx.from && t.nonce == tx.nonce).count() > 1 {
            self.hit(Fault::ReplacedByBump);
        }
        self.pool.remove(&(tx.from, tx.nonce));
        ledger.nonces.insert(tx.from, tx.nonce + 1);
        match ledger.call(tx.from, tx.to, &tx.data) {
            Ok((_, events)) => Receipt { tx, success: true, revert: Default::default(), events },
            Err(revert) => {
                self.hit(Fault::Reverted);
                Receipt { tx, success: false, revert, events: Vec::new() }
            }
        }
    }

    /// So many empty blocks.
    pub fn grow(&mut self, now: u64, count: u64) {
        for _ in 0..count {
            self.seal(now, self.head().ledger.clone(), Vec::new());
        }
    }

    fn append(&mut self, now: u64, ledger: Ledger, receipts: Vec<Receipt>) {
        self.seal(now, Arc::new(ledger), receipts);
    }

    fn seal(&mut self, now: u64, ledger: Arc<Ledger>, receipts: Vec<Receipt>) {
        let salt = self.next_salt();
        let (parent, number) = (self.head().hash, self.head().number + 1);
        let hash = keccak256([parent.as_slice(), &number.to_be_bytes(), &salt.to_be_bytes()].concat());
        let timestamp = now.max(self.head().timestamp + 1);
        let block = Block { number, hash, parent, timestamp, base_fee: self.base_fee, receipts, ledger };
        self.blocks.push(Arc::new(block));
        self.last = self.last.max(number.saturating_sub(self.lag));
    }

    /// Whether a transaction of ours is in the pool or in a block that can still be replaced.
    pub fn has_open_calls(&self) -> bool {
        let open = self.blocks.iter().skip(self.last as usize + 1).flat_map(|block| &block.receipts);
        open.map(|receipt| &receipt.tx).chain(self.pool.values()).any(|tx| tx.ours)
    }

    /// More blocks pass than are walked one by one, after all blocks that are not final were taken back. Their transactions wait in the pool again.
    pub fn leap_after_reorganisation(&mut self, now: u64, count: u64) {
        self.mine(now, 1.0);
        for receipt in self.take_back(self.head().number - self.last).iter().flat_map(|block| &block.receipts) {
            self.pool.entry((receipt.tx.from, receipt.tx.nonce)).or_insert(receipt.tx.clone());
        }
        self.keeps_orphans = true;
        self.grow(now, count);
    }

    /// Takes away the newest blocks.
    fn take_back(&mut self, depth: u64) -> Vec<Arc<Block>> {
        let gone = self.blocks.split_off(self.blocks.len() - depth as usize);
        self.orphans.extend(gone.iter().cloned());
        self.looks = LOOKS_AFTER_REORG;
        gone
    }

    /// Replaces the newest blocks by others. Their transactions go back to the pool, or nowhere.
    pub fn reorganise(&mut self, now: u64) {
        let depth = self.head().number - self.last;
        if depth == 0 {
            return;
        }
        let depth = 1 + self.seed.below(depth);
        let gone = self.take_back(depth);
        let mut lost = false;
        for receipt in gone.iter().flat_map(|b| &b.receipts) {
            self.hit(Fault::Reorg);
            if receipt.tx.from == AGENT && receipt.success {
                self.hit(Fault::AgentReorg);
            }
            lost |= self.seed.chance(0.3);
            if !lost {
                self.pool.entry((receipt.tx.from, receipt.tx.nonce)).or_insert(receipt.tx.clone());
            } else {
                self.hit(Fault::ReorgLost);
            }
        }
        // Mostly longer than what it replaces, sometimes shorter for a while.
        let grown = (depth + self.seed.below(3)).saturating_sub(u64::from(self.seed.chance(0.2)));
        for _ in 0..grown {
            self.mine(now, 0.4);
        }
    }
}
