//! One wake, one move: loads an operation and makes the one move that its status needs. Wakes that arrive together are handled together.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use muniment_activities::chain::simulate::At;
use muniment_domain::chain::{self, Chain};
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Status};
use muniment_domain::step::{self, State, Step};
use muniment_domain::{Error, Result};

use crate::engine::failure::Failure;
use crate::engine::prepare::{self, Due, Memory, Prepared, Tried};
use crate::engine::record::{self, When};
use crate::engine::{Engine, Network};

/// The next action for an operation.
#[derive(Debug)]
pub enum Next {
    /// Nothing now: it is finished, waits for the chain, or its failure was recorded.
    Nothing,
    /// A step was prepared, and its lane must sign it.
    Sign(Box<Prepared>),
    /// It was not tried yet: a call like it was estimated first. It needs another move at once.
    Again,
}

/// Makes the due move of an operation. A failure is recorded before this returns. An error means that nothing was recorded.
pub async fn advance(engine: &Engine, operation_id: &OperationId) -> Result<Next> {
    let mut moved = advance_all(engine, &[operation_id], &()).await?;
    moved.pop().map_or(Ok(Next::Nothing), |(_, next)| next)
}

/// Makes the due moves of several operations, with one database read and one request to each chain. An operation that is missing in the
/// answer has no due move.
pub async fn advance_all(
    engine: &Engine,
    ids: &[&OperationId],
    memory: &dyn Memory,
) -> Result<Vec<(OperationId, Result<Next>)>> {
    let mut tx = engine.db.read().await?;
    // An operation without a row comes from a rolled-back test or a restored backup. There is nothing to do.
    let mut ops = operation::find_all(&mut tx, ids).await?;
    ops.retain(|op| op.status == Status::Pending || op.status == Status::Submitted && op.next_action_at.is_some());
    if ops.is_empty() {
        return Ok(Vec::new());
    }
    ops.sort_by(|a, b| a.id.cmp(&b.id));
    let steps = step::of_operations(&mut tx, &ops.iter().map(|op| &op.id).collect::<Vec<_>>()).await?;
    let met = chain::all(&mut tx).await?;
    drop(tx);
    let mut by_chain: BTreeMap<i64, Vec<Due>> = BTreeMap::new();
    for op in ops {
        let own: Vec<&Step> = steps.iter().filter(|s| s.operation_id == op.id).collect();
        if let Some((step, at)) = due(&own) {
            by_chain.entry(op.chain_id).or_default().push(Due { step: step.clone(), at, op });
        }
    }
    // A chain that does not answer must not delay the others.
    let chains = by_chain.into_iter().map(|(chain_id, due)| {
        let met = met.iter().find(|c| c.chain_id == chain_id);
        async move {
            match reachable(engine, chain_id, met) {
                Ok(network) => prepare::prepare(engine, network, due, memory).await,
                Err(reason) => {
                    Ok(due.into_iter().map(|due| (due.op, Err(Failure::Blocked(reason.clone())))).collect::<Tried>())
                }
            }
        }
    });
    let mut moved = Vec::with_capacity(ids.len());
    for tried in futures::future::join_all(chains).await {
        conclude(engine, tried?, &mut moved).await?;
    }
    Ok(moved)
}

fn reachable<'a>(engine: &'a Engine, chain_id: i64, met: Option<&Chain>) -> Result<&'a Network, String> {
    match (engine.network(chain_id), met) {
        (None, _) => {
            Err(format!("unknown_chain: chain {chain_id} is not configured in this worker; add it and restart"))
        }
        (_, Some(Chain { halted_reason: Some(reason), .. })) => Err(format!("chain_halted: {reason}")),
        (_, Some(Chain { blocked_reason: Some(reason), .. })) => Err(reason.clone()),
        (Some(_), None) => Err("chain_unmet: this chain has not been contacted yet".to_owned()),
        (Some(network), Some(_)) => Ok(network),
    }
}

/// Records the failures: those with the same reason in one commit, every other one by itself.
async fn conclude(engine: &Engine, tried: Tried, moved: &mut Vec<(OperationId, Result<Next>)>) -> Result<()> {
    let mut blocked: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
    for (op, outcome) in tried {
        let id = op.id.clone();
        let next = match outcome {
            Ok(prepare::Outcome::Ready(prepared)) => Ok(Next::Sign(prepared)),
            Ok(prepare::Outcome::Adopted | prepare::Outcome::Split) => Ok(Next::Nothing),
            Ok(prepare::Outcome::Later) => Ok(Next::Again),
            Err(Failure::Blocked(reason)) => {
                blocked.entry(reason).or_default().push(op);
                continue;
            }
            Err(failure) => fail(engine, op, failure).await,
        };
        moved.push((id, next));
    }
    for (reason, ops) in blocked {
        record::wait(engine, ops, &reason, When::Soon).await?;
    }
    Ok(())
}

async fn fail(engine: &Engine, op: Operation, failure: Failure) -> Result<Next> {
    match record::failure(engine, op, failure).await {
        // Another move changed the row, and it left a wake if one is needed.
        Ok(()) | Err(Error::Stale { .. }) => Ok(Next::Nothing),
        Err(error) => Err(error),
    }
}

/// The step that can be prepared now, and the block for its trial call: the first unsigned step, if the step before it is at least
/// included. The nonces then keep the order of the steps, even through a reorganisation.
pub fn due<'a>(steps: &[&'a Step]) -> Option<(&'a Step, At)> {
    let index = steps.iter().position(|s| s.state == State::Unsigned)?;
    match index.checked_sub(1).map(|before| steps[before]) {
        None => Some((steps[index], At::Latest)),
        Some(before) if before.state == State::Final => Some((steps[index], At::Latest)),
        Some(before) if before.state == State::Included => {
            Some((steps[index], before.block_hash.map_or(At::Latest, |hash| At::Hash(B256::from(hash.0)))))
        }
        Some(_) => None,
    }
}
