//! Records what kept an operation from its next move, once: it waits, is tried again, or ends.

use std::sync::Arc;

use chrono::Duration;
use futures::future::{BoxFuture, FutureExt};
use muniment_domain::db::{Db, Tx};
use muniment_domain::operation::{self, Move, Operation, Problem, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, State};
use muniment_domain::{Error, Result};

use crate::engine::commits::{self, Writes};
use crate::engine::failure::Failure;
use crate::engine::{Engine, backoff, queue};
use crate::settings::Settings;

/// Records the failure of an operation, with its next time and wake in the same commit.
pub async fn failure(engine: &Engine, op: Operation, failure: Failure) -> Result<()> {
    let (db, settings) = (&engine.db, &*engine.settings);
    match failure {
        Failure::Domain(error) => Err(error),
        Failure::Blocked(reason) => wait(engine, vec![op], &reason, When::Soon).await,
        Failure::Retry(problem) => retry(db, settings, op, problem).await,
        Failure::Refuse(problem) => end(db, op, Move::Fail, problem, Point::Refuse).await,
        Failure::Dead(problem) => end(db, op, Move::GiveUp, problem, Point::DeadLetter).await,
    }
}

/// When it is recorded that operations wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In a commit that others share.
    Soon,
    /// In a commit of its own: the lane does nothing else meanwhile.
    Now,
}

/// Keeps operations in their status, with the reason and the next time, in one commit. One that another move changed meanwhile is skipped.
pub async fn wait(engine: &Engine, mut ops: Vec<Operation>, reason: &str, when: When) -> Result<()> {
    let now = engine.db.clock().now();
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
    match wait_together(engine, &ops, reason, when).await {
        Err(Error::Stale { .. }) if ops.len() > 1 => {
            for op in &ops {
                match wait_together(engine, std::slice::from_ref(op), reason, when).await {
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

async fn wait_together(engine: &Engine, ops: &[Operation], reason: &str, when: When) -> Result<()> {
    let Some(chain_id) = ops.first().map(|op| op.chain_id) else { return Ok(()) };
    let later = Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
    let waiting = Waiting { ops: ops.to_vec(), reason: reason.to_owned(), later };
    match when {
        When::Soon => engine.commit_soon(chain_id, Point::Fault, Arc::new(waiting)).await,
        When::Now => commits::alone(&engine.db, Point::Fault, &waiting).await,
    }
}

/// Operations that wait, ready to be stored.
struct Waiting {
    ops: Vec<Operation>,
    reason: String,
    later: Duration,
}

impl Writes for Waiting {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        self.store(tx).boxed()
    }
}

impl Waiting {
    async fn store(&self, tx: &mut Tx) -> Result<()> {
        let (mut ops, later) = (self.ops.clone(), tx.now() + self.later);
        for op in &mut ops {
            op.blocked_reason = Some(self.reason.clone());
            // A pending operation is parked: the end of the cause wakes it, and not the clock. Thousands of them cost nothing.
            op.next_action_at = (op.status != Status::Pending).then_some(later);
        }
        operation::save_all(tx, &mut ops).await
    }
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
