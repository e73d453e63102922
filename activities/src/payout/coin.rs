//! The ERC-20 of payouts. Its `Transfer` events are the only accepted proof of a payment.
use std::collections::BTreeMap;

use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};

use crate::{
    chain::{
        Chain,
        receipt::Receipt,
        simulate::{At, Call},
    },
    contract::{
        bindings::coin::DemoCoin,
        line::LineOutcome,
        operation::{MissingEffect, events, view},
    },
    fault::Fault,
};

/// Lets one of our contracts pull the coin from the caller without limit. Our contracts pull from their caller only.
pub fn approve(from: Address, asset: Address, spender: Address) -> Call {
    let call = DemoCoin::approveCall { spender, value: U256::MAX };
    Call { from, to: Some(asset), data: call.abi_encode().into() }
}

/// The spender of an `approve` call.
pub fn spender_of(data: &[u8]) -> Option<Address> {
    DemoCoin::approveCall::abi_decode_validate(data).ok().map(|call| call.spender)
}

/// Returns the owner of the allowance if the receipt shows one for the spender.
pub fn approve_effect(receipt: &Receipt, asset: Address, spender: Address) -> Result<Address, MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    let mut approvals = events::<DemoCoin::Approval>(receipt, asset).filter(|event| event.spender == spender);
    match approvals.find(|event| !event.value.is_zero()) {
        Some(event) => Ok(event.owner),
        None => Err(MissingEffect(format!("{asset} has no Approval event for the spender {spender}"))),
    }
}

/// The decimals of the coin.
pub async fn decimals(chain: &Chain, asset: Address) -> Result<u8, Fault> {
    view(chain, asset, &DemoCoin::decimalsCall {}, At::Latest).await
}

/// The balance of an account.
pub async fn balance_of(chain: &Chain, asset: Address, account: Address, at: At) -> Result<U256, Fault> {
    view(chain, asset, &DemoCoin::balanceOfCall { account }, at).await
}

/// How much of the owner's balance the spender may pull.
pub async fn allowance(chain: &Chain, asset: Address, owner: Address, spender: Address, at: At) -> Result<U256, Fault> {
    view(chain, asset, &DemoCoin::allowanceCall { owner, spender }, at).await
}

/// Mints the coin of the demonstration. No other coin lets anybody mint.
pub fn mint_play_money(from: Address, asset: Address, to: Address, amount: U256) -> Call {
    Call { from, to: Some(asset), data: DemoCoin::mintCall { to, amount }.abi_encode().into() }
}

/// Payments counted by payee and amount.
pub type Payments = BTreeMap<(Address, U256), usize>;

/// Receipts in one batch.
const RECEIPTS_PER_BATCH: usize = 100;

/// A transaction, and the distributor that pays in it. Without one, its sender pays or the contract that it calls.
pub type Paying = (B256, Option<Address>);

/// The payments in each transaction. None where the chain shows no success up to block `last`.
pub async fn paid_in(
    chain: &Chain,
    asset: Address,
    paying: &[Paying],
    last: u64,
) -> Result<Vec<Option<Payments>>, Fault> {
    let mut found = Vec::with_capacity(paying.len());
    for chunk in paying.chunks(RECEIPTS_PER_BATCH) {
        let hashes: Vec<B256> = chunk.iter().map(|(hash, _)| *hash).collect();
        for (receipt, (_, distributor)) in chain.receipts(&hashes).await?.into_iter().zip(chunk) {
            // A receipt above `last` can still be reorganised.
            let receipt = receipt.filter(|r| r.success && r.block_number <= last);
            found.push(receipt.map(|r| shown_by(&r, asset, *distributor)));
        }
    }
    Ok(found)
}

/// The payments in one transaction. The distributor pays from its own address, whichever contract the transaction calls.
fn shown_by(receipt: &Receipt, asset: Address, distributor: Option<Address>) -> Payments {
    if let Some(distributor) = distributor {
        return paid_by(receipt, asset, distributor);
    }
    let sources = [Some(receipt.from), receipt.to];
    let left = events::<DemoCoin::Transfer>(receipt, asset).filter(|event| sources.contains(&Some(event.from)));
    payments(left.map(|event| (event.to, event.value)))
}

/// Counts payments.
pub(crate) fn payments(all: impl Iterator<Item = (Address, U256)>) -> Payments {
    let mut counted = Payments::new();
    for payment in all {
        *counted.entry(payment).or_default() += 1;
    }
    counted
}

/// All payments from one account in this transaction.
pub(crate) fn paid_by(receipt: &Receipt, asset: Address, payer: Address) -> Payments {
    let transfers = events::<DemoCoin::Transfer>(receipt, asset).filter(|event| event.from == payer);
    payments(transfers.map(|event| (event.to, event.value)))
}

/// All payments in this transaction, from anybody.
fn arrived(receipt: &Receipt, asset: Address) -> Payments {
    payments(events::<DemoCoin::Transfer>(receipt, asset).map(|event| (event.to, event.value)))
}

/// Checks that exactly these payments were made: none missing, none extra, none with another amount.
pub(crate) fn compare(wanted: &Payments, found: &Payments) -> Result<(), MissingEffect> {
    for ((payee, amount), count) in wanted {
        let have = found.get(&(*payee, *amount)).copied().unwrap_or_default();
        if have < *count {
            return Err(MissingEffect(format!(
                "the coin shows {have} of {count} transfers of {amount} units to {payee}"
            )));
        }
    }
    match found.iter().find(|(payment, count)| wanted.get(*payment).copied().unwrap_or_default() < **count) {
        Some(((payee, amount), _)) => Err(MissingEffect(format!(
            "the coin shows a transfer of {amount} units to {payee} that is not on the page"
        ))),
        None => Ok(()),
    }
}

/// What the coin's events show for one line of an executed payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTransfer {
    /// Exactly its units went to the holder.
    Exact,
    /// Another amount went to the holder.
    OtherAmount(U256),
    /// No transfer to the holder.
    Missing,
}

/// What the coin's events show for each line, a payee and its units. `paid` is what the payer sent; a transfer to the payee from any account
/// counts as another amount.
pub(crate) fn line_transfers(
    receipt: &Receipt,
    asset: Address,
    mut paid: Payments,
    due: &[(Address, U256)],
) -> Vec<LineTransfer> {
    let mut arrived = arrived(receipt, asset);
    // Match exact payments first, so that no line takes the transfer of another line to the same holder.
    let exact: Vec<bool> = due
        .iter()
        .map(|payment| {
            let is_paid = take(&mut paid, *payment);
            if is_paid {
                take(&mut arrived, *payment);
            }
            is_paid
        })
        .collect();
    let mut said = Vec::with_capacity(exact.len());
    for ((payee, _), exact) in due.iter().zip(exact) {
        let other = arrived.iter().find(|((to, _), count)| to == payee && **count > 0);
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

/// What the distributor says about a line, and what the coin's events show where it says that it paid.
pub type LineShown = (LineOutcome, Option<LineTransfer>);

/// Compares what the distributor says about each line, and its units, with the coin's events.
pub(crate) fn lines_shown(
    receipt: &Receipt,
    asset: Address,
    paid: Payments,
    lines: &[(LineOutcome, u128)],
) -> Vec<LineShown> {
    let payee = |(outcome, units): &(LineOutcome, u128)| match outcome {
        LineOutcome::Paid(payee) => Some((*payee, U256::from(*units))),
        LineOutcome::Frozen | LineOutcome::TransferFailed | LineOutcome::Kept => None,
    };
    let due: Vec<_> = lines.iter().filter_map(payee).collect();
    let mut transfers = line_transfers(receipt, asset, paid, &due).into_iter();
    lines.iter().map(|line| (line.0, payee(line).and_then(|_| transfers.next()))).collect()
}

/// Removes one payment from the counts; false if there is none.
fn take(counted: &mut Payments, payment: (Address, U256)) -> bool {
    let Some(count) = counted.get_mut(&payment).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolEvent;

    use super::*;
    use crate::chain::receipt::Log;

    #[test]
    fn the_distributor_pays_whichever_contract_is_called() {
        let [coin, wallet, distributor, payee] = [1, 2, 3, 4].map(Address::repeat_byte);
        let transfer = |from, units: u64| {
            let event = DemoCoin::Transfer { from, to: payee, value: U256::from(units) }.encode_log_data();
            Log { address: coin, topics: event.topics().to_vec(), data: event.data }
        };
        let receipt = Receipt {
            tx_hash: B256::ZERO,
            block_number: 1,
            block_hash: B256::ZERO,
            from: Address::repeat_byte(9),
            to: Some(wallet),
            contract_address: None,
            success: true,
            gas_used: 0,
            effective_gas_price: 0,
            logs: vec![transfer(wallet, 5), transfer(distributor, 7)],
        };
        let one = |units: u64| payments(std::iter::once((payee, U256::from(units))));
        assert_eq!(shown_by(&receipt, coin, Some(distributor)), one(7));
        assert_eq!(shown_by(&receipt, coin, None), one(5));
    }
}
