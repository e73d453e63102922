//! Payouts from the payer straight to the holders, by the token: one holder, or a page of them.
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};

use crate::{
    coin::{self, Payments, compare, paid_by, payments},
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
    compare(&wanted, &from_whom(receipt, payer, page))
}

/// Everything that left whoever paid the page.
fn from_whom(receipt: &Receipt, payer: Address, page: &PayoutPage) -> Payments {
    let found = paid_by(receipt, page.asset, payer);
    if found.is_empty() && receipt.from != payer {
        // Another agent executed our operation id out of its own pocket: the holders have their money all the same.
        return paid_by(receipt, page.asset, receipt.from);
    }
    found
}

/// What the coin says of one line of a page that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Exactly its units went to its holder.
    Paid,
    /// Another amount did.
    Other(U256),
    /// Nothing did.
    Nothing,
}

/// What the coin says of each line, where the page as a whole lacks its effect. Money for a holder from anybody at all is not nothing.
pub fn said_of_lines(receipt: &Receipt, payer: Address, page: &PayoutPage) -> Vec<Said> {
    let (mut paid, mut arrived) = (from_whom(receipt, payer, page), coin::arrived(receipt, page.asset));
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
            (true, _) => Said::Paid,
            (false, Some(payment)) => {
                take(&mut arrived, payment);
                Said::Other(payment.1)
            }
            (false, None) => Said::Nothing,
        });
    }
    said
}

/// Takes one payment out of what is counted, if there is one.
fn take(counted: &mut Payments, payment: (Address, U256)) -> bool {
    let Some(count) = counted.get_mut(&payment).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}

#[cfg(test)]
mod tests;
