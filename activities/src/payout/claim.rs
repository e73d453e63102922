//! Claims of what the distributor withholds, for one account or for a page of accounts. Anyone may claim, because the contract fixes the
//! payee: the account, or the wallet that replaced it.
use std::collections::BTreeMap;

use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol_types::{SolCall, SolEvent},
};

use crate::{
    chain::{
        Chain,
        logs::{ChainLog, LogFilter},
        receipt::Receipt,
        simulate::{At, Call},
    },
    contract::{
        bindings::distributor::PlatformYieldDistributor::{
            WithheldClaimed, batchClaimWithheldCall, claimWithheldCall, withheldOfCall,
        },
        line::LineOutcome,
        operation::{Execution, MissingEffect, events, read},
    },
    fault::Fault,
    payout::coin::{LineShown, lines_shown, paid_by, payments},
    rpc::required,
};

/// A decoded claim of either form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The id of the list.
    pub id: B256,
    /// The declared accounts.
    pub accounts: Vec<Address>,
}

impl Claim {
    /// Decodes a call; none if it is no claim.
    pub fn of(data: &[u8]) -> Option<Claim> {
        if let Ok(call) = claimWithheldCall::abi_decode_validate(data) {
            return Some(Claim { id: call.id, accounts: vec![call.account] });
        }
        let call = batchClaimWithheldCall::abi_decode_validate(data).ok()?;
        Some(Claim { id: call.id, accounts: call.accounts })
    }
}

/// Claims for one account. It reverts if the account cannot be paid, and follows any number of recoveries.
pub fn one(from: Address, distributor: Address, id: B256, account: Address) -> Call {
    Call { from, to: Some(distributor), data: claimWithheldCall { id, account }.abi_encode().into() }
}

/// Claims for a page of accounts. Those that cannot be paid are left as they are.
pub fn page(from: Address, distributor: Address, id: B256, accounts: Vec<Address>) -> Call {
    Call { from, to: Some(distributor), data: batchClaimWithheldCall { id, accounts }.abi_encode().into() }
}

/// Returns the outcome of each account if the receipt and the coin's events show that at least one was paid, and each paid one exactly its
/// units. An account without an event is still kept.
pub fn effect(
    receipt: &Receipt,
    distributor: Address,
    asset: Address,
    data: &[u8],
    units: &[u128],
) -> Result<Vec<LineOutcome>, MissingEffect> {
    if !receipt.success {
        return Err(MissingEffect("the transaction reverted".into()));
    }
    let claim = Claim::of(data).ok_or_else(|| MissingEffect("the call is not a claim".to_owned()))?;
    let (mut outcomes, mut paid) = (Vec::with_capacity(units.len()), Vec::new());
    for ((claimed, account), units) in claimed(receipt, distributor, &claim).into_iter().zip(&claim.accounts).zip(units)
    {
        let Some(claimed) = claimed else {
            outcomes.push(LineOutcome::Kept);
            continue;
        };
        if claimed.amount != U256::from(*units) {
            let why = format!("{} units were claimed for {account}, {units} were withheld", claimed.amount);
            return Err(MissingEffect(why));
        }
        paid.push((claimed.payee, claimed.amount));
        outcomes.push(LineOutcome::Paid(claimed.payee));
    }
    if paid.is_empty() {
        let why = format!("{distributor} has no event that pays withheld money of {:?}", claim.accounts);
        return Err(MissingEffect(why));
    }
    // One transaction can claim for other accounts as well: these payments must be among its transfers.
    let shown = paid_by(receipt, asset, distributor);
    for (payment, count) in payments(paid.into_iter()) {
        if shown.get(&payment).copied().unwrap_or_default() < count {
            let (payee, amount) = payment;
            return Err(MissingEffect(format!("the coin shows no transfer of {amount} units to {payee}")));
        }
    }
    Ok(outcomes)
}

/// The claim event of each account.
fn claimed(receipt: &Receipt, distributor: Address, claim: &Claim) -> Vec<Option<WithheldClaimed>> {
    let events: Vec<_> = events::<WithheldClaimed>(receipt, distributor).filter(|event| event.id == claim.id).collect();
    claim.accounts.iter().map(|account| events.iter().find(|event| event.account == *account).cloned()).collect()
}

/// What the receipt shows for each account, if the claim as a whole lacks its effect.
pub fn accounts_shown(
    receipt: &Receipt,
    distributor: Address,
    asset: Address,
    claim: &Claim,
    units: &[u128],
) -> Vec<LineShown> {
    let outcome = |claimed: Option<WithheldClaimed>| claimed.map_or(LineOutcome::Kept, |c| LineOutcome::Paid(c.payee));
    let outcomes = claimed(receipt, distributor, claim).into_iter().map(outcome);
    let lines: Vec<_> = outcomes.zip(units.iter().copied()).collect();
    lines_shown(receipt, asset, paid_by(receipt, asset, distributor), &lines)
}

/// Whether nothing is left to claim: a claim sets the withheld amount of its account to zero.
pub async fn is_in_effect(chain: &Chain, distributor: Address, claim: &Claim, at: At) -> Result<bool, Fault> {
    let call = |account: &Address| withheldOfCall { id: claim.id, account: *account };
    let requests = claim.accounts.iter().map(|one| read(distributor, &call(one)).request("eth_call", at)).collect();
    let left = chain
        .ask(requests, |answers| {
            let decoded = answers.into_iter().map(|answer| {
                let data: Bytes = required("eth_call", answer)?;
                withheldOfCall::abi_decode_returns_validate(&data)
                    .map_err(|error| Fault::Malformed(format!("withheldOf returned {error}")))
            });
            decoded.collect::<Result<Vec<U256>, _>>()
        })
        .await?;
    Ok(left.len() == claim.accounts.len() && left.iter().all(U256::is_zero))
}

/// Finds the transaction that claimed these units for its accounts. None while anything can still be claimed at the block. It must be one
/// that the caller followed: an endpoint that lags behind could show that an account has nothing to claim yet.
pub async fn find_execution(
    chain: &Chain,
    distributor: Address,
    data: &[u8],
    units: &[u128],
    since: u64,
    at: At,
) -> Result<Option<Execution>, Fault> {
    let Some(claim) = Claim::of(data) else { return Ok(None) };
    if !is_in_effect(chain, distributor, &claim, at).await? {
        return Ok(None);
    }
    let mut topics = vec![vec![WithheldClaimed::SIGNATURE_HASH], vec![claim.id]];
    if let [only] = claim.accounts.as_slice() {
        topics.push(vec![only.into_word()]);
    }
    let filter = LogFilter { from_block: since, to_block: None, addresses: vec![distributor], topics };
    let logs = chain.logs(&filter).await?;
    // The event carries no payload hash. A claim by anybody sends the money where our call would send it.
    Ok(best(&logs, distributor, &claim, units).map(|log| Execution::of(log, keccak256(data))))
}

/// A transaction that claimed for some of the accounts.
struct Found<'a> {
    /// Whether it claimed exactly the expected units for each of them.
    exact: bool,
    /// How many of the accounts.
    accounts: usize,
    /// Its first claim.
    log: &'a ChainLog,
}

/// The claim of exactly these units for the most of these accounts. Several transactions can share a page, if somebody else claimed for
/// some of them: the others are left to a later claim. Among equal ones it is the newest: after an older one more was withheld, and that
/// is what is claimed now. If none claimed exactly these units, it is the newest of all. Nothing is left to claim, so a retry could never
/// succeed; the check of the effect names both amounts to a person.
fn best<'a>(logs: &'a [ChainLog], distributor: Address, claim: &Claim, units: &[u128]) -> Option<&'a ChainLog> {
    let mut found: BTreeMap<B256, Found<'_>> = BTreeMap::new();
    // Some nodes ignore the filter, so check the events again.
    for log in logs.iter().filter(|log| log.address == distributor) {
        let Ok(event) = WithheldClaimed::decode_raw_log_validate(log.topics.iter().copied(), &log.data) else {
            continue;
        };
        let place = claim.accounts.iter().position(|account| *account == event.account);
        let Some(place) = place.filter(|_| event.id == claim.id) else { continue };
        let one = found.entry(log.tx_hash).or_insert(Found { exact: true, accounts: 0, log });
        one.exact &= units.get(place).is_some_and(|units| event.amount == U256::from(*units));
        one.accounts += 1;
    }
    let rank = |one: &Found<'_>| (one.exact, one.accounts, one.log.block_number, one.log.log_index);
    found.into_values().max_by_key(rank).map(|one| one.log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_decode_to_their_accounts() {
        let (id, accounts) = (B256::repeat_byte(3), vec![Address::repeat_byte(1), Address::repeat_byte(2)]);
        let whole = page(Address::ZERO, Address::ZERO, id, accounts.clone());
        assert_eq!(Claim::of(&whole.data), Some(Claim { id, accounts: accounts.clone() }));
        let single = one(Address::ZERO, Address::ZERO, id, accounts[0]);
        assert_eq!(Claim::of(&single.data), Some(Claim { id, accounts: vec![accounts[0]] }));
        assert_eq!(Claim::of(&single.data[..35]), None);
    }

    #[test]
    fn of_equal_claims_of_the_expected_units_the_newest_counts() {
        let [id, ours] = [B256::repeat_byte(3), B256::repeat_byte(4)];
        let [distributor, one, two, payee] = [1, 2, 3, 4].map(Address::repeat_byte);
        let claimed_units = |tx: u8, block_number: u64, id: B256, account: Address, units: u128| {
            let event = WithheldClaimed { id, account, payee, amount: U256::from(units) }.encode_log_data();
            let (topics, data) = (event.topics().to_vec(), event.data);
            let (tx_hash, block_hash) = (B256::repeat_byte(tx), B256::ZERO);
            ChainLog { address: distributor, topics, data, block_number, block_hash, tx_hash, log_index: 0 }
        };
        let claimed = |tx, block, id, account| claimed_units(tx, block, id, account, 1);
        let found = |logs: &[ChainLog], accounts: &[Address]| {
            let claim = Claim { id: ours, accounts: accounts.to_vec() };
            best(logs, distributor, &claim, &vec![1; accounts.len()]).map(|log| log.tx_hash.0[0])
        };
        // The order of the hashes says nothing.
        let single =
            [claimed(9, 5, ours, one), claimed(1, 8, ours, one), claimed(7, 9, id, one), claimed(8, 9, ours, two)];
        assert_eq!(found(&single, &[one]), Some(1));
        let page = [claimed(5, 5, ours, one), claimed(5, 5, ours, two), claimed(6, 8, ours, one)];
        assert_eq!(found(&page, &[one, two]), Some(5), "it claims for both");
        assert_eq!(found(&page, &[one]), Some(6));
        assert_eq!(found(&[], &[one]), None);
        let other = [claimed(5, 5, ours, one), claimed_units(6, 6, ours, one, 2), claimed_units(7, 7, ours, one, 2)];
        assert_eq!(found(&other, &[one]), Some(5), "the others claimed what was withheld later");
        assert_eq!(found(&other[1..], &[one]), Some(7), "a person must see that nothing is left");
        let mixed = [claimed_units(5, 5, ours, one, 2), claimed(5, 5, ours, two), claimed(6, 4, ours, two)];
        assert_eq!(found(&mixed, &[one, two]), Some(6), "the other paid one of them something else");
    }
}
