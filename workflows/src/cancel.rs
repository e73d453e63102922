//! Cancelling: before anything was signed, an operation simply ends. After that its nonce is burnt by a transfer of nothing to ourselves,
//! which races the original: the chain decides which of the two it was.

use muniment_activities::transaction::Transaction;
use muniment_domain::attempt::{self, Kind};
use muniment_domain::operation::{self, Move, Problem, Resolution, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State};
use muniment_domain::{Code, Error, Result, item, lane};

use crate::engine::Engine;
use crate::{retry, tend};

/// What a cancel came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Nothing was signed: it is over.
    Unsent,
    /// A self-transfer on its nonce is on the way.
    Racing,
}

/// Cancels an operation.
pub async fn cancel(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<Cancelled> {
    let mut tx = engine.db.read().await?;
    let mut op = operation::find(&mut tx, operation_id).await?;
    let steps = step::of_operation(&mut tx, &op.id).await?;
    drop(tx);
    let network = retry::network_of(engine, &op)?;
    if op.status == Status::Pending {
        for step in &steps {
            // What a restored database believes to be unsent may have been done in the time that it has forgotten.
            if retry::is_executed(engine, network, &op, step).await? {
                return Err(Error::refused(
                    Code::PartialEffect,
                    "The chain says that it was executed. Leave it: it will be found and confirmed.",
                ));
            }
        }
        let mut tx = engine.db.begin().await?;
        let message = format!("{actor}: {reason}");
        op.set_problem(Some(Problem {
            stage: Stage::Preflight,
            code: "cancelled_by_operator".to_owned(),
            message,
            data: None,
        }));
        op.resolution = Some(Resolution::Abandoned);
        op.live_key = None;
        operation::transition(&mut tx, &mut op, Move::Fail, actor, reason).await?;
        item::release(&mut tx, &op.id).await?;
        tx.commit(Point::Cancel).await?;
        return Ok(Cancelled::Unsent);
    }
    let Some(step) = steps.iter().find(|s| s.state == State::Signed) else {
        return Err(Error::refused(
            Code::InvalidState,
            "No signed transaction of it is open: there is nothing to cancel.",
        ));
    };
    let mut tx = engine.db.read().await?;
    let own = attempt::of_operation(&mut tx, &op.id).await?;
    let newest = own.into_iter().rfind(|a| a.position == step.position && a.cycle == op.cycle);
    let lane_id = step.lane_id.clone().unwrap_or_default();
    let lane = lane::find(&mut tx, &lane_id).await?;
    drop(tx);
    let Some(newest) = newest.filter(|a| a.kind != Kind::Cancel) else { return Ok(Cancelled::Racing) };
    let Some(fees) = tend::raise(engine, network, &newest).await else {
        let detail =
            "The fee is at its cap already; a cancel could not replace what was sent. Raise the chain's fee cap first.";
        return Err(Error::refused(Code::InvalidState, detail));
    };
    let transaction =
        Transaction::cancel(network.chain.config.chain_id, lane.signer.0, newest.nonce.cast_unsigned(), fees);
    tracing::warn!(operation.id = %op.id, actor, "cancel asked for: {reason}");
    tend::store_and_send(engine, network, &lane, &newest, Kind::Cancel, &transaction, Point::Cancel).await?;
    Ok(Cancelled::Racing)
}
