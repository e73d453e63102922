//! Preparation: a trial call before anything is signed. A definite failure ends here and uses no nonce.

use std::collections::HashMap;
use std::ops::ControlFlow;

use alloy_primitives::{Address, Bytes};
use chrono::{DateTime, Utc};
use futures::future::join_all;
use muniment_activities::chain::fees::Fees;
use muniment_activities::chain::gas;
use muniment_activities::chain::simulate::{At, Call, Simulation, SimulationRequest};
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::contract::registry::Roles;
use muniment_activities::fault::Fault;
use muniment_domain::Error;
use muniment_domain::chain::{self, Chain as Cursor};
use muniment_domain::id::LaneId;
use muniment_domain::lane::{Lane, Mode};
use muniment_domain::lane_state;
use muniment_domain::operation::{Operation, Stage, WAITS_FOR_LANE};
use muniment_domain::step::Step;

use crate::engine::failure::Failure;
use crate::engine::known_gas::Estimate;
use crate::engine::refusal::{self, disagreement};
use crate::engine::{Engine, Network};

/// A step that is ready to be signed.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The operation as it was read. Its version guards the commit.
    pub op: Operation,
    /// The step.
    pub step: Step,
    /// The lane that signs it.
    pub lane_id: LaneId,
    /// Its signer.
    pub signer: Address,
    /// The gas limit.
    pub gas_limit: u64,
    /// The fees.
    pub fees: Fees,
    /// The time of the trial call.
    pub at: DateTime<Utc>,
}

/// The result of preparing a step.
#[derive(Debug)]
pub enum Outcome {
    /// The step is ready to be signed.
    Ready(Box<Prepared>),
    /// The step is already executed on the chain, and its transaction was adopted.
    Adopted,
    /// Some lines would have made the whole page fail, so it was split into other operations.
    Split,
    /// It was not tried yet.
    Later,
}

/// The reason of a wait for a key of this process.
pub const NO_SIGNER: &str = "no_signer";

/// The same, as an operation of this chain shows it. A process that has the key takes the operation from one that has not.
pub fn no_signer(chain_id: i64) -> String {
    format!("{NO_SIGNER}: this worker has no key for chain {chain_id}, or the endpoints do not agree on its nonce yet")
}

/// A due step, with the block for its trial call.
#[derive(Clone, Debug)]
pub struct Due {
    /// The operation, as it was read.
    pub op: Operation,
    /// The step.
    pub step: Step,
    /// The block of the trial call.
    pub at: At,
}

/// The steps that this process keeps in memory for its lanes, beyond those in flight.
pub trait Memory: Sync {
    /// Steps of a lane that wait there, or that other moves prepare for it now.
    fn held(&self, lane_id: &LaneId) -> i64;
    /// Notes a step that this move prepares.
    fn hold(&self, lane_id: &LaneId);
    /// The most steps for a lane with this limit in flight.
    fn limit(&self, in_flight_max: i64) -> i64;
}

/// A process that keeps no steps.
impl Memory for () {
    fn held(&self, _: &LaneId) -> i64 {
        0
    }

    fn hold(&self, _: &LaneId) {}

    fn limit(&self, _: i64) -> i64 {
        0
    }
}

/// The results of the trial calls, each with its operation.
pub type Tried = Vec<(Operation, Result<Outcome, Failure>)>;

/// Tries the steps of one chain, several in one request. A ready step would have succeeded a moment ago. Of several calls of one shape one is
/// estimated; the others are left for the next move, which tries them with its gas while the first is signed.
pub async fn prepare(engine: &Engine, network: &Network, due: Vec<Due>, memory: &dyn Memory) -> Result<Tried, Error> {
    let mut lanes = Lanes::read(engine, network).await?;
    let (mut tried, mut ready) = (Tried::with_capacity(due.len()), Vec::with_capacity(due.len()));
    for due in due {
        match with_lane(engine, network, &mut lanes, &due, memory).await {
            Ok(lane) => ready.push((due, lane)),
            Err(failure) => tried.push((due.op, Err(failure))),
        }
    }
    let mut estimates = Vec::new();
    let is_first = |(due, lane): &(Due, Lane)| {
        let trial = trial(network, due, lane);
        if trial.known_gas.is_some() || trial.at != At::Latest {
            return true;
        }
        let estimate = network.gas.begin(due.step.target.0, &trial.call.data);
        let is_begun = estimate.is_some();
        estimates.extend(estimate);
        is_begun
    };
    let (first, rest): (Vec<_>, Vec<_>) = ready.into_iter().partition(is_first);
    if first.is_empty() {
        // Other moves estimate calls like these.
        for (due, _) in &rest {
            network.gas.wait(due.step.target.0, &due.step.calldata).await;
        }
    }
    try_all(engine, network, first, estimates, &mut tried).await;
    if tried.iter().any(|(_, outcome)| matches!(outcome, Ok(Outcome::Ready(_)))) {
        tried.extend(rest.into_iter().map(|(due, _)| (due.op, Ok(Outcome::Later))));
    } else {
        // None could be signed meanwhile, so the node is asked for all the others at once, and not for one after the other.
        try_all(engine, network, rest, Vec::new(), &mut tried).await;
    }
    Ok(tried)
}

async fn try_all(
    engine: &Engine,
    network: &Network,
    ready: Vec<(Due, Lane)>,
    estimates: Vec<Estimate<'_>>,
    tried: &mut Tried,
) {
    if ready.is_empty() {
        return;
    }
    let trials: Vec<SimulationRequest> = ready.iter().map(|(due, lane)| trial(network, due, lane)).collect();
    let simulated = network.chain.simulate_all(&trials).await;
    let learnt = trials.iter().zip(simulated).map(|(trial, simulated)| learn_gas(network, trial, simulated));
    let simulated = join_all(learnt).await;
    // Before the decisions, which can take many calls: other moves wait for the estimates.
    drop(estimates);
    for (((due, lane), trial), simulated) in ready.into_iter().zip(&trials).zip(simulated) {
        let outcome = decide(engine, network, &due, lane, trial, simulated).await;
        tried.push((due.op, outcome));
    }
}

/// Remembers the gas of a call that was estimated: the most that a quorum estimates, because one endpoint alone could estimate so little that
/// the transaction runs out of gas. While too few others succeed with the call, the first estimate counts: one that lags behind must not
/// stop it.
async fn learn_gas(
    network: &Network,
    trial: &SimulationRequest,
    simulated: Result<Simulation, Fault>,
) -> Result<Simulation, Fault> {
    let Ok(Simulation::Gas(first)) = simulated else { return simulated };
    if trial.known_gas == Some(first) {
        return simulated;
    }
    let agreed = match network.chain.quorum() > 1 {
        true => network.chain.agreed_simulation(&trial.call, trial.at).await.ok().flatten(),
        false => None,
    };
    let gas = if let Some(Simulation::Gas(most)) = agreed { most } else { first };
    if let Some(target) = trial.call.to {
        network.gas.learn(target, &trial.call.data, gas, network.chain.config.gas_cap);
    }
    Ok(Simulation::Gas(gas))
}

async fn with_lane(
    engine: &Engine,
    network: &Network,
    lanes: &mut Lanes,
    due: &Due,
    memory: &dyn Memory,
) -> Result<Lane, Failure> {
    let lane = lanes.choose(network, &due.op, memory)?;
    let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
    if network.has_code(due.step.target.0).await.map_err(fault)? {
        return Ok(lane);
    }
    // An endpoint that lags behind may not have the contract yet.
    let followed = followed(engine, network).await?;
    let at = Tag::Number(followed.head_number.cast_unsigned());
    let target = due.step.target.0;
    let is_missing = |endpoint: Chain| async move { Ok(endpoint.code(target, at).await?.is_empty()) };
    match network.chain.agreed(is_missing, |one, other| one == other).await.map_err(fault)? {
        Some(false) => Ok(lane),
        Some(true) => {
            let message =
                format!("There is no contract at {target}. Check the chain and the address in the configuration.");
            Err(Failure::refuse(Stage::Preflight, "contract_missing", message, None))
        }
        None => Err(disagreement(&format!("there is no contract at {target}"))),
    }
}

/// The follower's cursor. Only blocks up to it give a verdict against an operation.
pub async fn followed(engine: &Engine, network: &Network) -> Result<Cursor, Failure> {
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, network.id()).await?;
    cursor.ok_or_else(|| Failure::Blocked("chain_unmet: this chain has not been contacted yet".to_owned()))
}

fn trial(network: &Network, due: &Due, lane: &Lane) -> SimulationRequest {
    let (target, data) = (due.step.target.0, Bytes::from(due.step.calldata.clone()));
    // A call above the gas cap would only be refused; an estimate gives its real need.
    let known_gas = network.gas.of(target, &data).filter(|gas| *gas <= network.chain.config.gas_cap);
    SimulationRequest { call: Call { from: lane.signer.0, to: Some(target), data }, at: due.at, known_gas }
}

async fn decide(
    engine: &Engine,
    network: &Network,
    due: &Due,
    lane: Lane,
    trial: &SimulationRequest,
    simulated: Result<Simulation, Fault>,
) -> Result<Outcome, Failure> {
    let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
    let cap = network.chain.config.gas_cap;
    let mut simulated = simulated.map_err(fault)?;
    if network.chain.quorum() > 1 && matches!(simulated, Simulation::Gas(estimate) if estimate > cap) {
        let agreed = network.chain.agreed_simulation(&trial.call, trial.at).await.map_err(fault)?;
        simulated = agreed.ok_or_else(|| disagreement("it needs more gas than the cap"))?;
    }
    let estimate = match simulated {
        Simulation::Gas(estimate) => estimate,
        Simulation::Reverts(revert) => {
            match refusal::reverted(engine, network, &due.op, &due.step, &trial.call, revert).await? {
                ControlFlow::Continue(estimate) => estimate,
                ControlFlow::Break(outcome) => return Ok(outcome),
            }
        }
    };
    let gas_limit = match gas::limit(estimate, cap) {
        Ok(limit) => limit,
        Err(above) => return too_large(engine, due, above.to_string()).await,
    };
    let market = network.market(engine.db.clock().now()).await.map_err(fault)?;
    let config = &network.chain.config;
    if due.op.max_fee_per_gas.is_none() && market.base_fee > config.max_fee_per_gas_cap() {
        // Signed now, it would only hold its lane's nonce.
        return Err(Failure::Blocked(network.above_cap(market.base_fee)));
    }
    Ok(Outcome::Ready(Box::new(Prepared {
        op: due.op.clone(),
        step: due.step.clone(),
        lane_id: lane.id,
        signer: lane.signer.0,
        gas_limit,
        fees: allowed(market.offer, &due.op),
        at: engine.db.clock().now(),
    })))
}

/// Handles a call that is too large for one transaction. The halves of a page may fit.
async fn too_large(engine: &Engine, due: &Due, why: String) -> Result<Outcome, Failure> {
    if engine.kind(&due.op).split_oversized(engine, &due.op, &due.step, &why).await? {
        return Ok(Outcome::Split);
    }
    Err(Failure::refuse(Stage::Preflight, "above_gas_cap", why, None))
}

/// The fees of a step. A fee that a person set with a retry replaces the market's.
fn allowed(market: Fees, op: &Operation) -> Fees {
    let Some(asked) = op.max_fee_per_gas else { return market };
    Fees { max_fee_per_gas: asked.0, max_priority_fee_per_gas: market.max_priority_fee_per_gas.min(asked.0) }
}

/// The lanes whose keys this process has, and their transactions in flight.
struct Lanes {
    all: Vec<Lane>,
    under_way: HashMap<LaneId, i64>,
}

impl Lanes {
    async fn read(engine: &Engine, network: &Network) -> Result<Self, Error> {
        let mut tx = engine.db.read().await?;
        let mut all = lane_state::loads_of_chain(&mut tx, network.id()).await?;
        all.retain(|(lane, _)| network.signers.contains_key(&lane.signer.0));
        let under_way = all.iter().map(|(lane, in_flight)| (lane.id.clone(), *in_flight)).collect();
        Ok(Self { all: all.into_iter().map(|(lane, _)| lane).collect(), under_way })
    }

    /// The lane of an operation. A new operation gets an active lane with room, spread by its id. A signer that is known to lack roles for
    /// the offering gets it only if no other does better: the contract would refuse the call.
    fn choose(&mut self, network: &Network, op: &Operation, memory: &dyn Memory) -> Result<Lane, Failure> {
        let own = |lane: &&Lane| op.lane_id.as_ref().is_none_or(|own| lane.id == own);
        let may_act =
            |lane: &&Lane| lane.roles_in(op.offering_id.as_ref()).is_none_or(|bits| Roles(bits).holds(Roles::ALL));
        let mut mine: Vec<&Lane> = self.all.iter().filter(own).collect();
        if mine.iter().any(may_act) {
            mine.retain(may_act);
        }
        let stopped = mine
            .iter()
            .find(|lane| lane.mode != Mode::Active)
            .map(|lane| format!("lane_{}: {}", lane.mode, lane.mode_reason.clone().unwrap_or_default()));
        let active: Vec<&Lane> = mine.into_iter().filter(|lane| lane.mode == Mode::Active).collect();
        if active.is_empty() {
            return Err(Failure::Blocked(stopped.unwrap_or_else(|| no_signer(network.id()))));
        }
        // A full lane is detected before the chain is asked: the answer would be stale by the time there is room.
        let room = network.in_flight_max();
        let used = |lane: &Lane| self.under_way.get(&lane.id).copied().unwrap_or(0) + memory.held(&lane.id);
        let mut open: Vec<&Lane> = active.iter().copied().filter(|lane| used(lane) < room).collect();
        if open.is_empty() {
            open = active.into_iter().filter(|lane| used(lane) < room + memory.limit(room)).collect();
        }
        if open.is_empty() {
            return Err(Failure::Blocked(WAITS_FOR_LANE.to_owned()));
        }
        let spread = op.id.bytes().fold(0usize, |sum, b| sum.wrapping_mul(31).wrapping_add(usize::from(b)));
        let chosen = open.swap_remove(spread % open.len()).clone();
        *self.under_way.entry(chosen.id.clone()).or_default() += 1;
        memory.hold(&chosen.id);
        Ok(chosen)
    }
}
