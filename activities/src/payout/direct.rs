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
        coin::{self, Payments, compare, paid_by, payments},
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

/// What the coin's events show for one line of an executed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTransfer {
    /// Exactly its units went to the holder.
    Exact,
    /// Another amount went to the holder.
    OtherAmount(U256),
    /// No transfer to the holder.
    Missing,
}

/// What the coin's events show for each line, if the page as a whole lacks its effect. A transfer to the holder from any
/// account counts as another amount.
pub fn line_transfers(receipt: &Receipt, payer: Address, page: &PayoutPage) -> Vec<LineTransfer> {
    let (mut paid, mut arrived) = (payments_of(receipt, payer, page), coin::arrived(receipt, page.asset));
    // Match exact payments first, so that no line takes the transfer of another line to the same holder.
    let exact: Vec<bool> = page
        .lines
        .iter()
        .map(|line| {
            let payment = (line.holder(), U256::from(line.units()));
            let is_paid = take(&mut paid, payment);
            if is_paid {
                take(&mut arrived, payment);
            }
            is_paid
        })
        .collect();
    let mut said = Vec::with_capacity(exact.len());
    for (line, exact) in page.lines.iter().zip(exact) {
        let other = arrived.iter().find(|((payee, _), count)| *payee == line.holder() && **count > 0);
        said.push(match (exact, other.map(|(payment, _)| *payment)) {
            (true, _) => LineTransfer::Exact,
            (false, Some(payment)) => {
                take(&mut arrived, payment);
                LineTransfer::OtherAmount(payment.1)
            }
            (false, None) => LineTransfer::Missing,
        });
    }
    said
}

/// Removes one payment from the counts; false if there is none.
fn take(counted: &mut Payments, payment: (Address, U256)) -> bool {
    let Some(count) = counted.get_mut(&payment).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}

#[cfg(test)]
mod tests;
