//! Balances before and after the calls, read at the same block.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use muniment_activities::balance::Balance;
use muniment_activities::chain::block::Header;
use muniment_activities::chain::sequence::{CallOutcome, SimulatedBlock};
use muniment_domain::id::OfferingId;
use muniment_domain::{Result as Found, offering};

use super::plan::PlannedCall;
use super::run::{blocks, next_time, sentence};
use super::trial::{BalanceChange, Trial};
use crate::engine::{Engine, Network};

/// The balances that are read.
const BALANCES_MAX: usize = 24;

/// The symbol and decimals of each contract.
type Names = BTreeMap<Address, (String, u32)>;

/// Runs the calls once more, between two reads of every balance that they change.
pub async fn read(
    engine: &Engine,
    network: &Network,
    head: &Header,
    calls: &[PlannedCall],
    now: DateTime<Utc>,
    trial: &mut Trial,
) -> Result<(), String> {
    if trial.changed.is_empty() {
        return Ok(());
    }
    let chosen = chosen(&trial.changed);
    let reads = SimulatedBlock { calls: chosen.iter().map(|balance| balance.read()).collect(), gas_limit: None };
    let mut all = vec![reads.clone()];
    all.extend(blocks(network, head, calls));
    all.push(reads);
    let answer = network.chain.simulate_sequence(&all, head, next_time(head, now)).await;
    let outcomes = answer.map_err(|fault| sentence(&fault))?;
    let (Some(before), Some(after)) = (outcomes.first(), outcomes.last()) else { return Ok(()) };
    let names = names(engine, network, calls).await.map_err(|error| error.to_string())?;
    for ((balance, before), after) in chosen.iter().zip(before).zip(after) {
        let amount = |outcome: &CallOutcome| outcome.result.as_ref().ok().and_then(|data| balance.decode(data));
        let (Some(before), Some(after)) = (amount(before), amount(after)) else {
            return Err(format!("The contract {} does not tell a balance.", balance.contract()));
        };
        let named = names.get(&balance.contract());
        let (symbol, decimals) = (named.map(|(symbol, _)| symbol.clone()), named.map_or(0, |(_, decimals)| *decimals));
        trial.balances.push(BalanceChange { balance: *balance, symbol, decimals, before, after });
    }
    trial.balances_omitted = trial.changed.len() - chosen.len();
    Ok(())
}

/// The balances to read: the first accounts, and then the supplies.
fn chosen(changed: &[Balance]) -> Vec<Balance> {
    let supplies = changed.iter().filter(|balance| balance.account().is_none());
    let accounts = changed.iter().filter(|balance| balance.account().is_some());
    let supplies: Vec<Balance> = supplies.take(BALANCES_MAX / 2).copied().collect();
    let mut chosen: Vec<Balance> = accounts.take(BALANCES_MAX - supplies.len()).copied().collect();
    chosen.extend(supplies);
    chosen
}

async fn names(engine: &Engine, network: &Network, calls: &[PlannedCall]) -> Found<Names> {
    let coins = network.chain.config.payout_tokens.iter();
    let mut names: Names = coins.map(|coin| (coin.address, (coin.symbol.clone(), u32::from(coin.decimals)))).collect();
    let mut tx = engine.db.read().await?;
    let ids: BTreeSet<&OfferingId> = calls.iter().filter_map(|planned| planned.offering_id.as_ref()).collect();
    for offering in offering::find_all(&mut tx, &ids.into_iter().collect::<Vec<_>>()).await? {
        if let Some(token) = offering.token_address {
            names.insert(token.0, (offering.token_symbol.clone(), offering.decimals()));
        }
    }
    Ok(names)
}
