//! Cancelling: an unsigned operation simply ends. The nonce of a signed one is cancelled by an empty transfer from the signer to itself,
//! which competes with the original. The chain decides which of the two is included.

use alloy_primitives::{Address, Bytes};
use muniment_activities::chain::fees::BUMP_PERCENT_MIN;
use muniment_activities::chain::gas;
use muniment_activities::chain::simulate::{At, Call, Simulation};
use muniment_activities::signer::transaction::{CANCEL_GAS, Transaction};
use muniment_domain::attempt::{self, Attempt, Kind};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Move, Operation, Problem, Resolution, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State};
use muniment_domain::{Code, Error, Result, command, lane, operation_item};

use crate::engine::rebroadcast::{Raise, Stored};
use crate::engine::{Engine, Network};
use crate::engine::{execution, rebroadcast};
use crate::operations;

/// The result of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Nothing was signed, and the operation is cancelled.
    Unsent,
    /// An empty transfer on its nonce was sent.
    Racing,
}

/// Cancels an operation, in the way that its state allows.
pub async fn cancel(engine: &Engine, operation_id: &OperationId, actor: &str, reason: &str) -> Result<Cancelled> {
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
    match cancel_nonce(engine, operation_id, actor, reason).await? {
        Stored::Yes => Ok(Cancelled::Racing),
        Stored::No(why) => Err(Error::refused(Code::InvalidState, why)),
    }
}

/// Whether ending an unsigned operation takes two people. A retry must not avoid the approval that abandoning the operation needed before.
pub fn takes_two(op: &Operation) -> bool {
    op.cycle > 1 && operations::of(op.kind).abandon_takes_two()
}

/// Refuses an operation that is signed or finished.
pub fn check_unsent(op: &Operation) -> Result<()> {
    if op.status == Status::Pending {
        return Ok(());
    }
    let detail = format!(
        "The operation is {}. Only a pending operation can be cancelled before it is signed. Use noop to cancel a signed nonce.",
        op.status
    );
    Err(op.illegal(detail))
}

/// The operation, if nothing was signed for it and it is not executed on the chain.
pub async fn decide_unsent(engine: &Engine, operation_id: &OperationId) -> Result<Operation> {
    let mut tx = engine.db.read().await?;
    let op = operation::find(&mut tx, operation_id).await?;
    let steps = step::of_operation(&mut tx, &op.id).await?;
    drop(tx);
    check_unsent(&op)?;
    let network = execution::network_of(engine, &op)?;
    for step in &steps {
        // A restored database may not know that the operation was executed after the backup.
        if execution::is_executed(engine, network, &op, step).await? {
            return Err(Error::refused(
                Code::PartialEffect,
                "The operation is already executed on the chain. The engine will find and confirm it.",
            ));
        }
    }
    Ok(op)
}

/// Cancels the operation, if its version has not changed.
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
    give_up(tx, &op).await?;
    Ok(op)
}

/// Releases the subjects of an operation that a person gives up.
pub async fn give_up(tx: &mut Tx, op: &Operation) -> Result<()> {
    operation_item::release(tx, &op.id).await?;
    operations::of(op.kind).give_up(tx, op).await
}

/// Accepts the command to cancel the nonce of an operation.
pub async fn ask_noop(tx: &mut Tx, operation_id: &OperationId, actor: &str, reason: &str) -> Result<Operation> {
    let (op, newest) = open_attempt(tx, operation_id).await?;
    if newest.kind == Kind::Cancel {
        return Err(Error::refused(Code::OperationInProgress, "A cancel of this nonce is already sent."));
    }
    crate::operator::command::ask(tx, operation_id, command::Kind::Noop, None, actor, reason).await?;
    Ok(op)
}

/// Cancels the nonce: stores the empty transfer, then sends it.
pub async fn cancel_nonce(engine: &Engine, operation_id: &OperationId, actor: &str, reason: &str) -> Result<Stored> {
    let mut tx = engine.db.read().await?;
    let (op, newest) = open_attempt(&mut tx, operation_id).await?;
    let lane = lane::find(&mut tx, &newest.lane_id).await?;
    drop(tx);
    let network = execution::network_of(engine, &op)?;
    if newest.kind == Kind::Cancel {
        return Ok(Stored::Yes);
    }
    // The smallest step that nodes accept: a cancel must have room where a bump has none.
    let percent = u64::try_from(BUMP_PERCENT_MIN).unwrap_or(network.chain.config.bump_percent);
    let fees = match rebroadcast::raise(engine, network, &newest, percent).await {
        Raise::To(fees) => fees,
        Raise::Unknown(fault) => return Err(execution::unavailable(&fault)),
        Raise::AtCap(_) => {
            let detail = "The fee is already at its cap, so a cancel could not replace the sent transaction. Raise the chain's fee cap first.";
            return Err(Error::refused(Code::FeeCapReached, detail));
        }
    };
    let (config, signer, nonce) = (&network.chain.config, lane.signer.0, newest.nonce.cast_unsigned());
    let gas = cancel_gas(network, signer).await?;
    let transaction = Transaction::cancel(config.chain_id, signer, nonce, gas, fees);
    tracing::warn!(operation.id = %op.id, actor, "cancel of the nonce stored: {reason}");
    rebroadcast::store_and_send(engine, network, &lane, &newest, Kind::Cancel, &transaction, Point::Cancel).await
}

/// The gas of a cancel. Some chains, and the code of a signer's account, ask for more than an empty transfer needs.
async fn cancel_gas(network: &Network, signer: Address) -> Result<u64> {
    let call = Call { from: signer, to: Some(signer), data: Bytes::new() };
    match network.chain.simulate(&call, At::Latest).await.map_err(|fault| execution::unavailable(&fault))? {
        Simulation::Gas(gas) if gas > CANCEL_GAS => Ok(gas::limit(gas, network.chain.config.gas_cap).unwrap_or(gas)),
        Simulation::Gas(_) | Simulation::Reverts(_) => Ok(CANCEL_GAS),
    }
}

/// The newest attempt of the step whose nonce is open.
async fn open_attempt(tx: &mut Tx, operation_id: &OperationId) -> Result<(Operation, Attempt)> {
    let op = operation::find(tx, operation_id).await?;
    // A confirmed operation may be sent again after the chain's history was replaced. Its effect counts, and must come.
    if op.status != Status::Submitted && !op.needs_attention() {
        return Err(op.illegal("The operation has no open signed transaction to cancel."));
    }
    let steps = step::of_operation(tx, &op.id).await?;
    let own = attempt::of_operation(tx, &op.id).await?;
    let signed = steps.iter().find(|s| s.state == State::Signed);
    let newest = signed.and_then(|step| own.into_iter().rfind(|a| a.position == step.position && a.cycle == op.cycle));
    match newest {
        Some(newest) => Ok((op, newest)),
        None => Err(op.illegal("The operation has no open signed transaction to cancel.")),
    }
}
