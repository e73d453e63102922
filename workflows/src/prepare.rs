//! Before anything is signed: what would the chain do? A certain no ends here, and burns no nonce.

use alloy_primitives::{Address, Bytes};
use muniment_activities::fees::Fees;
use muniment_activities::gas;
use muniment_activities::revert::Revert;
use muniment_activities::simulate::{At, Call, Simulation};
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::operation::{LANE_FULL, Operation, Stage};
use muniment_domain::step::{self, Step};

use crate::conclude;
use crate::effect;
use crate::engine::{Engine, Network};
use crate::failure::Failure;
use crate::split;

/// A step that may be signed.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// As it was read; its version guards the commit.
    pub op: Operation,
    /// The step.
    pub step: Step,
    /// The lane that will sign.
    pub lane_id: String,
    /// Its signer.
    pub signer: Address,
    /// The most gas it may take.
    pub gas_limit: u64,
    /// What is offered for it.
    pub fees: Fees,
}

/// What preparing came to.
#[derive(Debug)]
pub enum Outcome {
    /// It may be signed.
    Ready(Box<Prepared>),
    /// The chain has executed it before; its transaction was taken over.
    Adopted,
    /// Some of its lines would have failed all of them: two other operations have them now.
    Split,
}

/// Tries the step on the chain. Whoever reads "ready" knows that it would have succeeded a moment ago.
pub async fn prepare(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: Step,
    at: At,
) -> Result<Outcome, Failure> {
    let lane = choose_lane(engine, network, op).await?;
    let call = Call { from: lane.signer.0, to: Some(step.target.0), data: Bytes::from(step.calldata.clone()) };
    let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
    if !network.has_code(step.target.0).await.map_err(fault)? {
        let message = format!(
            "There is no contract at {}. Is it the right chain, and the right address in the configuration?",
            step.target
        );
        return Err(Failure::refuse(Stage::Preflight, "contract_missing", message, None));
    }
    let estimate = match network.chain.simulate(&call, at).await.map_err(fault)? {
        Simulation::Gas(estimate) => estimate,
        Simulation::Reverts(revert) => return reverted(engine, network, op, &step, &call, at, revert).await,
    };
    let gas_limit = gas::limit(estimate, network.chain.config.gas_cap)
        .map_err(|above| Failure::refuse(Stage::Preflight, "above_gas_cap", above.to_string(), None))?;
    let fees = network.fees(engine).await.map_err(fault)?;
    Ok(Outcome::Ready(Box::new(Prepared {
        op: op.clone(),
        step,
        lane_id: lane.id,
        signer: lane.signer.0,
        gas_limit,
        fees,
    })))
}

/// An operation stays in its lane; a new one goes to one of those that sign and have room, spread by its id.
async fn choose_lane(engine: &Engine, network: &Network, op: &Operation) -> Result<Lane, Failure> {
    let mut tx = engine.db.read().await?;
    let mut lanes = lane::of_chain(&mut tx, network.id()).await?;
    lanes.retain(|lane| network.signers.contains_key(&lane.signer.0));
    if let Some(own) = &op.lane_id {
        lanes.retain(|lane| &lane.id == own);
    }
    let stopped = lanes
        .iter()
        .find(|lane| lane.mode != Mode::Active)
        .map(|lane| format!("lane_{}: {}", lane.mode, lane.mode_reason.clone().unwrap_or_default()));
    lanes.retain(|lane| lane.mode == Mode::Active);
    if lanes.is_empty() {
        let none = || format!("no_signer: this worker holds no key for chain {}; configure one", network.id());
        return Err(Failure::Blocked(stopped.unwrap_or_else(none)));
    }
    // A full lane is looked for before the chain is asked: the answer would be old by the time there is room.
    let mut open = Vec::with_capacity(lanes.len());
    for lane in lanes {
        if step::in_flight(&mut tx, &lane.id).await? < i64::from(network.chain.config.in_flight_max) {
            open.push(lane);
        }
    }
    if open.is_empty() {
        return Err(Failure::Blocked(LANE_FULL.to_owned()));
    }
    let spread = op.id.bytes().fold(0usize, |sum, b| sum.wrapping_mul(31).wrapping_add(usize::from(b)));
    Ok(open.swap_remove(spread % open.len()))
}

async fn reverted(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    call: &Call,
    at: At,
    revert: Revert,
) -> Result<Outcome, Failure> {
    if revert.is_operation_replayed().is_some() {
        return adopt(engine, network, op, step).await;
    }
    // On a block that may still be reorganised a revert is a certain no only if the newest head agrees.
    if at != At::Latest {
        let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
        if let Simulation::Gas(_) = network.chain.simulate(call, At::Latest).await.map_err(fault)? {
            return Err(Failure::Retry(muniment_domain::operation::Problem {
                stage: Stage::Preflight,
                code: "heads_disagree".to_owned(),
                message: format!("one head says {}, a newer one does not; it is tried again", revert.sentence),
                data: None,
            }));
        }
    }
    if let Some(cut) = split::plan(network, op, step, call, &revert).await? {
        split::write(engine, op, step, cut).await?;
        return Ok(Outcome::Split);
    }
    Err(Failure::refuse(Stage::Preflight, "reverts", revert.sentence.clone(), Some(revert.data.to_string())))
}

/// The chain says that this operation id was executed. If its payload is ours, its transaction is taken over and followed to finality.
async fn adopt(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Outcome, Failure> {
    match effect::find_executed(engine, network, op, step).await? {
        effect::Executed::Ours(receipt) => {
            conclude::adopt(engine, op, step, &receipt).await?;
            Ok(Outcome::Adopted)
        }
        effect::Executed::Other(tx_hash) => Err(Failure::Dead(effect::op_id_conflict(step, tx_hash))),
        // The node that answered the simulation knows more than the one that searched the logs: ask again.
        effect::Executed::NotFound => Err(Failure::Retry(muniment_domain::operation::Problem {
            stage: Stage::Preflight,
            code: "replay_not_found".to_owned(),
            message: "the chain says that this operation was executed, but no log of it was found yet".to_owned(),
            data: None,
        })),
    }
}
