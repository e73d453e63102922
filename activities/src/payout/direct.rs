//! Payouts from the payer straight to holders, through the token: one holder, or a page of holders.
use alloy::{
    primitives::{Address, U256},
    sol_types::SolCall,
};

use crate::{
    chain::{receipt::Receipt, simulate::Call},
    contract::{
        line::{Line, words},
        operation::{MissingEffect, executed_effect},
    },
    payout::{
        calldata::{batchPayoutCall, payoutCall},
        coin::{self, LineTransfer, Payments, compare, paid_by, payments},
    },
};

/// One page of a payout: what one transaction pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutPage {
    /// The operation number of the page on its token.
    pub op_id: u64,
    /// The coin.
    pub asset: Address,
    /// Holders and units.
    pub lines: Vec<Line>,
}

/// The call that pays a page: `payout` for one holder, `batchPayout` for several.
pub fn pay(from: Address, token: Address, page: &PayoutPage) -> Call {
    let (op_id, asset) = (U256::from(page.op_id), page.asset);
    let data = match page.lines.as_slice() {
        [only] => payoutCall { opId: op_id, asset, to: only.holder(), amount: U256::from(only.units()) }.abi_encode(),
        lines => batchPayoutCall { opId: op_id, asset, lines: words(lines) }.abi_encode(),
    };
    Call { from, to: Some(token), data: data.into() }
}

/// The contract function that pays this number of holders.
pub const fn function(lines: usize) -> &'static str {
    if lines == 1 { "payout" } else { "batchPayout" }
}

/// Decodes the page of a call.
pub fn page_of(data: &[u8]) -> Option<PayoutPage> {
    if let Ok(call) = payoutCall::abi_decode_validate(data) {
        let line = Line::new(call.to, call.amount.try_into().ok()?).ok()?;
        return Some(PayoutPage { op_id: call.opId.try_into().ok()?, asset: call.asset, lines: vec![line] });
    }
    let call = batchPayoutCall::abi_decode_validate(data).ok()?;
    let lines = call.lines.into_iter().map(Line::of_word).collect();
    Some(PayoutPage { op_id: call.opId.try_into().ok()?, asset: call.asset, lines })
}

/// Checks that the receipt shows the operation number with this payload, and one transfer of exactly its units for each
/// line. Only the coin's events prove a transfer; the token's own events do not.
pub fn page_effect(receipt: &Receipt, token: Address, payer: Address, page: &PayoutPage) -> Result<(), MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    executed_effect(receipt, token, page.op_id, &pay(receipt.from, token, page).data)?;
    let wanted = payments(page.lines.iter().map(|line| (line.holder(), U256::from(line.units()))));
    compare(&wanted, &payments_of(receipt, payer, page))
}

/// All payments from the account that paid the page.
fn payments_of(receipt: &Receipt, payer: Address, page: &PayoutPage) -> Payments {
    let found = paid_by(receipt, page.asset, payer);
    if found.is_empty() && receipt.from != payer {
        // Another agent executed the operation from its own balance: the holders are paid, so it counts.
        return paid_by(receipt, page.asset, receipt.from);
    }
    found
}

/// What the coin's events show for each line, if the page as a whole lacks its effect.
pub fn line_transfers(receipt: &Receipt, payer: Address, page: &PayoutPage) -> Vec<LineTransfer> {
    let due: Vec<_> = page.lines.iter().map(|line| (line.holder(), U256::from(line.units()))).collect();
    coin::line_transfers(receipt, page.asset, payments_of(receipt, payer, page), &due)
}

#[cfg(test)]
mod tests;
