//! The visible chain: blocks, their indices, the state at the head and the way back from it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use alloy::primitives::{Address, B256};

use crate::block::Block;
use crate::pool::Pool;
use crate::schedule::Schedule;
use crate::state::{Diff, State};
use crate::view::View;

/// The position of a mined transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub block: u64,
    pub index: usize,
}

/// Everything that readers see. Only the writer changes it, one durable block at a time.
pub(crate) struct Chain {
    pub chain_id: u64,
    pub gas_limit: u64,
    pub accounts: Vec<Address>,
    pub state: State,
    pub pool: Pool,
    pub schedule: Schedule,
    blocks: Vec<Arc<Block>>,
    by_hash: HashMap<B256, u64>,
    places: HashMap<B256, Place>,
    /// Undo records of the last blocks, oldest first; the last one takes the head back.
    undos: VecDeque<Diff>,
    undos_max: usize,
}

impl Chain {
    /// The base fee of the block after this one, at least what was ordered.
    pub fn next_base_fee(&self, block: &Block) -> u64 {
        block.next_base_fee().max(self.schedule.base_fee_min)
    }

    /// A chain that has only its genesis block.
    pub fn new(
        chain_id: u64,
        genesis: Block,
        diff: &Diff,
        accounts: Vec<Address>,
        history_blocks: u64,
        schedule: Schedule,
    ) -> Self {
        let mut state = State::default();
        state.apply(diff);
        Self {
            chain_id,
            gas_limit: genesis.header.gas_limit,
            accounts,
            state,
            pool: Pool::default(),
            schedule,
            by_hash: HashMap::from([(genesis.hash, 0)]),
            blocks: vec![Arc::new(genesis)],
            places: HashMap::new(),
            undos: VecDeque::new(),
            undos_max: usize::try_from(history_blocks).unwrap_or(usize::MAX),
        }
    }

    /// The last block, which is final.
    pub fn head(&self) -> &Arc<Block> {
        // There is always a genesis block; indexing cannot fail.
        &self.blocks[self.blocks.len() - 1]
    }

    /// The block with this number.
    pub fn block(&self, number: u64) -> Option<&Arc<Block>> {
        self.blocks.get(usize::try_from(number).ok()?)
    }

    /// The block with this hash.
    pub fn block_by_hash(&self, hash: &B256) -> Option<&Arc<Block>> {
        self.block(*self.by_hash.get(hash)?)
    }

    /// The position of the transaction with this hash.
    pub fn place(&self, transaction: &B256) -> Option<(&Arc<Block>, usize)> {
        let place = self.places.get(transaction)?;
        Some((self.block(place.block)?, place.index))
    }

    /// State at the head.
    pub fn latest(&self) -> View<'_> {
        View { chain: self, number: self.head().header.number }
    }

    /// State at the end of block `number`, if it is still kept.
    pub fn view(&self, number: u64) -> Option<View<'_>> {
        let head = self.head().header.number;
        let oldest = head - self.undos.len() as u64;
        (oldest..=head).contains(&number).then_some(View { chain: self, number })
    }

    /// Undo records of the blocks after `number`, oldest first.
    pub fn undos_after(&self, number: u64) -> impl Iterator<Item = &Diff> {
        let back = usize::try_from(self.head().header.number - number).unwrap_or(usize::MAX);
        self.undos.iter().skip(self.undos.len().saturating_sub(back))
    }

    /// Makes a durable block visible.
    pub fn append(&mut self, block: Block, diff: &Diff) {
        let number = block.header.number;
        for (index, transaction) in block.transactions.iter().enumerate() {
            self.places.insert(*transaction.inner().tx_hash(), Place { block: number, index });
        }
        let undo = self.state.apply(diff);
        for transaction in &block.transactions {
            let nonce = self.state.account(&transaction.signer()).map_or(0, |account| account.nonce);
            self.pool.forget_below(&transaction.signer(), nonce);
        }
        self.by_hash.insert(block.hash, number);
        self.blocks.push(Arc::new(block));
        self.undos.push_back(undo);
        if self.undos.len() > self.undos_max {
            self.undos.pop_front();
        }
    }

    /// Changes the state at the head outside of any block. Past states keep what they were.
    pub fn patch(&mut self, diff: &Diff) {
        let undo = self.state.apply(diff);
        let Some(last) = self.undos.back_mut() else { return };
        for (address, change) in undo.accounts {
            last.accounts.entry(address).or_insert(change);
        }
    }
}
