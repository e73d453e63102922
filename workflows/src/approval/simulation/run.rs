//! The calls on the newest block, one after another.

use chrono::{DateTime, Utc};
use muniment_activities::balance::{self, Balance};
use muniment_activities::chain::block::Header;
use muniment_activities::chain::sequence::SimulatedBlock;
use muniment_activities::chain::simulate::At;
use muniment_activities::fault::Fault;

use super::plan::PlannedCall;
use super::trial::{Transaction, Trial};
use crate::engine::Network;

/// The calls that are tried. A node limits the gas of one simulation.
const CALLS_MAX: usize = 10;

/// The calls that are tried, each in a block of its own.
pub fn blocks(network: &Network, head: &Header, calls: &[PlannedCall]) -> Vec<SimulatedBlock> {
    let gas_limit = Some(network.chain.config.gas_cap.min(head.gas_limit));
    let calls = calls.iter().take(CALLS_MAX);
    calls.map(|planned| SimulatedBlock { calls: vec![planned.call.clone()], gas_limit }).collect()
}

/// The time of the next block: a chain that mines on demand may have been silent for long.
pub fn next_time(head: &Header, now: DateTime<Utc>) -> u64 {
    now.timestamp().cast_unsigned().max(head.timestamp + 1)
}

/// Runs the calls.
pub async fn run(network: &Network, head: &Header, calls: &[PlannedCall], now: DateTime<Utc>) -> Result<Trial, Fault> {
    for planned in calls.iter().take(CALLS_MAX) {
        let to = planned.call.to.unwrap_or_default();
        // A call to an address without code passes and does nothing.
        if !network.has_code(to).await? {
            return Err(Fault::Refused(format!("there is no contract at {to}")));
        }
    }
    let tried = network.chain.simulate_sequence(&blocks(network, head, calls), head, next_time(head, now)).await;
    let outcomes = match tried {
        Ok(blocks) => blocks.into_iter().flatten().collect::<Vec<_>>(),
        Err(Fault::NoMethod(method)) => return first_alone(network, head, calls, method).await,
        Err(fault) => return Err(fault),
    };
    let mut changed: Vec<Balance> = Vec::new();
    for balance in outcomes.iter().flat_map(|outcome| &outcome.logs).flat_map(balance::changed) {
        if !changed.contains(&balance) {
            changed.push(balance);
        }
    }
    let transactions = calls.iter().zip(outcomes).map(|(planned, outcome)| Transaction::of(planned, outcome));
    Ok(Trial::of(transactions.collect(), changed, None))
}

/// Without a method that runs calls one after another, only the first can be tried, and nothing is known of balances.
async fn first_alone(network: &Network, head: &Header, calls: &[PlannedCall], method: String) -> Result<Trial, Fault> {
    let mut transactions = Vec::new();
    if let Some(planned) = calls.first() {
        let revert = network.chain.call(&planned.call, At::Hash(head.hash)).await?.err();
        transactions.push(Transaction { gas_used: None, revert, ..Transaction::passing(planned) });
    }
    let why = format!("The node does not offer {method}, so the balances after the call are not known.");
    Ok(Trial::of(transactions, Vec::new(), Some(why)))
}

/// A fault as a sentence for people.
pub fn sentence(fault: &Fault) -> String {
    let text = fault.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
