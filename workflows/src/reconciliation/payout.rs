//! The payouts of an offering, held against the chain: each receipt against the coin's own transfers, the sums of each distribution, and
//! the pages of each declared list against the distributor.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use muniment_activities::coin::{self, Payments};
use muniment_activities::distributor;
use muniment_activities::fault::Fault;
use muniment_activities::simulate::At;
use muniment_domain::reconciliation::{Declared, Finding, Payment, Severity};
use muniment_domain::step::Outcome;

use crate::engine::Network;

/// What the database believes, and of which block.
pub struct Believed {
    /// The receipts, transaction by transaction.
    pub payments: Vec<Payment>,
    /// The steps of the distributor.
    pub declared: Vec<Declared>,
    /// The final block that both sides are compared at.
    pub block: (i64, B256),
}

/// Adds what differs to the findings; how many calls it took.
pub async fn compare(network: &Network, believed: &Believed, findings: &mut Vec<Finding>) -> Result<u64, Fault> {
    let transfers = transfers(network, believed, findings).await?;
    Ok(transfers + pages(network, believed, findings).await?)
}

/// Each receipt must have its transfer, and each distribution must have paid what its receipts come to: not less, and not more.
async fn transfers(network: &Network, believed: &Believed, findings: &mut Vec<Finding>) -> Result<u64, Fault> {
    let mut of_asset: BTreeMap<Address, Vec<B256>> = BTreeMap::new();
    for payment in &believed.payments {
        let hashes = of_asset.entry(payment.payout_token.0).or_default();
        if hashes.last() != Some(&payment.tx_hash.0) {
            hashes.push(payment.tx_hash.0);
        }
    }
    let (mut shown, mut calls): (BTreeMap<B256, Payments>, u64) = (BTreeMap::new(), 0);
    for (asset, hashes) in of_asset {
        calls += hashes.len() as u64;
        let found = coin::paid_in(&network.chain, asset, &hashes, believed.block.0.cast_unsigned()).await?;
        shown.extend(hashes.into_iter().zip(found.into_iter().map(Option::unwrap_or_default)));
    }
    let sum = |paid: &Payments| {
        paid.iter()
            .fold(U256::ZERO, |sum, ((_, units), count)| sum.saturating_add(units.saturating_mul(U256::from(*count))))
    };
    let mut sums: BTreeMap<&str, (U256, U256)> = BTreeMap::new();
    let mut last = None;
    for payment in &believed.payments {
        let (expected, actual) = sums.entry(payment.distribution_id.as_str()).or_default();
        *expected = expected.saturating_add(payment.units.0);
        if last.replace(payment.tx_hash.0) != Some(payment.tx_hash.0) {
            *actual = actual.saturating_add(shown.get(&payment.tx_hash.0).map_or(U256::ZERO, sum));
        }
    }
    for payment in &believed.payments {
        let left = shown
            .get_mut(&payment.tx_hash.0)
            .and_then(|paid| paid.get_mut(&(payment.payee_address.0, payment.units.0)));
        match left.filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => findings.push(missing(payment)),
        }
    }
    findings.extend(sums.into_iter().filter(|(_, (expected, actual))| expected != actual).map(differs));
    Ok(calls)
}

fn missing(payment: &Payment) -> Finding {
    Finding {
        kind: "payout_missing",
        severity: Severity::Critical,
        subject: payment.entitlement_id.clone(),
        expected: Some(format!("{} units to {} in {}", payment.units.0, payment.payee_address, payment.tx_hash)),
        actual: Some("no such transfer".to_owned()),
        suggested_action: "The coin does not show a payment that has a receipt. Check the endpoints first; then pay nothing more of this \
                           distribution until it is known who changed the receipt.",
    }
}

fn differs((distribution, (expected, actual)): (&str, (U256, U256))) -> Finding {
    Finding {
        kind: "payout_total",
        severity: Severity::Critical,
        subject: distribution.to_owned(),
        expected: Some(expected.to_string()),
        actual: Some(actual.to_string()),
        suggested_action: "The transactions of this distribution moved another sum than its receipts come to. Hold what is left of it, and \
                           compare its report with the transfers of the coin, transaction by transaction.",
    }
}

/// A page stands on the chain if, and only if, it is done here: the distributor takes each page once, and only in its order.
async fn pages(network: &Network, believed: &Believed, findings: &mut Vec<Finding>) -> Result<u64, Fault> {
    let (last, hash) = believed.block;
    let mut calls = 0;
    for step in &believed.declared {
        let done = step.outcome == Some(Outcome::Success);
        // What is under way, or was done behind the block that is looked at, is nobody's difference.
        if (!done && step.status.is_live()) || step.block_number.is_some_and(|number| done && number > last) {
            continue;
        }
        calls += 1;
        let stands = distributor::stands(&network.chain, step.target.0, &step.calldata, At::Hash(hash)).await?;
        let finding = |kind, expected: &str, actual: &str, suggested_action| Finding {
            kind,
            severity: Severity::Critical,
            subject: step.operation_id.clone(),
            expected: Some(expected.to_owned()),
            actual: Some(actual.to_owned()),
            suggested_action,
        };
        match (done, stands) {
            (true, false) => findings.push(finding("confirmed_not_executed", "paid by the distributor", "not paid",
                "The distributor does not show a page that is confirmed here. Check the endpoints first; then pay nothing more of it.")),
            (false, true) => findings.push(finding("executed_not_confirmed", "not paid", "paid by the distributor",
                "Retry the operation: the page is found on the chain and confirmed, and nobody is paid again.")),
            _ => {}
        }
    }
    Ok(calls)
}
