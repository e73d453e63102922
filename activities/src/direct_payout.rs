//! Payouts from the payer straight to the holders, by the token: one holder, or a page of them.
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};

use crate::{
    coin::{self, compare, paid_by, payments},
    line::{self, Line},
    operation::{MissingEffect, executed_effect},
    payout::{batchPayoutCall, payoutCall},
    receipt::Receipt,
    simulate::Call,
};

/// What one transaction pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutPage {
    /// The operation id of the page on its token.
    pub op_id: u64,
    /// The coin.
    pub asset: Address,
    /// Who gets how much of it.
    pub lines: Vec<Line>,
}

/// Pays a page; one holder alone is paid by `payout`, several by `batchPayout`.
pub fn pay(from: Address, token: Address, page: &PayoutPage) -> Call {
    let (op_id, asset) = (U256::from(page.op_id), page.asset);
    let data = match page.lines.as_slice() {
        [only] => payoutCall { opId: op_id, asset, to: only.holder(), amount: U256::from(only.units()) }.abi_encode(),
        lines => batchPayoutCall { opId: op_id, asset, lines: words(lines) }.abi_encode(),
    };
    Call { from, to: Some(token), data: data.into() }
}

/// The name of the function that pays so many holders.
pub const fn function(lines: usize) -> &'static str {
    if lines == 1 { "payout" } else { "batchPayout" }
}

/// The page that stands in a call.
pub fn page_of(data: &[u8]) -> Option<PayoutPage> {
    if let Ok(call) = payoutCall::abi_decode_validate(data) {
        let line = Line::new(call.to, call.amount.try_into().ok()?).ok()?;
        return Some(PayoutPage { op_id: call.opId.try_into().ok()?, asset: call.asset, lines: vec![line] });
    }
    let call = batchPayoutCall::abi_decode_validate(data).ok()?;
    let lines = call.lines.into_iter().map(line::of_word).collect();
    Some(PayoutPage { op_id: call.opId.try_into().ok()?, asset: call.asset, lines })
}

pub(crate) fn words(lines: &[Line]) -> Vec<B256> {
    lines.iter().map(|line| line.word()).collect()
}

/// Whether the receipt shows the page's operation id with its payload, and for each line one transfer of exactly its units from the
/// payer. What the token says of a payout proves nothing: the coin's own word counts.
pub fn page_effect(receipt: &Receipt, token: Address, payer: Address, page: &PayoutPage) -> Result<(), MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    executed_effect(receipt, token, page.op_id, &pay(receipt.from, token, page).data)?;
    let wanted = payments(page.lines.iter().map(|line| (line.holder(), U256::from(line.units()))));
    let mut found = paid_by(receipt, page.asset, payer);
    if found.is_empty() && receipt.from != payer {
        // Another agent executed our operation id out of its own pocket: the holders have their money all the same.
        found = coin::paid_by(receipt, page.asset, receipt.from);
    }
    compare(&wanted, &found)
}

#[cfg(test)]
mod tests;
