//! One wake, one move: load the operation, see what its status asks for, do that and no more.

use alloy_primitives::B256;
use muniment_activities::simulate::At;
use muniment_domain::operation::{self, Operation, Status};
use muniment_domain::step::{self, State, Step};
use muniment_domain::{Code, Error, Result, chain};

use crate::engine::Engine;
use crate::failure::{self, Failure};
use crate::prepare::{self, Prepared};

/// What is to be done after the look.
#[derive(Debug)]
pub enum Next {
    /// Nothing, for now: it is finished, waits for the chain, or its failure was written down.
    Nothing,
    /// A step was prepared and is to be signed in this lane.
    Sign(Box<Prepared>),
}

/// Makes the move that an operation is due. A failure is recorded before this returns; an error means that nothing was.
pub async fn advance(engine: &Engine, operation_id: &str) -> Result<Next> {
    let mut tx = engine.db.read().await?;
    let op = match operation::find(&mut tx, operation_id).await {
        Ok(op) => op,
        // A wake whose operation is gone is a wake of a rolled-back test or a restored backup: nothing to do.
        Err(Error::Refused { code: Code::NotFound, .. }) => return Ok(Next::Nothing),
        Err(error) => return Err(error),
    };
    if !op.status.is_live() || op.next_action_at.is_none() && op.status == Status::Submitted {
        return Ok(Next::Nothing);
    }
    let steps = step::of_operation(&mut tx, &op.id).await?;
    let met = chain::find(&mut tx, op.chain_id).await?;
    drop(tx);
    let Some((step, at)) = due(&steps) else { return Ok(Next::Nothing) };
    let step = step.clone();
    let network = match (engine.network(op.chain_id), met) {
        (None, _) => {
            Err(format!("unknown_chain: chain {} is not configured in this worker; add it and restart", op.chain_id))
        }
        (_, Some(c)) if c.halted_reason.is_some() => {
            Err(format!("chain_halted: {}", c.halted_reason.unwrap_or_default()))
        }
        (_, Some(c)) if c.blocked_reason.is_some() => Err(c.blocked_reason.unwrap_or_default()),
        (Some(_), None) => Err("chain_unmet: first contact with the chain is still to come".to_owned()),
        (Some(network), Some(_)) => Ok(network),
    };
    let prepared = match network {
        Ok(network) => prepare::prepare(engine, network, &op, step, at).await,
        Err(reason) => Err(Failure::Blocked(reason)),
    };
    match prepared {
        Ok(prepare::Outcome::Ready(prepared)) => Ok(Next::Sign(prepared)),
        Ok(prepare::Outcome::Adopted | prepare::Outcome::Split) => Ok(Next::Nothing),
        Err(failure) => record(engine, op, failure).await,
    }
}

async fn record(engine: &Engine, op: Operation, failure: Failure) -> Result<Next> {
    match failure::record(&engine.db, &engine.settings, op, failure).await {
        // Somebody else moved the row: what we saw is no longer so, and they have left a wake if one is needed.
        Ok(()) | Err(Error::Stale { .. }) => Ok(Next::Nothing),
        Err(error) => Err(error),
    }
}

/// The step that may be prepared now, and the block on which it is to be tried: the first unsigned one, if the step before it is at
/// least included. Nonce order then keeps their order, even through a reorg.
pub fn due(steps: &[Step]) -> Option<(&Step, At)> {
    let index = steps.iter().position(|s| s.state == State::Unsigned)?;
    match index.checked_sub(1).map(|before| &steps[before]) {
        None => Some((&steps[index], At::Latest)),
        Some(before) if before.state == State::Final => Some((&steps[index], At::Latest)),
        Some(before) if before.state == State::Included => {
            Some((&steps[index], before.block_hash.map_or(At::Latest, |hash| At::Hash(B256::from(hash.0)))))
        }
        Some(_) => None,
    }
}
