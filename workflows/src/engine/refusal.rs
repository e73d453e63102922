//! A trial call that reverts for one endpoint, and whether that ends its operation.

use std::ops::ControlFlow;

use alloy_primitives::B256;
use muniment_activities::chain::simulate::{At, Call, Simulation};
use muniment_activities::revert::Revert;
use muniment_domain::operation::{Operation, Problem, Stage};
use muniment_domain::step::Step;

use crate::engine::conclude;
use crate::engine::execution::{self, Executed};
use crate::engine::failure::Failure;
use crate::engine::kind::agreed_execution;
use crate::engine::prepare::{Outcome, followed};
use crate::engine::{Engine, Network};

/// Decides about a call that reverts for one endpoint. Continues with the gas that others show, if they outvote it.
pub async fn reverted(
    engine: &Engine,
    network: &Network,
    op: &Operation,
    step: &Step,
    call: &Call,
    revert: Revert,
) -> Result<ControlFlow<Outcome, u64>, Failure> {
    let kind = engine.kind(op);
    if revert.is_already_executed() {
        let found = execution::find(engine, network, op, step).await?;
        if matches!(found, Executed::Ours(_) | Executed::Other(_)) {
            return take_over(engine, op, step, found).await.map(ControlFlow::Break);
        }
    } else {
        refuse_waiting(engine, op, step).await?;
    }
    // With a quorum of two or more no endpoint alone ends an operation. One that lags behind says nothing about the blocks that were
    // followed: a revert is definite only on the newest of them.
    let at = At::Hash(followed(engine, network).await?.head_hash.0);
    let fault = |fault| Failure::of_fault(&fault, Stage::Preflight);
    let wait = || disagreement(&revert.sentence);
    let agreed = network.chain.agreed_simulation(call, at).await.map_err(fault)?.ok_or_else(wait)?;
    let newest = match agreed.ends_like(&Simulation::Reverts(revert.clone())) {
        true => agreed.clone(),
        // The endpoint is wrong, or its newest block is newer.
        false => network.chain.agreed_simulation(call, At::Latest).await.map_err(fault)?.ok_or_else(wait)?,
    };
    let revert = match (agreed, newest) {
        (_, Simulation::Gas(gas)) => return Ok(ControlFlow::Continue(gas)),
        (_, Simulation::Reverts(replay)) if replay.is_already_executed() => replay,
        (Simulation::Reverts(revert), _) => revert,
        (Simulation::Gas(_), _) => return Err(wait()),
    };
    // A step may have been executed meanwhile, by its own call or another one. Then no line of it is the cause of the revert.
    let is_executed = match revert.is_already_executed() {
        false if kind.is_traced(step) => {
            let agreed = agreed_execution(kind, &network.chain, op, step, at).await.map_err(fault)?;
            agreed.ok_or_else(|| disagreement(&revert.sentence))?
        }
        is_executed => is_executed,
    };
    if is_executed {
        let found = execution::find(engine, network, op, step).await?;
        return take_over(engine, op, step, found).await.map(ControlFlow::Break);
    }
    refuse_waiting(engine, op, step).await?;
    if kind.split_reverting(engine, network, op, step, call, &revert).await? {
        return Ok(ControlFlow::Break(Outcome::Split));
    }
    let data = Some(revert.data.to_string());
    if revert.is_outage_of_asset() {
        return Err(Failure::refuse(Stage::Preflight, "asset_unavailable", revert.sentence, data));
    }
    Err(Failure::refuse(Stage::Preflight, "reverts", revert.sentence, data))
}

/// Refuses a step that waits for something before it, such as an allowance.
async fn refuse_waiting(engine: &Engine, op: &Operation, step: &Step) -> Result<(), Failure> {
    let mut tx = engine.db.read().await?;
    match engine.kind(op).waits_for(&mut tx, op, step).await? {
        Some(reason) => Err(Failure::Blocked(reason.to_owned())),
        None => Ok(()),
    }
}

/// The wait for endpoints that do not agree.
pub fn disagreement(why: &str) -> Failure {
    Failure::Blocked(format!(
        "heads_disagree: one endpoint shows this, and too few others do; it is tried again: {why}"
    ))
}

/// Handles an operation number that is already executed on the chain. If the payload is the operation's own, its transaction is adopted and
/// followed to finality.
async fn take_over(engine: &Engine, op: &Operation, step: &Step, found: Executed) -> Result<Outcome, Failure> {
    match found {
        Executed::Ours(receipt) => {
            conclude::adopt(engine, op, step, &receipt).await?;
            Ok(Outcome::Adopted)
        }
        Executed::Other(tx_hash) => Err(Failure::Dead(op_id_conflict(step, tx_hash))),
        Executed::Unproved(tx_hash) => Err(Failure::Blocked(format!(
            "heads_disagree: an endpoint shows that {tx_hash} has the operation's number, and no final block proves it yet; it is searched again"
        ))),
        // The log can come later than the state, or be deleted.
        Executed::NotFound => Err(Failure::Retry(Problem {
            stage: Stage::Preflight,
            code: "replay_not_found".to_owned(),
            message: "the operation is executed on the chain, but its log was not found yet".to_owned(),
            data: None,
        })),
    }
}

/// The problem of an operation number that a foreign call used. Only a person can solve it.
pub fn op_id_conflict(step: &Step, tx_hash: B256) -> Problem {
    Problem {
        stage: Stage::Execution,
        code: "op_id_conflict".to_owned(),
        message: format!(
            "The call of {} at {} was executed with another payload in {tx_hash}. Somebody else uses the platform's operation numbers.",
            step.op_number.map_or_else(|| step.name.clone(), |number| format!("operation number {number}")),
            step.target
        ),
        data: None,
    }
}
