//! Guard A: an operation is given up only when it is certain that it will never take effect, and that none of its value has moved.

use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Kind, Operation, Resolution};
use muniment_domain::point::Point;
use muniment_domain::step::{Outcome, State, Step};
use muniment_domain::{Code, Error, Result, event};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::action::About;
use crate::engine::Engine;
use crate::{allowance, conclude, retry};

/// What a person asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The operation.
    pub operation_id: String,
    /// Why.
    pub reason: String,
}

impl Request {
    /// What it is about.
    pub fn about(&self) -> About {
        About {
            subject_type: "operation",
            subject_id: self.operation_id.clone(),
            offering_id: None,
            amount: None,
            reason: Some(self.reason.clone()),
            live_key: format!("abandon:{}", self.operation_id),
        }
    }
}

/// Whether giving up an operation of this kind takes two people: those that issue or move what people own.
pub const fn takes_two(kind: Kind) -> bool {
    matches!(kind, Kind::Mint | Kind::Payout | Kind::DistributorPayout | Kind::ForceTransfer | Kind::Recover)
}

/// Gives an operation up. Its status stays, so that the log tells what happened; what it was about is free for others.
pub async fn abandon(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<()> {
    let mut op = examine(engine, operation_id).await?;
    let mut tx = engine.db.begin().await?;
    write(&mut tx, &mut op, actor, reason).await?;
    tx.commit(Point::Abandon).await
}

/// What the database alone can refuse: the chain is not asked.
pub async fn check(tx: &mut Tx, r: &Request) -> Result<()> {
    let (_, steps) = retry::find(tx, &r.operation_id).await?;
    guard(&steps)
}

/// The operation, if it is certain that it never took effect and never will.
pub async fn examine(engine: &Engine, operation_id: &str) -> Result<Operation> {
    let (op, steps) = retry::load(engine, operation_id).await?;
    guard(&steps)?;
    let network = retry::network_of(engine, &op)?;
    for step in steps.iter().filter(|s| s.name != allowance::STEP) {
        // A restored database may have forgotten the transaction that did it: the chain has the last word.
        if retry::is_executed(engine, network, &op, step).await? {
            return Err(Error::refused(
                Code::PartialEffect,
                format!(
                    "The chain says that step {} was executed. Retry: it will be found and confirmed.",
                    step.position
                ),
            ));
        }
    }
    Ok(op)
}

fn guard(steps: &[Step]) -> Result<()> {
    // An allowance moves no value: what comes after it can still be given up.
    if steps.iter().any(|s| s.outcome == Some(Outcome::Success) && s.name != allowance::STEP) {
        return Err(Error::refused(
            Code::PartialEffect,
            "A step of it took effect, finally. It can be finished (retry) or confirmed with proof, but not given up.",
        ));
    }
    if let Some(step) = steps.iter().find(|s| matches!(s.state, State::Signed | State::Included)) {
        let detail = format!(
            "Nonce {} is still open: what was signed may yet be mined. Cancel it, and abandon when the cancel is final.",
            step.nonce.unwrap_or_default()
        );
        return Err(Error::refused(Code::NonceStillOpen, detail));
    }
    Ok(())
}

/// Writes what was examined, if nobody moved the operation since.
pub async fn write(tx: &mut Tx, op: &mut Operation, actor: &str, reason: &str) -> Result<()> {
    op.resolution = Some(Resolution::Abandoned);
    op.live_key = None;
    op.suggested_action = None;
    operation::resolve(tx, op, actor, reason).await?;
    conclude::give_up(tx, op).await?;
    event::write(tx, "operation.resolved", "operation", &op.id, op.version, json!({ "resolution": "abandoned" })).await
}
