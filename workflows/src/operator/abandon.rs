//! Guard A: an operation is given up only when it is certain that it will never take effect, and that none of its value has moved; or
//! when its transaction is final and lacks its effect, and two people have seen what is missing.

use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Kind, Operation, Resolution, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{Outcome, State, Step};
use muniment_domain::{Code, Error, Result, event};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval::action::About;
use crate::engine::Engine;
use crate::engine::conclude;
use crate::operator::{cancel, retry};
use crate::payout;
use crate::payout::allowance;
use crate::payout::shortfall::{self, Shortfall};

/// What a person asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The operation.
    pub operation_id: String,
    /// Why.
    pub reason: String,
    /// What its transaction lacks, if it was executed without its effect: this and nothing else is given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether it is one that was retried and has not been signed again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
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

/// An operation that may be given up.
#[derive(Clone, Debug)]
pub struct Examined {
    /// As it was read; its version guards the write.
    pub op: Operation,
    /// What it lacks, if it was executed.
    pub short: Option<Shortfall>,
}

impl Examined {
    /// Whether giving it up takes two people.
    pub fn takes_two(&self) -> bool {
        takes_two(self.op.kind) || self.short.is_some()
    }

    /// What is missing of it, in sentences.
    pub fn missing(&self) -> Vec<String> {
        self.short.as_ref().map(|short| short.missing.clone()).unwrap_or_default()
    }
}

/// Whether giving up an operation of this kind takes two people: those that issue or move what people own.
pub const fn takes_two(kind: Kind) -> bool {
    matches!(kind, Kind::Mint | Kind::Payout | Kind::DistributorPayout | Kind::ForceTransfer | Kind::Recover)
}

/// Gives an operation up. Its status stays, so that the log tells what happened; what it was about is free for others.
pub async fn abandon(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<()> {
    let examined = examine(engine, operation_id).await?;
    let mut tx = engine.db.begin().await?;
    write(&mut tx, examined, actor, reason).await?;
    tx.commit(Point::Abandon).await
}

/// What the database alone can refuse: the chain is not asked.
pub async fn check(tx: &mut Tx, r: &Request) -> Result<()> {
    if r.unsent {
        return cancel::check_unsent(&operation::find(tx, &r.operation_id).await?);
    }
    let (_, steps) = retry::find(tx, &r.operation_id).await?;
    guard(&steps)
}

/// What two people agreed on, looked at again: it must be what they saw.
pub async fn examine_agreed(engine: &Engine, r: &Request) -> Result<Examined> {
    if r.unsent {
        return Ok(Examined { op: cancel::decide_unsent(engine, &r.operation_id).await?, short: None });
    }
    let examined = examine(engine, &r.operation_id).await?;
    if examined.missing() == r.missing {
        return Ok(examined);
    }
    let detail = "What is missing of its effect is not what was agreed on. Look at it, and ask again.";
    Err(Error::refused(Code::SnapshotMismatch, detail))
}

/// The operation, if it is certain that it never took effect and never will, or that its effect is missing.
pub async fn examine(engine: &Engine, operation_id: &str) -> Result<Examined> {
    let (op, steps) = retry::load(engine, operation_id).await?;
    guard(&steps)?;
    let network = retry::network_of(engine, &op)?;
    let mut short = None;
    for step in steps.iter().filter(|s| s.name != allowance::STEP) {
        // A restored database may have forgotten the transaction that did it: the chain has the last word.
        if !retry::is_executed(engine, network, &op, step).await? {
            continue;
        }
        short = shortfall::of(engine, network, &op, step).await?;
        if short.is_none() {
            return Err(Error::refused(
                Code::PartialEffect,
                format!(
                    "The chain says that step {} was executed. Retry, or confirm it with its own transaction: it is found there.",
                    step.position
                ),
            ));
        }
    }
    Ok(Examined { op, short })
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
    conclude::give_up(tx, &op).await?;
    let data = json!({ "resolution": "abandoned", "missing": short.map(|short| short.missing) });
    event::write(tx, "operation.resolved", "operation", &op.id, op.version, data).await
}
