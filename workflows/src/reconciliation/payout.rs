//! Compares the payouts of an offering with the chain: each receipt and the sums of each distribution with the coin's transfers, and the
//! pages of each declared list with the distributor.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, U256};
use muniment_activities::chain::simulate::At;
use muniment_activities::fault::Fault;
use muniment_activities::payout::coin::{self, Paying, Payments};
use muniment_activities::payout::distributor;
use muniment_domain::reconciliation::{DistributorStep, Finding, FindingKind, Payment, Severity};
use muniment_domain::step::Outcome;

use crate::engine::Network;

/// The database's records up to a block.
pub struct Recorded {
    /// The receipts, ordered by transaction.
    pub payments: Vec<Payment>,
    /// The steps of the distributor.
    pub declared: Vec<DistributorStep>,
    /// The final block at which both sides are compared.
    pub block: (i64, B256),
}

/// Adds the differences to the findings, and returns the number of calls made.
pub async fn compare(network: &Network, recorded: &Recorded, findings: &mut Vec<Finding>) -> Result<u64, Fault> {
    let transfers = transfers(network, recorded, findings).await?;
    Ok(transfers + pages(network, recorded, findings).await?)
}

/// A coin, with a transaction that pays in it.
type Place = (Address, Paying);

fn place(payment: &Payment) -> Place {
    (payment.payout_token.0, (payment.tx_hash.0, payment.distributor.map(|contract| contract.0)))
}

/// Each receipt must have its transfer, and each distribution must have paid exactly the sum of its receipts.
async fn transfers(network: &Network, recorded: &Recorded, findings: &mut Vec<Finding>) -> Result<u64, Fault> {
    let mut of_asset: BTreeMap<Address, BTreeSet<Paying>> = BTreeMap::new();
    for (asset, paying) in recorded.payments.iter().map(place) {
        of_asset.entry(asset).or_default().insert(paying);
    }
    let (mut shown, mut calls): (BTreeMap<Place, Payments>, u64) = (BTreeMap::new(), 0);
    for (asset, paying) in of_asset {
        calls += paying.len() as u64;
        let paying: Vec<Paying> = paying.into_iter().collect();
        let found = coin::paid_in(&network.chain, asset, &paying, recorded.block.0.cast_unsigned()).await?;
        let found = found.into_iter().map(Option::unwrap_or_default);
        shown.extend(paying.into_iter().map(|paying| (asset, paying)).zip(found));
    }
    findings.extend(receipts(&recorded.payments, shown));
    Ok(calls)
}

/// Compares receipts with the payments that the chain shows.
fn receipts(recorded: &[Payment], mut shown: BTreeMap<Place, Payments>) -> Vec<Finding> {
    let mut sums: BTreeMap<&str, (U256, U256)> = BTreeMap::new();
    let mut groups: BTreeMap<(&str, Place, Address), Vec<&Payment>> = BTreeMap::new();
    let mut pages: BTreeSet<(&str, Place)> = BTreeSet::new();
    for payment in recorded {
        let (distribution, place) = (payment.distribution_id.as_str(), place(payment));
        let (expected, actual) = sums.entry(distribution).or_default();
        *expected = expected.saturating_add(payment.units.0);
        // A page pays its lines and nobody else.
        if !payment.claimed && pages.insert((distribution, place)) {
            *actual = actual.saturating_add(shown.get(&place).map_or(U256::ZERO, all));
        }
        groups.entry((distribution, place, payment.payee_address.0)).or_default().push(payment);
    }
    let mut findings = Vec::new();
    for ((distribution, place, payee), group) in groups {
        let left = unpaid(&group, payee, shown.entry(place).or_default());
        let (_, actual) = sums.entry(distribution).or_default();
        // The same transaction can claim for others, so only what is matched counts.
        let claimed = group.iter().filter(|payment| payment.claimed && !left.contains(payment));
        *actual = claimed.fold(*actual, |sum, payment| sum.saturating_add(payment.units.0));
        findings.extend(left.into_iter().map(missing));
    }
    findings.extend(sums.into_iter().filter(|(_, (expected, actual))| expected != actual).map(differs));
    findings
}

/// The receipts of one payee that the payments of a transaction do not cover. They are taken from these payments.
fn unpaid<'a>(group: &[&'a Payment], payee: Address, paid: &mut Payments) -> Vec<&'a Payment> {
    let sum = group.iter().fold(U256::ZERO, |sum, payment| sum.saturating_add(payment.units.0));
    let to_payee: Payments =
        paid.iter().filter(|((to, _), _)| *to == payee).map(|(paid, count)| (*paid, *count)).collect();
    if all(&to_payee) == sum {
        paid.retain(|(to, _), _| *to != payee);
        return Vec::new();
    }
    let mut take = |units| match paid.get_mut(&(payee, units)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    // What the distributor withheld of one account is claimed in one payment.
    if take(sum) {
        return Vec::new();
    }
    group.iter().copied().filter(|payment| !take(payment.units.0)).collect()
}

fn all(paid: &Payments) -> U256 {
    paid.iter()
        .fold(U256::ZERO, |sum, ((_, units), count)| sum.saturating_add(units.saturating_mul(U256::from(*count))))
}

fn missing(payment: &Payment) -> Finding {
    Finding {
        kind: FindingKind::PayoutMissing,
        severity: Severity::Critical,
        subject: payment.entitlement_id.to_string(),
        expected: Some(format!("{} units to {} in {}", payment.units.0, payment.payee_address.0, payment.tx_hash)),
        actual: Some("no such transfer".to_owned()),
        suggested_action: "The coin shows no transfer for a payment that has a receipt. Check the endpoints first. Then pay nothing more of \
                           this distribution until it is known who changed the receipt.",
    }
}

fn differs((distribution, (expected, actual)): (&str, (U256, U256))) -> Finding {
    Finding {
        kind: FindingKind::PayoutTotal,
        severity: Severity::Critical,
        subject: distribution.to_owned(),
        expected: Some(expected.to_string()),
        actual: Some(actual.to_string()),
        suggested_action: "The transactions of this distribution moved a different sum than its receipts. Hold the unpaid entitlements, and \
                           compare its report with the transfers of the coin, transaction by transaction.",
    }
}

/// A page must be executed on the chain if and only if it is confirmed here. The distributor accepts each page once, in order.
async fn pages(network: &Network, recorded: &Recorded, findings: &mut Vec<Finding>) -> Result<u64, Fault> {
    let (last, hash) = recorded.block;
    let mut calls = 0;
    for step in &recorded.declared {
        let done = step.outcome == Some(Outcome::Success);
        // An unfinished step, and one that was executed after the compared block, can differ without an error.
        if (!done && step.status.is_live()) || step.block_number.is_some_and(|number| done && number > last) {
            continue;
        }
        calls += 1;
        let executed = distributor::is_in_effect(&network.chain, step.target.0, &step.calldata, At::Hash(hash)).await?;
        let finding = |kind, expected: &str, actual: &str, suggested_action| Finding {
            kind,
            severity: Severity::Critical,
            subject: step.operation_id.to_string(),
            expected: Some(expected.to_owned()),
            actual: Some(actual.to_owned()),
            suggested_action,
        };
        match (done, executed) {
            (true, false) => findings.push(finding(FindingKind::ConfirmedNotExecuted, "paid by the distributor", "not paid",
                "The distributor does not show a page that is confirmed here. Check the endpoints first. Then pay nothing more of this distribution.")),
            (false, true) => findings.push(finding(FindingKind::ExecutedNotConfirmed, "not paid", "paid by the distributor",
                "Retry the operation. The engine finds the page on the chain and confirms it, and nobody is paid twice.")),
            _ => {}
        }
    }
    Ok(calls)
}

#[cfg(test)]
mod tests;
