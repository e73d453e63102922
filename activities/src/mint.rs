//! A page of a mint, and whether a receipt shows that every line of it happened.
use std::collections::BTreeMap;

use alloy::primitives::{Address, U256};
use serde::{Deserialize, Serialize};

use crate::{
    bindings::token::PlatformSecurityToken7518::{TokensLocked, TransferBatch, TransferSingle},
    line::Line,
    operation::{MissingEffect, events, executed_effect},
    receipt::Receipt,
    token,
};

/// One page of a mint: what one transaction issues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MintPage {
    /// The operation id of the page on its token.
    pub op_id: u64,
    /// The partition.
    pub partition: u32,
    /// Until when the units are locked, in seconds since 1970; 0 for no lock.
    pub release_at: u64,
    /// Who gets how much; a holder may stand on several lines.
    pub lines: Vec<Line>,
}

/// Whether the receipt shows the page's operation id with its payload, every unit issued, and every lock asked for.
pub fn mint_effect(receipt: &Receipt, token: Address, page: &MintPage) -> Result<(), MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    executed_effect(receipt, token, page.op_id, &token::mint_page(receipt.from, token, page).data)?;
    let wanted = sums(page.lines.iter().map(|line| (line.holder(), U256::from(line.units()))));
    compare("was issued", &wanted, &issued(receipt, token, page.partition))?;
    if page.release_at == 0 {
        return Ok(());
    }
    let locks = events::<TokensLocked>(receipt, token);
    let ours =
        locks.filter(|lock| lock.id == U256::from(page.partition) && lock.releaseTime == U256::from(page.release_at));
    compare("was locked", &wanted, &sums(ours.map(|lock| (lock.account, lock.amount))))
}

/// What each holder got from nothing in this transaction.
fn issued(receipt: &Receipt, token: Address, partition: u32) -> BTreeMap<Address, U256> {
    let partition = U256::from(partition);
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

fn compare(what: &str, wanted: &BTreeMap<Address, U256>, found: &BTreeMap<Address, U256>) -> Result<(), MissingEffect> {
    for (holder, units) in wanted {
        let have = found.get(holder).copied().unwrap_or_default();
        if have != *units {
            return Err(MissingEffect(format!("{have} of {units} units {what} for {holder}")));
        }
    }
    match found.keys().find(|holder| !wanted.contains_key(*holder)) {
        Some(stranger) => Err(MissingEffect(format!("something {what} for {stranger}, who is not on the page"))),
        None => Ok(()),
    }
}
