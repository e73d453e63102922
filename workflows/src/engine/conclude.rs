//! The end of a step and of its operation: the one place where the chain's final word changes the domain.

use std::collections::HashSet;
use std::sync::Arc;

use alloy_primitives::B256;
use chrono::Duration;
use muniment_activities::receipt::Receipt;
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Move, Operation, Problem, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Error, Result, attempt, event, item};
use serde_json::json;
use sqlx::types::Json;

use crate::engine::Engine;
use crate::engine::effect::{Effect, Inclusion};
use crate::engine::queue;

/// Why the engine confirms.
const FINAL: &str = "final on the chain";

/// What became of a step, finally.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It had its effect.
    Done(Arc<dyn Effect>),
    /// It did not, and the problem says why. The outcome is not success.
    Undone(Outcome, Problem),
}

/// A step whose fate is final, with what is to be written about it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Its operation, as it was read.
    pub op: Operation,
    /// The step.
    pub step: Step,
    /// What became of it.
    pub verdict: Verdict,
}

/// Writes final verdicts together. An operation whose only step had its effect is confirmed with all others like it; whatever is not so
/// plain is settled by itself, and sees what was written before it.
pub async fn settle_all(tx: &mut Tx, settled: &[Settled]) -> Result<()> {
    let ids: Vec<&str> = settled.iter().map(|one| one.op.id.as_str()).collect();
    let single: HashSet<String> = step::singles(tx, &ids).await?.into_iter().collect();
    let is_plain = |one: &&Settled| {
        one.op.status == Status::Submitted && matches!(one.verdict, Verdict::Done(_)) && single.contains(&one.op.id)
    };
    let (plain, other): (Vec<&Settled>, Vec<&Settled>) = settled.iter().partition(is_plain);
    confirm_all(tx, &plain).await?;
    for one in other {
        let mut step = one.step.clone();
        // Several steps of one operation may be among them: each sees what the one before it wrote.
        let mut op = operation::find(tx, &one.op.id).await?;
        let hash = step.tx_hash.map(|h| h.0).unwrap_or_default();
        settle(tx, &mut op, &mut step, one.verdict.clone(), hash).await?;
    }
    Ok(())
}

/// Confirms operations whose only step is final with its effect.
async fn confirm_all(tx: &mut Tx, plain: &[&Settled]) -> Result<()> {
    let (mut steps, mut ops) = (Vec::with_capacity(plain.len()), Vec::with_capacity(plain.len()));
    for one in plain {
        if let Verdict::Done(effect) = &one.verdict {
            take_effect(tx, &one.op, &one.step, effect.as_ref()).await?;
        }
        let final_at = Some(tx.now());
        steps.push(Step { state: State::Final, outcome: Some(Outcome::Success), final_at, ..one.step.clone() });
        ops.push(Operation { tx_hash: one.step.tx_hash, ..one.op.clone() });
    }
    step::save_all(tx, &steps, State::Included).await?;
    let nonces: Vec<(&str, i64)> = steps.iter().filter_map(|s| Some((s.lane_id.as_deref()?, s.nonce?))).collect();
    attempt::close_nonces(tx, &nonces).await?;
    operation::transition_all(tx, &mut ops, Move::Confirm, "engine", |_| FINAL.to_owned()).await?;
    item::release_all(tx, &ops.iter().map(|op| op.id.as_str()).collect::<Vec<_>>()).await
}

/// Writes a final verdict on a step. When it was the last open one, the operation ends with it, and the domain changes.
pub async fn settle(tx: &mut Tx, op: &mut Operation, step: &mut Step, verdict: Verdict, tx_hash: B256) -> Result<()> {
    let read = step.state;
    step.state = State::Final;
    step.final_at = Some(tx.now());
    let problem = match verdict {
        Verdict::Done(effect) => {
            step.outcome = Some(Outcome::Success);
            // An operation that was given up takes its last effect in the domain when a person confirms it. A step before the last does
            // not confirm anything: it settles its own items now, because nobody will name it later.
            if op.status == Status::Submitted || !is_last_open(tx, step).await? {
                take_effect(tx, op, step, effect.as_ref()).await?;
            }
            None
        }
        Verdict::Undone(outcome, problem) => {
            step.outcome = Some(outcome);
            Some(problem)
        }
    };
    step::save(tx, step, read).await?;
    if let (Some(lane_id), Some(nonce)) = (&step.lane_id, step.nonce) {
        attempt::close_nonces(tx, &[(lane_id, nonce)]).await?;
    }
    if op.status != Status::Submitted {
        // That it took too long is no longer what is wrong with it, once its fate is known.
        if problem.is_some() && op.needs_attention() && op.error_code.as_deref() == Some("stuck") {
            op.set_problem(problem);
        }
        return propose(tx, op, step, tx_hash).await;
    }
    if let Some(problem) = problem {
        op.set_problem(Some(problem));
    }
    conclude(tx, op, tx_hash).await
}

/// Whether every other step of the operation succeeded.
async fn is_last_open(tx: &mut Tx, step: &Step) -> Result<bool> {
    let steps = step::of_operation(tx, &step.operation_id).await?;
    Ok(steps.iter().all(|s| s.position == step.position || s.outcome == Some(Outcome::Success)))
}

/// Ends the operation if nothing of it is open any more. A terminal status waits for every signed step.
async fn conclude(tx: &mut Tx, op: &mut Operation, tx_hash: B256) -> Result<()> {
    let steps = step::of_operation(tx, &op.id).await?;
    if steps.iter().any(|s| matches!(s.state, State::Signed | State::Included)) {
        // Where nothing was learnt the row stays as it is: the next step may be under preparation, and must not find it moved.
        return if op.error_code.is_some() { operation::save(tx, op).await } else { Ok(()) };
    }
    let outcome = steps.iter().filter_map(|s| s.outcome).find(|o| *o != Outcome::Success);
    let by = match outcome {
        None if steps.iter().any(|s| s.state == State::Unsigned) => {
            // The next step was woken when this one was included; a lying receipt or an adoption has no such moment.
            if op.next_action_at.is_none() {
                op.next_action_at = Some(tx.now() + Duration::seconds(operation::PATIENCE_SECONDS));
                operation::save(tx, op).await?;
            }
            return queue::wake(tx, op).await;
        }
        None => return confirm(tx, op, tx_hash, Move::Confirm, "engine", FINAL).await,
        Some(Outcome::Taken) => Move::GiveUp,
        Some(_) => Move::Fail,
    };
    let reason = op.error_message.clone().unwrap_or_default();
    operation::transition(tx, op, by, "engine", &reason).await
}

/// Confirms an operation whose effect is final, and frees what it was about.
pub async fn confirm(
    tx: &mut Tx,
    op: &mut Operation,
    tx_hash: B256,
    by: Move,
    actor: &str,
    reason: &str,
) -> Result<()> {
    op.tx_hash = Some(Hex(tx_hash));
    operation::transition(tx, op, by, actor, reason).await?;
    item::release(tx, &op.id).await
}

/// Applies a final effect to the domain.
pub async fn take_effect(tx: &mut Tx, op: &Operation, step: &Step, effect: &dyn Effect) -> Result<()> {
    let missing =
        |what: &str| Error::Unreadable { what: "step of", id: op.id.clone(), why: format!("it has no {what}") };
    let tx_hash = step.tx_hash.ok_or_else(|| missing("transaction"))?.0;
    let block_number = step.block_number.ok_or_else(|| missing("block"))?;
    effect.settle(tx, op, Inclusion { tx_hash, block_number }).await
}

/// A late word from the chain about an operation that waits for a person: it is proposed, never applied.
async fn propose(tx: &mut Tx, op: &mut Operation, step: &Step, tx_hash: B256) -> Result<()> {
    if step.outcome == Some(Outcome::Success) && op.resolution.is_none() && is_last_open(tx, step).await? {
        op.suggested_action = Some(Json(json!({ "action": "mark_confirmed", "tx_hash": tx_hash.to_string(),
            "why": "The transaction was mined after the operation was given up. Its effect is final." })));
        let data = json!({ "tx_hash": tx_hash.to_string() });
        event::write(tx, "operation.late_confirmation", "operation", &op.id, op.version + 1, data).await?;
        tracing::warn!(operation.id = %op.id, tx.hash = %tx_hash, "late success waits for a person's word");
    }
    operation::save(tx, op).await
}

/// Takes over the transaction that executed this very operation before: from here it is followed to finality like any other.
pub async fn adopt(engine: &Engine, op: &Operation, step: &Step, receipt: &Receipt) -> Result<()> {
    let (mut op, mut step, read) = (op.clone(), step.clone(), step.state);
    let mut tx = engine.db.begin().await?;
    if let (Some(lane_id), Some(nonce)) = (&step.lane_id, step.nonce) {
        // Its own transaction is final too: it was refused because this one came first.
        attempt::close_nonces(&mut tx, &[(lane_id, nonce)]).await?;
    }
    step.state = State::Included;
    step.lane_id = None;
    step.nonce = None;
    step.tx_hash = Some(Hex(receipt.tx_hash));
    step.block_number = Some(receipt.block_number.cast_signed());
    step.block_hash = Some(Hex(receipt.block_hash));
    step::save(&mut tx, &step, read).await?;
    op.next_action_at = None;
    op.set_problem(None);
    if op.status == Status::Pending {
        let reason = format!("the chain executed this operation before, in {}", receipt.tx_hash);
        operation::transition(&mut tx, &mut op, Move::Adopt, "engine", &reason).await?;
    } else {
        operation::save(&mut tx, &mut op).await?;
    }
    tx.commit(Point::Adopt).await
}

/// The problem of a success that lacks its effect.
pub fn effect_mismatch(why: String) -> Problem {
    Problem { stage: Stage::Effect, code: "effect_mismatch".to_owned(), message: why, data: None }
}
