//! The failures of a move. The place of the fault decides whether it is retried. It is recorded here, once.

use chrono::Duration;
use muniment_activities::fault::{Fault, FaultClass};
use muniment_domain::db::Db;
use muniment_domain::operation::{self, Move, Operation, Problem, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State};
use muniment_domain::{Error, Result};

use crate::engine::{backoff, queue};
use crate::settings::Settings;

/// The reason why a move failed.
#[derive(Debug)]
pub enum Failure {
    /// The endpoints, the signer or the lane is not available. Not counted: it ends by itself.
    Blocked(String),
    /// A transient fault. Counted, with a growing pause, up to the limit.
    Retry(Problem),
    /// A definite refusal, before anything was signed.
    Refuse(Problem),
    /// A decision that only a person can make.
    Dead(Problem),
    /// An error of the domain: another move changed the row, or the database is not available.
    Domain(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Domain(error)
    }
}

impl Failure {
    /// A definite refusal.
    pub fn refuse(stage: Stage, code: &str, message: impl Into<String>, data: Option<String>) -> Self {
        Self::Refuse(Problem { stage, code: code.to_owned(), message: message.into(), data })
    }

    /// The failure that a chain's fault means for an operation.
    pub fn of_fault(fault: &Fault, stage: Stage) -> Self {
        match fault.class() {
            FaultClass::Outage | FaultClass::Fatal => Self::Blocked(format!("{}: {fault}", fault.code())),
            // An endpoint that lags behind the followed blocks gives no verdict, and it is not the operation's fault.
            FaultClass::Transient if matches!(fault, Fault::UnknownBlock) => {
                Self::Blocked(format!("{}: {fault}", fault.code()))
            }
            FaultClass::Transient => {
                Self::Retry(Problem { stage, code: fault.code().to_owned(), message: fault.to_string(), data: None })
            }
        }
    }
}

/// Records the failure of an operation, with its next time and wake in the same commit.
pub async fn record(db: &Db, settings: &Settings, op: Operation, failure: Failure) -> Result<()> {
    match failure {
        Failure::Domain(error) => Err(error),
        Failure::Blocked(reason) => block(db, settings, vec![op], &reason).await,
        Failure::Retry(problem) => retry(db, settings, op, problem).await,
        Failure::Refuse(problem) => end(db, op, Move::Fail, problem, Point::Refuse).await,
        Failure::Dead(problem) => end(db, op, Move::GiveUp, problem, Point::DeadLetter).await,
    }
}

/// Keeps operations in their status, with the reason and the next time, in one commit. One that another move changed meanwhile is skipped.
pub async fn block(db: &Db, settings: &Settings, mut ops: Vec<Operation>, reason: &str) -> Result<()> {
    let now = db.clock().now();
    let known = |op: &Operation| op.blocked_reason.as_deref() == Some(reason);
    // A full lane is normal under load and needs no warning.
    if let Some(op) = ops.iter().find(|op| reason != operation::WAITS_FOR_LANE && !known(op)) {
        tracing::warn!(operation.id = %op.id, reason, "{} operations wait", ops.len());
    }
    // One that was woken early and waits for the same reason is left as it is.
    let waits = |op: &Operation| match op.status {
        Status::Pending => op.next_action_at.is_none(),
        _ => op.next_action_at.is_some_and(|at| at > now),
    };
    ops.retain(|op| !(known(op) && waits(op)));
    // Always in the same order, so that two processes cannot deadlock.
    ops.sort_by(|a, b| a.id.cmp(&b.id));
    match block_together(db, settings, &ops, reason).await {
        Err(Error::Stale { .. }) if ops.len() > 1 => {
            for op in &ops {
                match block_together(db, settings, std::slice::from_ref(op), reason).await {
                    Ok(()) | Err(Error::Stale { .. }) => {}
                    failed => return failed,
                }
            }
            Ok(())
        }
        Ok(()) | Err(Error::Stale { .. }) => Ok(()),
        failed => failed,
    }
}

async fn block_together(db: &Db, settings: &Settings, ops: &[Operation], reason: &str) -> Result<()> {
    if ops.is_empty() {
        return Ok(());
    }
    let (mut tx, mut ops) = (db.begin().await?, ops.to_vec());
    let later = tx.now() + Duration::seconds(settings.outage_pause_seconds.cast_signed());
    for op in &mut ops {
        op.blocked_reason = Some(reason.to_owned());
        // A pending operation is parked: the end of the cause wakes it, and not the clock. Thousands of them cost nothing.
        op.next_action_at = (op.status != Status::Pending).then_some(later);
    }
    operation::save_all(&mut tx, &mut ops).await?;
    tx.commit(Point::Fault).await
}

async fn retry(db: &Db, settings: &Settings, mut op: Operation, problem: Problem) -> Result<()> {
    op.faults += 1;
    if op.faults >= i64::from(settings.attempts_max) {
        return end(db, op, Move::GiveUp, problem, Point::DeadLetter).await;
    }
    let mut tx = db.begin().await?;
    let pause = backoff::pause(settings, &op.id, op.faults);
    let at = tx.now() + Duration::from_std(pause).unwrap_or(Duration::MAX);
    tracing::info!(operation.id = %op.id, operation.faults = op.faults, error.code = problem.code, pause_seconds = pause.as_secs(),
        "operation will be tried again: {}", problem.message);
    op.next_action_at = Some(at);
    op.blocked_reason = None;
    op.set_problem(Some(problem));
    operation::save(&mut tx, &mut op).await?;
    queue::wake_at(&mut tx, &op, at).await?;
    tx.commit(Point::Fault).await
}

async fn end(db: &Db, mut op: Operation, by: Move, problem: Problem, point: Point) -> Result<()> {
    let mut tx = db.begin().await?;
    let steps = step::of_operation(&mut tx, &op.id).await?;
    if steps.iter().any(|s| matches!(s.state, State::Signed | State::Included)) {
        // A terminal status waits for every signed step. When the step before this one is final, the refusal comes again and counts.
        op.blocked_reason = Some(format!("step_not_final: {}", problem.message));
        op.next_action_at = Some(tx.now() + Duration::seconds(operation::WAKE_AGAIN_SECONDS));
        operation::save(&mut tx, &mut op).await?;
        return tx.commit(Point::Fault).await;
    }
    tracing::warn!(operation.id = %op.id, error.code = problem.code, "operation needs a person: {}", problem.message);
    let reason = problem.message.clone();
    op.set_problem(Some(problem));
    operation::transition(&mut tx, &mut op, by, "engine", &reason).await?;
    tx.commit(point).await
}
