//! The state as it was at the end of one of the last blocks, and the database revm reads.

use std::convert::Infallible;

use alloy::primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;

use crate::chain::Chain;
use crate::state::{Account, Diff};

/// State at the end of block `number`, which must be inside the window of kept undo records.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub chain: &'a Chain,
    pub number: u64,
}

impl View<'_> {
    /// The account, or `None` when it did not exist then.
    pub fn account(&self, address: &Address) -> Option<Account> {
        for undo in self.chain.undos_after(self.number) {
            if let Some(change) = undo.accounts.get(address) {
                return change.account;
            }
        }
        self.chain.state.account(address)
    }

    /// The value of a storage slot.
    pub fn slot(&self, address: &Address, slot: &U256) -> U256 {
        for undo in self.chain.undos_after(self.number) {
            let Some(change) = undo.accounts.get(address) else { continue };
            if let Some(value) = change.slots.get(slot) {
                return *value;
            }
            if change.account.is_none() {
                return U256::ZERO;
            }
        }
        self.chain.state.slot(address, slot)
    }
}

/// A view with uncommitted diffs on top, newest last. Blocks are built on it; calls use it bare.
pub(crate) struct Overlay<'a> {
    pub view: View<'a>,
    pub below: Option<&'a Diff>,
    pub top: Diff,
    /// Hashes of the uncommitted blocks, the first of which follows `view.number`.
    pub hashes: &'a [B256],
}

impl<'a> Overlay<'a> {
    /// An overlay that adds nothing to `view`.
    pub fn bare(view: View<'a>) -> Self {
        Self { view, below: None, top: Diff::default(), hashes: &[] }
    }

    fn layers(&self) -> impl Iterator<Item = &Diff> {
        std::iter::once(&self.top).chain(self.below)
    }

    /// The account as the next transaction will see it.
    pub fn account(&self, address: &Address) -> Option<Account> {
        match self.layers().find_map(|diff| diff.accounts.get(address)) {
            Some(change) => change.account,
            None => self.view.account(address),
        }
    }
}

impl revm::Database for Overlay<'_> {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.account(&address).map(|account| AccountInfo {
            nonce: account.nonce,
            balance: account.balance,
            code_hash: account.code_hash,
            code: None,
            account_id: None,
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        let fresh = self.layers().find_map(|diff| diff.codes.get(&hash));
        Ok(match fresh {
            Some(code) => Bytecode::new_raw(code.clone()),
            None => self.view.chain.state.code(&hash),
        })
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Infallible> {
        for diff in self.layers() {
            let Some(change) = diff.accounts.get(&address) else { continue };
            if let Some(value) = change.slots.get(&slot) {
                return Ok(*value);
            }
            if change.account.is_none() {
                return Ok(U256::ZERO);
            }
        }
        Ok(self.view.slot(&address, &slot))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        if let Some(index) = number.checked_sub(self.view.number + 1) {
            return Ok(self.hashes.get(index as usize).copied().unwrap_or_default());
        }
        Ok(self.view.chain.block(number).map(|block| block.hash).unwrap_or_default())
    }
}
