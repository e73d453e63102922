//! The `PlatformYieldDistributor`: a payout list is declared, escrowed and paid page by page.
use alloy::{
    primitives::{Address, B256, U256, keccak256},
    sol_types::{SolCall, SolEvent},
};

use crate::{
    chain::{
        Chain,
        logs::LogFilter,
        receipt::Receipt,
        simulate::{At, Call},
    },
    contract::{
        bindings::distributor::PlatformYieldDistributor as Distributor,
        line::{Line, LineOutcome, words},
        operation::{Execution, MissingEffect, events, view},
    },
    fault::Fault,
    payout::{
        claim::{self, Claim},
        coin::{self, LineShown, Payments, compare, paid_by, payments},
    },
};

/// The declaration of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The id of the list in the contract.
    pub id: B256,
    /// The token whose freezes and recoveries apply.
    pub token: Address,
    /// The coin of the payout.
    pub asset: Address,
    /// Total units of the coin.
    pub total: u128,
    /// Number of lines.
    pub count: u64,
    /// The hash of all lines, rolled up from the last one.
    pub commitment: B256,
}

/// One page of a declared list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscrowPage {
    /// The id of the list.
    pub id: B256,
    /// Index of the first line.
    pub from: u64,
    /// The hash of the lines behind the page. With it the page proves that it is the next part of the declared list.
    pub tail: B256,
    /// The lines of the page.
    pub lines: Vec<Line>,
}

/// The hash of lines in front of a tail: each line is hashed with the hash of the lines behind it, from the last to the first.
fn rolled(tail: B256, lines: &[Line]) -> B256 {
    lines.iter().rev().fold(tail, |behind, line| keccak256([behind.0, line.word().0].concat()))
}

/// The hash of a whole list. It does not depend on where pages begin.
pub fn commitment(lines: &[Line]) -> B256 {
    rolled(B256::ZERO, lines)
}

/// Cuts a list into pages, each with the hash of the lines behind it.
pub fn pages(id: B256, lines: &[Line], page_lines: usize) -> Vec<EscrowPage> {
    let mut tail = B256::ZERO;
    let cut = |(index, lines): (usize, &[Line])| {
        let page = EscrowPage { id, from: (index * page_lines) as u64, tail, lines: lines.to_vec() };
        tail = rolled(tail, lines);
        page
    };
    let mut pages: Vec<EscrowPage> = lines.chunks(page_lines).enumerate().rev().map(cut).collect();
    pages.reverse();
    pages
}

fn send(from: Address, distributor: Address, call: impl SolCall) -> Call {
    Call { from, to: Some(distributor), data: call.abi_encode().into() }
}

/// Declares a list and moves its total into escrow.
pub fn create(from: Address, distributor: Address, d: &Declaration) -> Call {
    let call = Distributor::createDistributionCall {
        id: d.id,
        token: d.token,
        asset: d.asset,
        total: U256::from(d.total),
        count: U256::from(d.count),
        commitment: d.commitment,
        auditHash: B256::ZERO,
    };
    send(from, distributor, call)
}

/// Pays one page.
pub fn pay(from: Address, distributor: Address, page: &EscrowPage) -> Call {
    let call = Distributor::payoutForDistributionCall {
        id: page.id,
        from: U256::from(page.from),
        tail: page.tail,
        lines: words(&page.lines),
    };
    send(from, distributor, call)
}

/// Cancels a list: the money of unpaid pages returns to its funder.
pub fn cancel(from: Address, distributor: Address, id: B256) -> Call {
    send(from, distributor, Distributor::cancelDistributionCall { id })
}

/// Declares the hash of an audit report.
pub fn declare_audit(from: Address, distributor: Address, id: B256, token: Address, report: B256) -> Call {
    send(from, distributor, Distributor::declareAuditCall { id, token, auditHash: report })
}

/// Decodes the page of a call.
pub fn page_of(data: &[u8]) -> Option<EscrowPage> {
    let call = Distributor::payoutForDistributionCall::abi_decode_validate(data).ok()?;
    let lines = call.lines.into_iter().map(Line::of_word).collect();
    Some(EscrowPage { id: call.id, from: call.from.try_into().ok()?, tail: call.tail, lines })
}

fn executed(receipt: &Receipt) -> Result<(), MissingEffect> {
    if receipt.success { Ok(()) } else { Err(MissingEffect("the transaction reverted".into())) }
}

/// Checks that the receipt shows the declaration by exactly this call, and the total in escrow.
pub fn create_effect(receipt: &Receipt, distributor: Address, data: &[u8]) -> Result<(), MissingEffect> {
    executed(receipt)?;
    let missing = |why: &str| MissingEffect(format!("{distributor}: {why}"));
    let call = Distributor::createDistributionCall::abi_decode_validate(data)
        .map_err(|error| missing(&format!("the call cannot be read: {error}")))?;
    let created = events::<Distributor::DistributionCreated>(receipt, distributor).find(|e| e.id == call.id);
    let created = created.ok_or_else(|| missing("the event of the declaration is missing"))?;
    if created.payloadHash != keccak256(data) {
        return Err(missing("the list was declared by another call"));
    }
    let wanted = payments(std::iter::once((distributor, call.total)));
    compare(&wanted, &paid_by(receipt, call.asset, created.funder))
}

/// Returns the outcome of each line if the receipt shows that exactly this page was paid.
pub fn page_effect(
    receipt: &Receipt,
    distributor: Address,
    asset: Address,
    data: &[u8],
) -> Result<Vec<LineOutcome>, MissingEffect> {
    executed(receipt)?;
    let missing = |why: &str| MissingEffect(format!("{distributor}: {why}"));
    let page = page_of(data).ok_or_else(|| missing("the call is not a payout page"))?;
    let mut accepted = events::<Distributor::PagePaid>(receipt, distributor);
    let first = U256::from(page.from);
    let event = accepted.find(|e| e.id == page.id && e.from == first);
    if event.ok_or_else(|| missing("the event of the page is missing"))?.payloadHash != keccak256(data) {
        return Err(missing("another page was paid in its place"));
    }
    let outcomes = outcomes(receipt, distributor, &page);
    // The events of the distributor only claim a payment; the transfers of the coin prove it.
    let paid = page.lines.iter().zip(&outcomes).filter_map(|(line, outcome)| match outcome {
        LineOutcome::Paid(payee) => Some((*payee, U256::from(line.units()))),
        LineOutcome::Frozen | LineOutcome::TransferFailed | LineOutcome::Kept => None,
    });
    compare(&payments(paid), &payments_of(receipt, distributor, asset))?;
    Ok(outcomes)
}

/// What the events of the distributor say about each line of a page. A line is paid unless an event says otherwise.
fn outcomes(receipt: &Receipt, distributor: Address, page: &EscrowPage) -> Vec<LineOutcome> {
    let mut outcomes: Vec<LineOutcome> = page.lines.iter().map(|line| LineOutcome::Paid(line.holder())).collect();
    // Events carry the index in the whole list.
    let at = |index: U256| index.checked_sub(U256::from(page.from)).and_then(|i| usize::try_from(i).ok());
    for kept in events::<Distributor::Withheld>(receipt, distributor).filter(|e| e.id == page.id) {
        if let Some(outcome) = at(kept.index).and_then(|i| outcomes.get_mut(i)) {
            let frozen = kept.reason == B256::right_padding_from(b"frozen");
            *outcome = if frozen { LineOutcome::Frozen } else { LineOutcome::TransferFailed };
        }
    }
    for moved in events::<Distributor::PaidToSuccessor>(receipt, distributor).filter(|e| e.id == page.id) {
        if let Some(outcome) = at(moved.index).and_then(|i| outcomes.get_mut(i)) {
            *outcome = LineOutcome::Paid(moved.payee);
        }
    }
    outcomes
}

/// The payments of the distributor. A page that can pay nobody tries the coin with a transfer to the contract itself.
fn payments_of(receipt: &Receipt, distributor: Address, asset: Address) -> Payments {
    let mut shown = paid_by(receipt, asset, distributor);
    shown.retain(|(payee, _), _| *payee != distributor);
    shown
}

/// What the receipt shows for each line, if the page as a whole lacks its effect.
pub fn lines_shown(receipt: &Receipt, distributor: Address, asset: Address, page: &EscrowPage) -> Vec<LineShown> {
    let outcomes = outcomes(receipt, distributor, page).into_iter();
    let lines: Vec<_> = outcomes.zip(page.lines.iter().map(|line| line.units())).collect();
    coin::lines_shown(receipt, asset, payments_of(receipt, distributor, asset), &lines)
}

/// Returns the units that went back to the funder, if the receipt and the coin's event show this cancellation.
pub fn cancel_effect(
    receipt: &Receipt,
    distributor: Address,
    asset: Address,
    data: &[u8],
) -> Result<U256, MissingEffect> {
    executed(receipt)?;
    let call = Distributor::cancelDistributionCall::abi_decode_validate(data)
        .map_err(|error| MissingEffect(format!("the call cannot be read: {error}")))?;
    let mut cancelled = events::<Distributor::DistributionCancelled>(receipt, distributor);
    let cancelled = cancelled.find(|e| e.id == call.id);
    let cancelled =
        cancelled.ok_or_else(|| MissingEffect(format!("{distributor} has no event that cancels the list")))?;
    let shown = paid_by(receipt, asset, distributor).contains_key(&(cancelled.funder, cancelled.returned));
    if shown || cancelled.returned.is_zero() {
        return Ok(cancelled.returned);
    }
    let why = format!("the coin shows no transfer of {} units back to {}", cancelled.returned, cancelled.funder);
    Err(MissingEffect(why))
}

/// Returns the report hash if the receipt shows its declaration.
pub fn audit_effect(receipt: &Receipt, distributor: Address, data: &[u8]) -> Result<B256, MissingEffect> {
    executed(receipt)?;
    let call = Distributor::declareAuditCall::abi_decode_validate(data)
        .map_err(|error| MissingEffect(format!("the call cannot be read: {error}")))?;
    let mut declared = events::<Distributor::AuditDeclared>(receipt, distributor);
    match declared.find(|e| e.id == call.id && e.token == call.token && e.auditHash == call.auditHash) {
        Some(event) => Ok(event.auditHash),
        None => Err(MissingEffect(format!("{distributor} has no event for the report"))),
    }
}

/// Whether the effect of a call exists on the chain at a block, from any transaction.
pub async fn is_in_effect(chain: &Chain, distributor: Address, data: &[u8], at: At) -> Result<bool, Fault> {
    if let Ok(call) = Distributor::createDistributionCall::abi_decode_validate(data) {
        let stored = view(chain, distributor, &Distributor::distributionCall { id: call.id }, at).await?;
        return Ok(!stored.token.is_zero());
    }
    if let Some(page) = page_of(data) {
        let stored = view(chain, distributor, &Distributor::distributionCall { id: page.id }, at).await?;
        return Ok(stored.next > U256::from(page.from));
    }
    if let Ok(call) = Distributor::declareAuditCall::abi_decode_validate(data) {
        let read = Distributor::auditHashOfCall { id: call.id, token: call.token };
        return Ok(view(chain, distributor, &read, at).await? == call.auditHash);
    }
    if let Ok(call) = Distributor::cancelDistributionCall::abi_decode_validate(data) {
        return Ok(view(chain, distributor, &Distributor::distributionCall { id: call.id }, at).await?.cancelled);
    }
    match Claim::of(data) {
        Some(call) => claim::is_in_effect(chain, distributor, &call, at).await,
        None => Ok(false),
    }
}

/// Finds the transaction with the effect of a call, with the hash of that transaction's call as far as the events tell. Claims have a search
/// of their own ([`claim::find_execution`]).
pub async fn find_execution(
    chain: &Chain,
    distributor: Address,
    data: &[u8],
    since: u64,
) -> Result<Option<Execution>, Fault> {
    // All topics below are indexed, so the node filters by this exact effect.
    let ours = keccak256(data);
    let topics = if let Ok(call) = Distributor::createDistributionCall::abi_decode_validate(data) {
        vec![Distributor::DistributionCreated::SIGNATURE_HASH, call.id]
    } else if let Some(page) = page_of(data) {
        vec![Distributor::PagePaid::SIGNATURE_HASH, page.id, U256::from(page.from).into()]
    } else if let Ok(call) = Distributor::cancelDistributionCall::abi_decode_validate(data) {
        vec![Distributor::DistributionCancelled::SIGNATURE_HASH, call.id]
    } else {
        return Ok(None);
    };
    let filter = LogFilter {
        from_block: since,
        to_block: None,
        addresses: vec![distributor],
        topics: topics.iter().map(|topic| vec![*topic]).collect(),
    };
    let logs = chain.logs(&filter).await?;
    // Some nodes ignore the filter, so check the event again.
    let Some(log) = logs.iter().find(|log| log.address == distributor && log.topics.starts_with(&topics)) else {
        return Ok(None);
    };
    let payload = |data: &[u8]| data.last_chunk::<32>().map_or(B256::ZERO, |word| B256::from(*word));
    // The event of a cancellation carries no payload hash. Either way the money went where our call would send it.
    let unnamed = topics[0] == Distributor::DistributionCancelled::SIGNATURE_HASH;
    let payload_hash = if unnamed { ours } else { payload(&log.data) };
    Ok(Some(Execution::of(log, payload_hash)))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::b256;

    use super::*;

    fn lines() -> Vec<Line> {
        (1u8..8).map(|n| Line::new(Address::repeat_byte(n), u128::from(n)).unwrap()).collect()
    }

    #[test]
    fn each_page_rolls_up_to_the_tail_of_the_page_before_it() {
        for page_lines in 1..9 {
            let pages = pages(B256::repeat_byte(3), &lines(), page_lines);
            let mut declared = commitment(&lines());
            for page in &pages {
                assert_eq!(rolled(page.tail, &page.lines), declared, "line {} of pages of {page_lines}", page.from);
                declared = page.tail;
            }
            assert_eq!(declared, B256::ZERO, "nothing is behind the last page");
            let together: Vec<Line> = pages.iter().flat_map(|page| page.lines.clone()).collect();
            assert_eq!(together, lines());
        }
    }

    #[test]
    fn the_list_hash_is_the_one_that_the_contract_pins() {
        let line = |account: u64, units| {
            Line::new(Address::from_word(B256::left_padding_from(&account.to_be_bytes())), units).unwrap()
        };
        // The same list and hash stand in contracts/test/fuzz/RollUp.t.sol.
        let pinned = b256!("e535450166264a985f86f7fad3111deb324495b48603799f64c6c9621491b34b");
        assert_eq!(commitment(&[line(0x1111, 1), line(0x2222, 2)]), pinned);
        assert_ne!(commitment(&[line(0x2222, 2), line(0x1111, 1)]), pinned);
    }

    #[test]
    fn a_call_decodes_to_its_page() {
        let page = EscrowPage { id: B256::repeat_byte(3), from: 200, tail: B256::repeat_byte(4), lines: lines() };
        let call = pay(Address::ZERO, Address::repeat_byte(9), &page);
        assert_eq!(page_of(&call.data), Some(page));
        assert_eq!(page_of(&claim::one(Address::ZERO, Address::ZERO, B256::ZERO, Address::ZERO).data), None);
    }
}
