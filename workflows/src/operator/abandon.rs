//! Abandoning an operation. The abandon check requires that the operation can never take effect and that none of its value moved; or that
//! its transaction is final and lacks its effect, and two people have seen what is missing.

use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation, Resolution, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{Outcome, State, Step};
use muniment_domain::{Code, Error, Result, event};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval_request::About;
use crate::engine::Engine;
use crate::engine::execution;
use crate::operations;
use crate::operator::{attention, cancel};
use crate::payout;
use crate::payout::shortfall::{self, Shortfall};

/// A request to abandon an operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The operation.
    pub operation_id: OperationId,
    /// The reason.
    pub reason: String,
    /// The missing effect, if the transaction was executed without it. The approval covers exactly this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether the operation was retried and is not signed again yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
}

impl Request {
    /// What the approval shows.
    pub fn about(&self) -> About {
        About::of_operation("abandon", &self.operation_id, &self.reason)
    }
}

/// An operation that passed the abandon check.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The operation as it was read. Its version guards the write.
    pub op: Operation,
    /// The missing effect, if it was executed.
    pub short: Option<Shortfall>,
}

impl Examined {
    /// Whether abandoning it takes two people.
    pub fn takes_two(&self) -> bool {
        operations::of(self.op.kind).abandon_takes_two() || self.short.is_some()
    }

    /// The missing effect, in sentences.
    pub fn missing(&self) -> Vec<String> {
        self.short.as_ref().map(|short| short.missing.clone()).unwrap_or_default()
    }
}

/// Abandons an operation. Its status stays, so that the history remains true. Its subjects are free for other operations.
pub async fn abandon(engine: &Engine, operation_id: &OperationId, actor: &str, reason: &str) -> Result<()> {
    let examined = examine(engine, operation_id).await?;
    let mut tx = engine.db.begin().await?;
    write(&mut tx, examined, actor, reason).await?;
    tx.commit(Point::Abandon).await
}

/// The part of the abandon check that needs only the database.
pub async fn check(tx: &mut Tx, r: &Request) -> Result<()> {
    if r.unsent {
        return cancel::check_unsent(&operation::find(tx, &r.operation_id).await?);
    }
    let (op, steps) = attention::find(tx, &r.operation_id).await?;
    guard(&op, &steps)
}

/// Repeats the abandon check after the approval. The missing effect must be the one that was approved.
pub async fn examine_agreed(engine: &Engine, r: &Request) -> Result<Examined> {
    if r.unsent {
        return Ok(Examined { op: cancel::decide_unsent(engine, &r.operation_id).await?, short: None });
    }
    let examined = examine(engine, &r.operation_id).await?;
    if examined.missing() == r.missing {
        return Ok(examined);
    }
    let detail = "The missing effect differs from the approved one. Read it, and request the approval again.";
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// The abandon check, which asks the chain.
pub async fn examine(engine: &Engine, operation_id: &OperationId) -> Result<Examined> {
    let (op, steps) = attention::load(engine, operation_id).await?;
    guard(&op, &steps)?;
    let network = execution::network_of(engine, &op)?;
    let mut short = None;
    let kind = engine.kind(&op);
    let open = |s: &&Step| !kind.moves_nothing(s) && s.outcome != Some(Outcome::Success);
    for step in steps.iter().filter(open) {
        // A restored database may not know the transaction that executed it, so the chain decides.
        if !execution::is_executed(engine, network, &op, step).await? {
            continue;
        }
        short = shortfall::of(engine, network, &op, step).await?;
        if short.is_none() {
            return Err(Error::refused(
                Code::PartialEffect,
                format!(
                    "Step {} is executed on the chain. Retry the operation, or mark it confirmed with that transaction.",
                    step.position
                ),
            ));
        }
    }
    if short.is_none() && has_effect(&op, &steps) {
        return Err(partial_effect());
    }
    Ok(Examined { op, short })
}

/// Whether a step of it took its final effect. An allowance moves no value, so the steps after it can still be abandoned.
fn has_effect(op: &Operation, steps: &[Step]) -> bool {
    let kind = operations::of(op.kind);
    steps.iter().any(|s| s.outcome == Some(Outcome::Success) && !kind.moves_nothing(s))
}

fn partial_effect() -> Error {
    let detail = "A step of this operation took its final effect. Retry the operation or mark it confirmed. It cannot be abandoned.";
    Error::refused(Code::PartialEffect, detail)
}

fn guard(op: &Operation, steps: &[Step]) -> Result<()> {
    // Where all steps are final, the last one can be an executed page that lacks its whole effect: nothing is left to do on the chain.
    if has_effect(op, steps) && steps.iter().any(|s| s.state != State::Final) {
        return Err(partial_effect());
    }
    if let Some(step) = steps.iter().find(|s| matches!(s.state, State::Signed | State::Included)) {
        let detail = format!(
            "Nonce {} is still open, so its signed transaction can still be included. Cancel the nonce, and abandon when the cancel is final.",
            step.nonce.unwrap_or_default()
        );
        return Err(Error::refused(Code::NonceStillOpen, detail));
    }
    Ok(())
}

/// Abandons the examined operation, if its version has not changed.
pub async fn write(tx: &mut Tx, examined: Examined, actor: &str, reason: &str) -> Result<()> {
    let Examined { mut op, short } = examined;
    if op.status == Status::Pending {
        return cancel::apply_unsent(tx, op, actor, reason).await.map(drop);
    }
    op.resolution = Some(Resolution::Abandoned);
    op.live_key = None;
    op.suggested_action = None;
    operation::resolve(tx, &mut op, actor, reason).await?;
    if let Some(short) = &short {
        payout::fall_short(tx, &op, short).await?;
    }
    cancel::give_up(tx, &op).await?;
    let data = json!({ "resolution": "abandoned", "missing": short.map(|short| short.missing) });
    event::write(tx, "operation.resolved", "operation", &op.id, op.version, data).await
}
