//! Building a block from the pool on top of the head and of blocks that are not yet durable.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::sync::Arc;

use alloy::consensus::{Header, Receipt, ReceiptEnvelope, Transaction, TxType, Typed2718};
use alloy::primitives::{Address, B256};
use revm::context::BlockEnv;
use revm::context_interface::result::ExecutionResult;

use crate::block::{Block, Draft, Signed, blank_header};
use crate::chain::Chain;
use crate::execute::{block_env, randao, rules, transact, transaction_env};
use crate::pool::Waiting;
use crate::state::{Account, Diff};
use crate::view::Overlay;

/// A block with the change it makes, ready for the journal.
pub(crate) struct Mined {
    pub block: Block,
    pub diff: Diff,
}

/// Blocks that are built and not yet durable, and the sum of their changes.
#[derive(Default)]
pub(crate) struct Staged {
    pub blocks: Vec<Mined>,
    pub sum: Diff,
    hashes: Vec<B256>,
    /// Transactions that proved unable to run; they leave the pool.
    pub dropped: HashSet<B256>,
}

impl Staged {
    /// The last staged block, or the head.
    pub fn tip<'a>(&'a self, chain: &'a Chain) -> &'a Block {
        self.blocks.last().map_or_else(|| chain.head().as_ref(), |mined| &mined.block)
    }

    /// The account at the tip.
    pub fn account(&self, chain: &Chain, address: &Address) -> Option<Account> {
        match self.sum.accounts.get(address) {
            Some(change) => change.account,
            None => chain.state.account(address),
        }
    }

    /// Adds a built block.
    pub fn push(&mut self, mined: Mined) {
        self.sum.merge(mined.diff.clone());
        self.hashes.push(mined.block.hash);
        self.blocks.push(mined);
    }
}

/// The header of the block after the tip, before anything is in it.
pub(crate) fn next_header(chain: &Chain, tip: &Block, timestamp: u64) -> Header {
    Header {
        parent_hash: tip.hash,
        number: tip.header.number + 1,
        gas_limit: chain.gas_limit,
        timestamp: timestamp.max(tip.header.timestamp),
        mix_hash: randao(tip.hash),
        base_fee_per_gas: Some(chain.next_base_fee(tip)),
        ..blank_header()
    }
}

/// Builds the next block from what the pool has ready.
pub(crate) fn build(chain: &Chain, staged: &mut Staged, timestamp: u64) -> Mined {
    let tip = staged.tip(chain);
    let (header, parent_root) = (next_header(chain, tip, timestamp), tip.header.state_root);
    let mut overlay =
        Overlay { view: chain.latest(), below: Some(&staged.sum), top: Diff::default(), hashes: &staged.hashes };
    let mut draft = Draft { header, transactions: Vec::new(), receipts: Vec::new() };
    let env = block_env(&draft.header);
    let mut ready = Ready::new(chain, &overlay, env.basefee, &staged.dropped);
    let (mut gas_used, mut dropped) = (0, Vec::new());
    while let Some(transaction) = ready.pop() {
        if transaction.gas_limit() > chain.gas_limit - gas_used {
            continue;
        }
        match run(&mut overlay, chain.chain_id, env.clone(), &transaction) {
            Some((success, gas, logs)) => {
                gas_used += gas;
                draft.receipts.push(receipt(&transaction, success, gas_used, logs));
                ready.follow(chain, &overlay, &transaction);
                draft.transactions.push(transaction);
            }
            None => dropped.push(*transaction.inner().tx_hash()),
        }
    }
    let diff = overlay.top;
    let block = draft.seal(parent_root, &crate::record::encode_diff(&diff));
    staged.dropped.extend(dropped);
    Mined { block, diff }
}

type RunResult = (bool, u64, Vec<alloy::primitives::Log>);

/// Executes a transaction and keeps its changes; `None` when it cannot be part of a block.
fn run(overlay: &mut Overlay<'_>, chain_id: u64, env: BlockEnv, transaction: &Signed) -> Option<RunResult> {
    let outcome = match transact(overlay, rules(chain_id), env, transaction_env(transaction)) {
        Ok(outcome) => outcome,
        Err(refusal) => {
            let hash = transaction.inner().tx_hash();
            tracing::debug!(transaction.hash = %hash, reason = %refusal, "dropped a transaction that cannot run");
            return None;
        }
    };
    overlay.top.absorb(outcome.state);
    let gas = outcome.result.tx_gas_used();
    Some(match outcome.result {
        ExecutionResult::Success { logs, .. } => (true, gas, logs),
        ExecutionResult::Revert { .. } | ExecutionResult::Halt { .. } => (false, gas, Vec::new()),
    })
}

fn receipt(
    transaction: &Signed,
    success: bool,
    cumulative_gas_used: u64,
    logs: Vec<alloy::primitives::Log>,
) -> ReceiptEnvelope {
    let receipt = Receipt { status: success.into(), cumulative_gas_used, logs }.with_bloom();
    match TxType::try_from(transaction.inner().ty()) {
        Ok(TxType::Eip2930) => ReceiptEnvelope::Eip2930(receipt),
        Ok(TxType::Eip1559) => ReceiptEnvelope::Eip1559(receipt),
        _ => ReceiptEnvelope::Legacy(receipt),
    }
}

/// The next transaction of each sender, best tip first and then first come, first served.
struct Ready<'a> {
    heap: BinaryHeap<(u128, Reverse<u64>, Address)>,
    next: BTreeMap<Address, Arc<Signed>>,
    base_fee: u64,
    dropped: &'a HashSet<B256>,
}

impl<'a> Ready<'a> {
    fn new(chain: &Chain, overlay: &Overlay<'_>, base_fee: u64, dropped: &'a HashSet<B256>) -> Self {
        let mut ready = Self { heap: BinaryHeap::new(), next: BTreeMap::new(), base_fee, dropped };
        for sender in chain.pool.senders() {
            ready.offer(chain, overlay, sender);
        }
        ready
    }

    /// Offers the sender's transaction that has the account's nonce, if it pays the base fee.
    fn offer(&mut self, chain: &Chain, overlay: &Overlay<'_>, sender: &Address) {
        let nonce = overlay.account(sender).map_or(0, |account| account.nonce);
        let Some(Waiting { transaction, arrival }) = chain.pool.get(sender, nonce) else { return };
        if self.dropped.contains(transaction.inner().tx_hash()) {
            return;
        }
        if let Some(tip) = transaction.effective_tip_per_gas(self.base_fee) {
            self.heap.push((tip, Reverse(*arrival), *sender));
            self.next.insert(*sender, transaction.clone());
        }
    }

    fn pop(&mut self) -> Option<Arc<Signed>> {
        let (_, _, sender) = self.heap.pop()?;
        self.next.remove(&sender)
    }

    fn follow(&mut self, chain: &Chain, overlay: &Overlay<'_>, done: &Signed) {
        self.offer(chain, overlay, &done.signer());
    }
}
