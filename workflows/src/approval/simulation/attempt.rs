//! The simulation of an approval, with a time limit for each chain.

use std::time::Duration;

use chrono::{DateTime, Utc};
use muniment_activities::chain::block::Header;
use muniment_domain::approval::{self, Approval, Status};
use muniment_domain::{Error, Result};

use super::plan::PlannedCall;
use super::trial::Trial;
use super::{balances, plan, run};
use crate::engine::{Engine, Network};
use crate::token::view::{NoAnswer, TokenViews};

/// The time limit for everything that is asked of one chain.
const CHAIN_SECONDS: u64 = 3;
/// Why an action that the engine executes is not tried.
const UNTRIED: &str = "The engine checks the chain when it executes this action, so it is not tried before.";

/// What a pending approval would do now.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// When it was tried.
    pub tried_at: DateTime<Utc>,
    /// Why the action would be refused before anything is sent.
    pub refused: Option<(&'static str, String)>,
    /// Why the calls are not known before the approval.
    pub untried: Option<&'static str>,
    /// The trial on each chain. Empty if the action sends nothing.
    pub trials: Vec<ChainTrial>,
}

/// The trial of the calls on one chain.
#[derive(Clone, Debug)]
pub struct ChainTrial {
    /// The chain.
    pub chain_id: i64,
    /// The block on which the calls ran. None if the chain did not name one.
    pub block: Option<Header>,
    /// The calls that an approval would send to this chain.
    pub calls_total: usize,
    /// What the calls would do, or why they could not be tried.
    pub result: std::result::Result<Trial, String>,
}

/// Simulates a pending approval.
pub async fn simulate(engine: &Engine, heads: &TokenViews, a: &Approval) -> Result<Simulation> {
    if a.status != Status::Pending {
        return Err(approval::not_pending(a));
    }
    let tried_at = engine.db.clock().now();
    let nothing = Simulation { tried_at, refused: None, untried: None, trials: Vec::new() };
    let plan = match plan::of(&engine.db, &engine.settings, a).await {
        Ok(Some(plan)) => plan,
        Ok(None) => return Ok(Simulation { untried: Some(UNTRIED), ..nothing }),
        Err(error) => return refused(nothing, error),
    };
    let mut trials = Vec::with_capacity(plan.len());
    for (chain_id, calls) in plan {
        let (calls_total, mut block) = (calls.len(), None);
        let result = match engine.network(chain_id) {
            None => Err(format!("The chain {chain_id} is not configured here.")),
            Some(network) => {
                let tried = attempt(engine, network, heads, &calls, tried_at, &mut block);
                let late = || format!("The chain did not answer within {CHAIN_SECONDS} seconds.");
                tokio::time::timeout(Duration::from_secs(CHAIN_SECONDS), tried).await.unwrap_or_else(|_| Err(late()))
            }
        };
        trials.push(ChainTrial { chain_id, block, calls_total, result });
    }
    Ok(Simulation { trials, ..nothing })
}

fn refused(nothing: Simulation, error: Error) -> Result<Simulation> {
    match error.refusal() {
        Some((code, detail)) => Ok(Simulation { refused: Some((code, detail.to_owned())), ..nothing }),
        None => Err(error),
    }
}

/// Tries the calls of one chain. The block is set before anything runs on it.
async fn attempt(
    engine: &Engine,
    network: &Network,
    heads: &TokenViews,
    calls: &[PlannedCall],
    now: DateTime<Utc>,
    block: &mut Option<Header>,
) -> std::result::Result<Trial, String> {
    let no_answer = |no_answer| match no_answer {
        NoAnswer::Busy => "The chain is asked too often. Try again in one second.".to_owned(),
        NoAnswer::Fault(fault) => run::sentence(&fault),
    };
    let head = heads.head(network, 0, now).await.map_err(no_answer)?;
    *block = Some(head.clone());
    let mut trial = run::run(network, &head, calls, now).await.map_err(|fault| run::sentence(&fault))?;
    trial.gas_price = network.market(now).await.ok().map(|market| market.price());
    if let Err(why) = balances::read(engine, network, &head, calls, now, &mut trial).await {
        trial.balances_unknown = Some(why);
    }
    Ok(trial)
}
