//! Accounts, code and storage at the head, and the changes that move them.

use std::collections::{BTreeMap, HashMap};

use alloy::primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;
use revm::state::EvmState;

/// An account without its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub nonce: u64,
    pub balance: U256,
    pub code_hash: B256,
}

impl Account {
    /// An account with only a balance.
    pub fn funded(balance: U256) -> Self {
        Self { nonce: 0, balance, code_hash: KECCAK256_EMPTY }
    }

    fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == KECCAK256_EMPTY
    }
}

/// The change of one account: its new self (`None` when it is gone) and its new slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub account: Option<Account>,
    pub slots: BTreeMap<U256, U256>,
}

/// The changes of one or more transactions, in an order that does not depend on hashing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    pub accounts: BTreeMap<Address, Change>,
    pub codes: BTreeMap<B256, Bytes>,
}

impl Diff {
    /// A diff that sets one account only.
    pub fn of(address: Address, account: Account) -> Self {
        let change = Change { account: Some(account), slots: BTreeMap::new() };
        Self { accounts: BTreeMap::from([(address, change)]), codes: BTreeMap::new() }
    }

    /// Lays a later diff over this one.
    pub fn merge(&mut self, later: Diff) {
        self.codes.extend(later.codes);
        for (address, change) in later.accounts {
            let mine = self.accounts.entry(address).or_default();
            if change.account.is_none() {
                mine.slots.clear();
            }
            mine.account = change.account;
            mine.slots.extend(change.slots);
        }
    }

    /// Adds what one executed transaction touched.
    pub fn absorb(&mut self, touched: EvmState) {
        let mut diff = Diff::default();
        for (address, account) in touched {
            if !account.is_touched() {
                continue;
            }
            let info =
                Account { nonce: account.info.nonce, balance: account.info.balance, code_hash: account.info.code_hash };
            // EIP-161: what is touched and empty is no account. Since Cancun an account dies
            // only in the transaction that made it, so no slot of an older one is ever lost.
            let gone = account.is_selfdestructed() || info.is_empty();
            let mut change = Change { account: (!gone).then_some(info), slots: BTreeMap::new() };
            if !gone {
                change.slots.extend(account.changed_storage_slots().map(|(k, v)| (*k, v.present_value)));
                let created = account.is_created();
                if let Some(code) = account.info.code.filter(|code| created && !code.is_empty()) {
                    diff.codes.insert(info.code_hash, code.original_bytes());
                }
            }
            diff.accounts.insert(address, change);
        }
        self.merge(diff);
    }
}

/// The state at the head.
#[derive(Debug, Default)]
pub(crate) struct State {
    accounts: HashMap<Address, Account>,
    slots: HashMap<Address, HashMap<U256, U256>>,
    codes: HashMap<B256, Bytecode>,
}

impl State {
    pub fn account(&self, address: &Address) -> Option<Account> {
        self.accounts.get(address).copied()
    }

    pub fn slot(&self, address: &Address, slot: &U256) -> U256 {
        self.slots.get(address).and_then(|slots| slots.get(slot)).copied().unwrap_or_default()
    }

    pub fn code(&self, hash: &B256) -> Bytecode {
        self.codes.get(hash).cloned().unwrap_or_default()
    }

    /// Applies a diff and returns the one that takes it back.
    pub fn apply(&mut self, diff: &Diff) -> Diff {
        let mut undo = Diff::default();
        for (hash, code) in &diff.codes {
            // Code is kept for good: an undo never needs to take it away.
            self.codes.entry(*hash).or_insert_with(|| Bytecode::new_raw(code.clone()));
        }
        for (address, change) in &diff.accounts {
            let before = match change.account {
                Some(account) => self.accounts.insert(*address, account),
                None => self.accounts.remove(address),
            };
            let mut slots_before = BTreeMap::new();
            if !change.slots.is_empty() {
                let slots = self.slots.entry(*address).or_default();
                for (slot, value) in &change.slots {
                    let old = if value.is_zero() { slots.remove(slot) } else { slots.insert(*slot, *value) };
                    slots_before.insert(*slot, old.unwrap_or_default());
                }
            }
            undo.accounts.insert(*address, Change { account: before, slots: slots_before });
        }
        undo
    }
}
