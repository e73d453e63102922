//! Retrying an operation. The retry check reads the chain first. An executed operation is confirmed, an open nonce is used again, and a new
//! cycle starts only when the old nonce is final without effect.

use alloy_primitives::B256;
use muniment_domain::column::Dec;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Move, Operation};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Code, Error, Result, command, operation_item};

use crate::engine::execution::{self, Executed};
use crate::engine::queue;
use crate::engine::refusal;
use crate::engine::{Engine, Network};
use crate::investor::kyc;
use crate::operations;
use crate::operator::attention;
use crate::operator::mark_confirmed::{self, Examined};
use crate::operator::speed_up;
use crate::requester::Requester;

/// The result of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryOutcome {
    /// The operation was already executed and is confirmed.
    Confirmed,
    /// The stored transaction is sent and followed again, with the same nonce.
    SameNonce,
    /// A new cycle started. It takes a new nonce.
    NewCycle,
}

impl RetryOutcome {
    /// The name in API responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::SameNonce => "same_nonce",
            Self::NewCycle => "new_cycle",
        }
    }
}

/// The decision of the retry check. It is made with no database transaction open.
#[derive(Clone, Debug)]
pub enum Decision {
    /// This transaction had the effect.
    Confirm(Box<Examined>),
    /// The nonce is open, so the stored transaction is used again.
    SameNonce(Box<Operation>),
    /// The nonce is final without effect, or none was taken.
    NewCycle(Box<Operation>, Option<Box<Step>>),
}

impl Decision {
    /// The commit point of its write.
    pub const fn point(&self) -> Point {
        match self {
            Self::Confirm(_) => Point::MarkConfirmed,
            Self::SameNonce(_) | Self::NewCycle(..) => Point::Retry,
        }
    }
}

/// Retries an operation that failed or is a dead letter.
pub async fn retry(engine: &Engine, operation_id: &OperationId, actor: &str, reason: &str) -> Result<RetryOutcome> {
    let decision = decide(engine, operation_id).await?;
    let mut tx = engine.db.begin().await?;
    let point = decision.point();
    let retried = apply(&mut tx, decision, actor, reason, None).await?;
    tx.commit(point).await?;
    Ok(retried)
}

/// Whether the retry check always refuses: a transaction without its effect, or a foreign payload under the same operation number, must not
/// be repeated.
pub fn is_hopeless(op: &Operation) -> bool {
    matches!(op.error_code.as_deref(), Some("effect_mismatch" | "op_id_conflict"))
}

/// The refusal that needs only the database, if any.
pub async fn refusal(tx: &mut Tx, op: &Operation, steps: &[Step]) -> Result<Option<(Code, &'static str)>> {
    if !op.needs_attention() {
        return Ok(Some((
            Code::InvalidState,
            "Only a failed or dead-letter operation that is not resolved can be retried.",
        )));
    }
    if operation_item::is_taken_over(tx, &op.id).await? {
        return Ok(Some((
            Code::InvalidState,
            "A later freeze took its address over. Abandon it, and request it again if it is still wanted.",
        )));
    }
    let unfinished = steps.iter().find(|s| s.outcome != Some(Outcome::Success));
    Ok(unfinished.and_then(|step| refusal_of_step(op, step)))
}

fn refusal_of_step(op: &Operation, step: &Step) -> Option<(Code, &'static str)> {
    match step.state {
        State::Included => {
            Some((Code::NonceStillOpen, "The transaction is in a block that is not final yet. Wait until it is final."))
        }
        State::Final if op.error_code.as_deref() == Some("effect_mismatch") => Some((
            Code::EffectMismatch,
            "The transaction succeeded without its effect, and a retry could execute it twice. Mark it confirmed with a proof, or abandon it.",
        )),
        _ => None,
    }
}

/// The retry check: decides from the chain's final block what a retry has to do.
pub async fn decide(engine: &Engine, operation_id: &OperationId) -> Result<Decision> {
    let (op, steps) = attention::load(engine, operation_id).await?;
    let network = execution::network_of(engine, &op)?;
    if let Some((code, detail)) = refusal(&mut engine.db.read().await?, &op, &steps).await? {
        let others = || op.status.requests().iter().copied().filter(|request| *request != "retry").collect();
        let illegal = || Error::illegal(detail, op.status.as_str(), others());
        return Err(if code == Code::InvalidState { illegal() } else { Error::refused(code, detail) });
    }
    if let Some(key) = engine.kind(&op).ended_by(&op) {
        let live = operation::find_live(&mut engine.db.read().await?, &key).await?;
        if let Some(live) = live.filter(|live| live.id != op.id) {
            let detail = format!("The operation {} is reclaiming its escrow.", live.id);
            return Err(Error::refused(Code::OperationInProgress, detail));
        }
    }
    let Some(step) = steps.iter().find(|s| s.outcome != Some(Outcome::Success)) else {
        // Every step succeeded after the engine had given the operation up.
        let hash = steps.last().and_then(|s| s.tx_hash).map(|h| h.0).unwrap_or_default();
        return confirm(engine, operation_id, hash).await;
    };
    match step.state {
        State::Unsigned => Ok(Decision::NewCycle(Box::new(op), None)),
        State::Signed => Ok(Decision::SameNonce(Box::new(op))),
        State::Included | State::Final => match executed(engine, network, &op, step).await? {
            Some(hash) if steps.iter().filter(|s| s.outcome != Some(Outcome::Success)).count() == 1 => {
                confirm(engine, operation_id, hash).await
            }
            // If more steps follow, the new cycle finds the executed step and adopts it.
            _ => Ok(Decision::NewCycle(Box::new(op), Some(Box::new(step.clone())))),
        },
    }
}

async fn confirm(engine: &Engine, operation_id: &OperationId, tx_hash: B256) -> Result<Decision> {
    Ok(Decision::Confirm(Box::new(mark_confirmed::examine(engine, operation_id, tx_hash).await?)))
}

/// Applies the decision, if the operation's version has not changed.
pub async fn apply(
    tx: &mut Tx,
    decision: Decision,
    actor: &str,
    reason: &str,
    max_fee_per_gas: Option<u128>,
) -> Result<RetryOutcome> {
    match decision {
        Decision::Confirm(examined) => {
            command::complete(tx, &examined.op.id, command::Kind::Retry, RetryOutcome::Confirmed.as_str()).await?;
            mark_confirmed::apply(tx, *examined, actor, reason).await?;
            Ok(RetryOutcome::Confirmed)
        }
        Decision::SameNonce(op) => {
            command::complete(tx, &op.id, command::Kind::Retry, RetryOutcome::SameNonce.as_str()).await?;
            let id = op.id.clone();
            let retried = same_nonce(tx, *op, actor, reason).await?;
            if let Some(fee) = max_fee_per_gas {
                speed_up::ask_for(tx, &id, fee, actor, reason).await?;
            }
            Ok(retried)
        }
        Decision::NewCycle(mut op, step) => {
            op.max_fee_per_gas = max_fee_per_gas.map(Dec);
            command::complete(tx, &op.id, command::Kind::Retry, RetryOutcome::NewCycle.as_str()).await?;
            new_cycle(tx, *op, step.map(|step| *step), actor, reason).await
        }
    }
}

/// The transaction that executed a step, if there is one. An existing deployment is not searched: its repetition finds the token at little
/// cost.
async fn executed(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Option<B256>> {
    if !engine.kind(op).is_traced(step) {
        return Ok(None);
    }
    match execution::trace(engine, network, op, step).await? {
        Executed::Ours(receipt) => Ok(Some(receipt.tx_hash)),
        Executed::Other(hash) => Err(Error::refused(Code::InvalidState, refusal::op_id_conflict(step, hash).message)),
        Executed::Unproved(hash) => Err(execution::unproved(hash)),
        Executed::NotFound if execution::is_executed(engine, network, op, step).await? => Err(Error::refused(
            Code::ChainUnavailable,
            "The operation is executed on the chain, but its transaction was not found. Try again later.",
        )),
        Executed::NotFound => Ok(None),
    }
}

/// Starts a new cycle. The operation keeps its id, its operation number and its history.
async fn new_cycle(
    tx: &mut Tx,
    mut op: Operation,
    step: Option<Step>,
    actor: &str,
    reason: &str,
) -> Result<RetryOutcome> {
    kyc::refuse_unapproved(tx, &op).await?;
    if let Some(mut step) = step {
        let read = step.state;
        step.state = State::Unsigned;
        step.outcome = None;
        step.lane_id = None;
        step.nonce = None;
        step.tx_hash = None;
        step.block_number = None;
        step.block_hash = None;
        step.signed_at = None;
        step.final_at = None;
        step::save(tx, &step, read).await?;
    }
    op.cycle += 1;
    op.faults = 0;
    op.set_problem(None);
    op.suggested_action = None;
    op.next_action_at = Some(tx.now() + chrono::Duration::seconds(operation::WAKE_AGAIN_SECONDS));
    let by = Requester { actor: actor.to_owned(), request_id: None, idempotency_key: None };
    let waits = operations::of(op.kind).renew(tx, &mut op, &by).await?;
    operation::transition(tx, &mut op, Move::Retry, actor, reason).await?;
    if !waits {
        queue::wake(tx, &op).await?;
    }
    Ok(RetryOutcome::NewCycle)
}

/// Uses the open nonce again. The stored transaction was never withdrawn, and the operation follows it again.
async fn same_nonce(tx: &mut Tx, mut op: Operation, actor: &str, reason: &str) -> Result<RetryOutcome> {
    op.faults = 0;
    op.set_problem(None);
    operation::transition(tx, &mut op, Move::Retry, actor, reason).await?;
    operation::transition(tx, &mut op, Move::Sign, actor, "the nonce is open: the stored transaction is used again")
        .await?;
    Ok(RetryOutcome::SameNonce)
}
