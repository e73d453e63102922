//! One page of a mint, and the check of its effect in a receipt.
use std::collections::BTreeMap;

use alloy::{
    primitives::{Address, U256},
    sol_types::SolCall,
};
use serde::{Deserialize, Serialize};

use crate::{
    chain::{receipt::Receipt, simulate::Call},
    contract::{
        bindings::token::PlatformSecurityToken7518::{TokensLocked, TransferBatch, TransferSingle, mintPageCall},
        line::{Line, words},
        operation::{MissingEffect, events, executed_effect},
    },
};

/// One page of a mint: what one transaction mints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MintPage {
    /// The operation number of the page on its token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// The release time of the lock, in seconds since 1970; 0 for no lock.
    pub release_at: u64,
    /// Holders and units; a holder can be on several lines.
    pub lines: Vec<Line>,
}

/// Whitelists, mints and, if the page has a release time, locks: one page in one transaction.
pub fn mint_page(from: Address, token: Address, page: &MintPage) -> Call {
    let call = mintPageCall {
        opId: U256::from(page.op_id),
        partition: U256::from(page.partition),
        releaseAt: U256::from(page.release_at),
        lines: words(&page.lines),
    };
    Call { from, to: Some(token), data: call.abi_encode().into() }
}

/// Checks that the receipt shows the operation number with this payload, every mint and every lock of the page.
pub fn mint_effect(receipt: &Receipt, token: Address, page: &MintPage) -> Result<(), MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    executed_effect(receipt, token, page.op_id, &mint_page(receipt.from, token, page).data)?;
    let wanted = sums(page.lines.iter().map(|line| (line.holder(), U256::from(line.units()))));
    compare("was minted", &wanted, &issued(receipt, token, page.partition))?;
    if page.release_at == 0 {
        return Ok(());
    }
    let locks = events::<TokensLocked>(receipt, token);
    let ours =
        locks.filter(|lock| lock.id == U256::from(page.partition) && lock.releaseTime == U256::from(page.release_at));
    compare("was locked", &wanted, &sums(ours.map(|lock| (lock.account, lock.amount))))
}

/// The units that each holder received from the zero address in this transaction.
fn issued(receipt: &Receipt, token: Address, partition: u32) -> BTreeMap<Address, U256> {
    let partition = U256::from(partition);
    // The token emits TransferSingle for one line and TransferBatch for several.
    let singles = events::<TransferSingle>(receipt, token)
        .filter(|event| event.from.is_zero() && event.id == partition)
        .map(|event| (event.to, event.value));
    let batches = events::<TransferBatch>(receipt, token).filter(|event| event.from.is_zero()).flat_map(|event| {
        let to = event.to;
        event
            .ids
            .into_iter()
            .zip(event.values)
            .filter(move |(id, _)| *id == partition)
            .map(move |(_, value)| (to, value))
    });
    sums(singles.chain(batches))
}

fn sums(parts: impl Iterator<Item = (Address, U256)>) -> BTreeMap<Address, U256> {
    let mut sums: BTreeMap<Address, U256> = BTreeMap::new();
    for (holder, units) in parts {
        let sum = sums.entry(holder).or_default();
        *sum = sum.saturating_add(units);
    }
    sums
}

/// Holders can have several lines and the token can merge them, so sums are compared, not events.
fn compare(what: &str, wanted: &BTreeMap<Address, U256>, found: &BTreeMap<Address, U256>) -> Result<(), MissingEffect> {
    for (holder, units) in wanted {
        let have = found.get(holder).copied().unwrap_or_default();
        if have != *units {
            return Err(MissingEffect(format!("{have} of {units} units {what} for {holder}")));
        }
    }
    match found.keys().find(|holder| !wanted.contains_key(*holder)) {
        Some(holder) => Err(MissingEffect(format!("units {what} for {holder}, who is not on the page"))),
        None => Ok(()),
    }
}
