//! Cancelling: before anything was signed, an operation simply ends. After that its nonce is burnt by a transfer of nothing to ourselves,
//! which races the original: the chain decides which of the two it was.

use muniment_activities::transaction::Transaction;
use muniment_domain::attempt::{self, Attempt, Kind};
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Move, Operation, Problem, Resolution, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State};
use muniment_domain::{Code, Error, Result, lane, wish as wishes};

use crate::engine::Engine;
use crate::engine::rebroadcast::Stored;
use crate::engine::{conclude, rebroadcast as tend};
use crate::operator::{abandon, command as wish, retry};

/// What a cancel came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Nothing was signed: it is over.
    Unsent,
    /// A self-transfer on its nonce is on the way.
    Racing,
}

/// Cancels an operation, in the way that its state leaves.
pub async fn cancel(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<Cancelled> {
    let mut tx = engine.db.read().await?;
    let status = operation::find(&mut tx, operation_id).await?.status;
    drop(tx);
    if status == Status::Pending {
        let op = decide_unsent(engine, operation_id).await?;
        let mut tx = engine.db.begin().await?;
        apply_unsent(&mut tx, op, actor, reason).await?;
        tx.commit(Point::Cancel).await?;
        return Ok(Cancelled::Unsent);
    }
    match noop(engine, operation_id, actor, reason).await? {
        Stored::Yes => Ok(Cancelled::Racing),
        Stored::No(why) => Err(Error::refused(Code::InvalidState, why)),
    }
}

/// Whether ending an operation unsent takes two people: one that was retried was to be given up by two, and a retry is no way round that.
pub fn takes_two(op: &Operation) -> bool {
    op.cycle > 1 && abandon::takes_two(op.kind)
}

/// Refuses what was signed or is over.
pub fn check_unsent(op: &Operation) -> Result<()> {
    if op.status == Status::Pending {
        return Ok(());
    }
    let detail =
        format!("The operation is {}: only a pending one ends unsent. A signed nonce is burnt by noop.", op.status);
    Err(Error::refused(Code::InvalidState, detail))
}

/// The operation, if nothing was signed for it and the chain does not know it either.
pub async fn decide_unsent(engine: &Engine, operation_id: &str) -> Result<Operation> {
    let mut tx = engine.db.read().await?;
    let op = operation::find(&mut tx, operation_id).await?;
    let steps = step::of_operation(&mut tx, &op.id).await?;
    drop(tx);
    check_unsent(&op)?;
    let network = retry::network_of(engine, &op)?;
    for step in &steps {
        // What a restored database believes to be unsent may have been done in the time that it has forgotten.
        if retry::is_executed(engine, network, &op, step).await? {
            return Err(Error::refused(
                Code::PartialEffect,
                "The chain says that it was executed. Leave it: it will be found and confirmed.",
            ));
        }
    }
    Ok(op)
}

/// Ends it, if nobody moved it since.
pub async fn apply_unsent(tx: &mut Tx, mut op: Operation, actor: &str, reason: &str) -> Result<Operation> {
    op.set_problem(Some(Problem {
        stage: Stage::Preflight,
        code: "cancelled_by_operator".to_owned(),
        message: format!("{actor}: {reason}"),
        data: None,
    }));
    op.resolution = Some(Resolution::Abandoned);
    op.live_key = None;
    operation::transition(tx, &mut op, Move::Fail, actor, reason).await?;
    conclude::give_up(tx, &op).await?;
    Ok(op)
}

/// Accepts the wish to burn the nonce of an operation.
pub async fn ask_noop(tx: &mut Tx, operation_id: &str, actor: &str, reason: &str) -> Result<Operation> {
    let (op, newest) = open_attempt(tx, operation_id).await?;
    if newest.kind == Kind::Cancel {
        return Err(Error::refused(Code::OperationInProgress, "A transfer of nothing on its nonce is on the way."));
    }
    wish::ask(tx, operation_id, wishes::Kind::Noop, None, actor, reason).await?;
    Ok(op)
}

/// Burns the nonce: the self-transfer is stored first, then sent.
pub async fn noop(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<Stored> {
    let mut tx = engine.db.read().await?;
    let (op, newest) = open_attempt(&mut tx, operation_id).await?;
    let lane = lane::find(&mut tx, &newest.lane_id).await?;
    drop(tx);
    let network = retry::network_of(engine, &op)?;
    if newest.kind == Kind::Cancel {
        return Ok(Stored::Yes);
    }
    let Some(fees) = tend::raise(engine, network, &newest).await else {
        let detail =
            "The fee is at its cap already; a cancel could not replace what was sent. Raise the chain's fee cap first.";
        return Err(Error::refused(Code::FeeCapReached, detail));
    };
    let transaction =
        Transaction::cancel(network.chain.config.chain_id, lane.signer.0, newest.nonce.cast_unsigned(), fees);
    tracing::warn!(operation.id = %op.id, actor, "cancel asked for: {reason}");
    tend::store_and_send(engine, network, &lane, &newest, Kind::Cancel, &transaction, Point::Cancel).await
}

/// The newest attempt of the step whose nonce is open.
async fn open_attempt(tx: &mut Tx, operation_id: &str) -> Result<(Operation, Attempt)> {
    let op = operation::find(tx, operation_id).await?;
    let steps = step::of_operation(tx, &op.id).await?;
    let own = attempt::of_operation(tx, &op.id).await?;
    let signed = steps.iter().find(|s| s.state == State::Signed);
    let newest = signed.and_then(|step| own.into_iter().rfind(|a| a.position == step.position && a.cycle == op.cycle));
    let none =
        || Error::refused(Code::InvalidState, "No signed transaction of it is open: there is nothing to cancel.");
    newest.map(|newest| (op, newest)).ok_or_else(none)
}
