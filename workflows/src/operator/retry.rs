//! Guard G: a retry reads the chain before it does anything. What was executed is confirmed instead; a nonce that is open is used again;
//! only when its fate is final and without effect does a new cycle begin.

use alloy_primitives::B256;
use muniment_activities::fault::Fault;
use muniment_activities::operation::is_operation_executed;
use muniment_activities::simulate::At;
use muniment_activities::{distributor, factory};
use muniment_domain::column::Dec;
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Move, Operation};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Code, Error, Result, chain, wish};

use crate::engine::effect::{self, Executed};
use crate::engine::failure::Failure;
use crate::engine::queue;
use crate::engine::{Engine, Network};
use crate::operator::mark_confirmed::{self, Examined};
use crate::operator::speed_up;
use crate::payout::{allowance, reclaim};
use crate::requester::Requester;

/// What a retry came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// The effect was there: the operation is confirmed.
    Confirmed,
    /// The signed bytes are in force again, with the same nonce.
    SameNonce,
    /// A new cycle began; a new nonce will be taken.
    NewCycle,
}

impl Retried {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::SameNonce => "same_nonce",
            Self::NewCycle => "new_cycle",
        }
    }
}

/// What is to be written, decided while no transaction was open.
#[derive(Clone, Debug)]
pub enum Decision {
    /// A known transaction had the effect.
    Confirm(Box<Examined>),
    /// The stored bytes are in force again.
    SameNonce(Box<Operation>),
    /// The slot is gone without effect, or never was.
    NewCycle(Box<Operation>, Option<Box<Step>>),
}

impl Decision {
    /// The name of its write.
    pub const fn point(&self) -> Point {
        match self {
            Self::Confirm(_) => Point::MarkConfirmed,
            Self::SameNonce(_) | Self::NewCycle(..) => Point::Retry,
        }
    }
}

/// Retries an operation that failed or was given up.
pub async fn retry(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<Retried> {
    let decision = decide(engine, operation_id).await?;
    let mut tx = engine.db.begin().await?;
    let point = decision.point();
    let retried = apply(&mut tx, decision, actor, reason, None).await?;
    tx.commit(point).await?;
    Ok(retried)
}

/// Whether guard G can only refuse: what was executed without its effect, or with a payload of somebody else, is not done again.
pub fn is_hopeless(op: &Operation) -> bool {
    matches!(op.error_code.as_deref(), Some("effect_mismatch" | "op_id_conflict"))
}

/// Why a retry is refused without asking the chain, if it is.
pub fn refusal(op: &Operation, steps: &[Step]) -> Option<(Code, &'static str)> {
    if !op.needs_attention() {
        return Some((Code::InvalidState, "It is not failed and not given up, or it was resolved."));
    }
    let step = steps.iter().find(|s| s.outcome != Some(Outcome::Success))?;
    match step.state {
        State::Included => {
            Some((Code::NonceStillOpen, "The transaction is in a block that is not final yet. Wait for finality."))
        }
        State::Final if op.error_code.as_deref() == Some("effect_mismatch") => Some((
            Code::EffectMismatch,
            "The transaction succeeded without its effect. Confirm with proof, or abandon; a retry could do it twice.",
        )),
        _ => None,
    }
}

/// Guard G: what a retry has to do, by what the chain shows at its final block.
pub async fn decide(engine: &Engine, operation_id: &str) -> Result<Decision> {
    let (op, steps) = load(engine, operation_id).await?;
    let network = network_of(engine, &op)?;
    if let Some((code, detail)) = refusal(&op, &steps) {
        return Err(Error::refused(code, detail));
    }
    let mut tx = engine.db.read().await?;
    if let Some(live) =
        operation::find_live(&mut tx, &reclaim::key(&op.subject_id)).await?.filter(|live| live.id != op.id)
    {
        return Err(Error::refused(
            Code::OperationInProgress,
            format!("Its escrow is being taken back by {}.", live.id),
        ));
    }
    drop(tx);
    let Some(step) = steps.iter().find(|s| s.outcome != Some(Outcome::Success)) else {
        // Every step succeeded: the engine had given up before it saw it.
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
            // With more steps to come, what was executed is found again and adopted on the way.
            _ => Ok(Decision::NewCycle(Box::new(op), Some(Box::new(step.clone())))),
        },
    }
}

async fn confirm(engine: &Engine, operation_id: &str, tx_hash: B256) -> Result<Decision> {
    Ok(Decision::Confirm(Box::new(mark_confirmed::examine(engine, operation_id, tx_hash).await?)))
}

/// Writes what was decided, if nobody moved the operation since.
pub async fn apply(
    tx: &mut Tx,
    decision: Decision,
    actor: &str,
    reason: &str,
    max_fee_per_gas: Option<u128>,
) -> Result<Retried> {
    match decision {
        Decision::Confirm(examined) => {
            wish::fulfil(tx, &examined.op.id, wish::Kind::Retry, Retried::Confirmed.as_str()).await?;
            mark_confirmed::apply(tx, *examined, actor, reason).await?;
            Ok(Retried::Confirmed)
        }
        Decision::SameNonce(op) => {
            wish::fulfil(tx, &op.id, wish::Kind::Retry, Retried::SameNonce.as_str()).await?;
            let id = op.id.clone();
            let retried = same_nonce(tx, *op, actor, reason).await?;
            if let Some(fee) = max_fee_per_gas {
                speed_up::ask_for(tx, &id, fee, actor, reason).await?;
            }
            Ok(retried)
        }
        Decision::NewCycle(mut op, step) => {
            op.max_fee_per_gas = max_fee_per_gas.map(Dec);
            wish::fulfil(tx, &op.id, wish::Kind::Retry, Retried::NewCycle.as_str()).await?;
            new_cycle(tx, *op, step.map(|step| *step), actor, reason).await
        }
    }
}

/// The operation as a person may act on it: failed or given up, and not resolved.
pub async fn load(engine: &Engine, operation_id: &str) -> Result<(Operation, Vec<Step>)> {
    find(&mut engine.db.read().await?, operation_id).await
}

/// The same, in a transaction that is open already.
pub async fn find(tx: &mut Tx, operation_id: &str) -> Result<(Operation, Vec<Step>)> {
    let op = operation::find(tx, operation_id).await?;
    if !op.needs_attention() {
        let state = op.resolution.map_or_else(|| op.status.to_string(), |r| format!("{}, {r}", op.status));
        return Err(Error::refused(
            Code::InvalidState,
            format!("The operation is {state}: there is nothing to reconcile."),
        ));
    }
    let steps = step::of_operation(tx, &op.id).await?;
    Ok((op, steps))
}

/// The chain of an operation, if this process knows it.
pub fn network_of<'a>(engine: &'a Engine, op: &Operation) -> Result<&'a Network> {
    engine
        .network(op.chain_id)
        .ok_or_else(|| Error::refused(Code::UnknownChain, format!("Chain {} is not configured here.", op.chain_id)))
}

/// What a fault of the chain means to a person who waits for an answer.
pub fn unavailable(fault: &Fault) -> Error {
    Error::refused(Code::ChainUnavailable, format!("The chain cannot be asked now, and nothing was changed: {fault}"))
}

/// Whether the chain says at its final block that a step took effect, by whichever transaction: ours, or one that a restored database
/// has forgotten.
pub async fn is_executed(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<bool> {
    if !network.has_code(step.target.0).await.map_err(|fault| unavailable(&fault))? {
        return Ok(false);
    }
    let mut tx = engine.db.read().await?;
    let cursor = chain::find(&mut tx, op.chain_id).await?;
    drop(tx);
    let at = cursor.map_or(At::Latest, |c| At::Hash(c.final_hash.0));
    let (node, target) = (&network.chain, step.target.0);
    let asked = match step.op_number {
        Some(number) => is_operation_executed(node, target, number.cast_unsigned(), at).await,
        None if step.name == "deployToken" => {
            let id = factory::offering_id(&op.subject_id);
            let token = factory::token_of(node, target, id, at).await;
            token.map(|t| t.is_some_and(|(_, payload)| step.payload_hash.is_some_and(|ours| ours.0 == payload)))
        }
        None if effect::is_escrow(step) => distributor::stands(node, target, &step.calldata, at).await,
        // What is idempotent by state has no id on the chain: to do it again is harmless, and the index shows what is so.
        None => Ok(false),
    };
    if !asked.map_err(|fault| unavailable(&fault))? {
        return Ok(false);
    }
    // An id that somebody else took for something else is not our effect: such an operation can only be given up.
    let traced = step.op_number.is_some() || effect::is_escrow(step);
    Ok(!traced || !matches!(trace_of(engine, network, op, step).await?, Executed::Other(_)))
}

/// Which transaction executed a step, as far as a person can be told now.
pub async fn trace_of(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Executed> {
    asked(effect::find_executed(engine, network, op, step).await)
}

/// What a question to the chain came to, for a person who waits for an answer.
pub fn asked<T>(answer: Result<T, Failure>) -> Result<T> {
    answer.map_err(|failure| match failure {
        Failure::Domain(error) => error,
        other => Error::refused(Code::ChainUnavailable, format!("The chain cannot be asked now: {other:?}")),
    })
}

/// The transaction that executed a step after all. A deployment that is there already is not looked for: its own repetition finds it, costs
/// little and shows the token.
async fn executed(engine: &Engine, network: &Network, op: &Operation, step: &Step) -> Result<Option<B256>> {
    if step.op_number.is_none() && !effect::is_escrow(step) {
        return Ok(None);
    }
    match trace_of(engine, network, op, step).await? {
        Executed::Ours(receipt) => Ok(Some(receipt.tx_hash)),
        Executed::Other(hash) => Err(Error::refused(Code::InvalidState, effect::op_id_conflict(step, hash).message)),
        Executed::NotFound if is_executed(engine, network, op, step).await? => Err(Error::refused(
            Code::ChainUnavailable,
            "The chain says that it was executed, but shows no transaction for it. Nothing was changed; ask again.",
        )),
        Executed::NotFound => Ok(None),
    }
}

/// The slot is finally gone without effect, or never was: everything begins anew but the operation, its ids and its history.
async fn new_cycle(tx: &mut Tx, mut op: Operation, step: Option<Step>, actor: &str, reason: &str) -> Result<Retried> {
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
    op.next_action_at = Some(tx.now() + chrono::Duration::seconds(operation::PATIENCE_SECONDS));
    let by = Requester { actor: actor.to_owned(), request_id: None, idempotency_key: None };
    let waits = allowance::renew(tx, &mut op, &by).await?;
    operation::transition(tx, &mut op, Move::Retry, actor, reason).await?;
    if !waits {
        queue::wake(tx, &op).await?;
    }
    Ok(Retried::NewCycle)
}

/// The nonce is open: the stored bytes are the retry. They were sent all along; now the operation follows them again.
async fn same_nonce(tx: &mut Tx, mut op: Operation, actor: &str, reason: &str) -> Result<Retried> {
    op.faults = 0;
    op.set_problem(None);
    operation::transition(tx, &mut op, Move::Retry, actor, reason).await?;
    operation::transition(tx, &mut op, Move::Sign, actor, "the nonce is open: the same bytes stay in force").await?;
    Ok(Retried::SameNonce)
}
