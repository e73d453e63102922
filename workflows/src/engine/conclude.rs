//! The end of a step and of its operation: the only place where a final result changes the domain.

use std::collections::HashSet;
use std::sync::Arc;

use alloy_primitives::B256;
use chrono::Duration;
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Move, Operation, Problem, Stage, Status};
use muniment_domain::point::Point;
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::{Error, Result, attempt, event, operation_item};
use serde_json::json;
use sqlx::types::Json;

use crate::engine::Engine;
use crate::engine::effect::{Effect, FinalEffect, Inclusion};
use crate::engine::queue;

/// The reason of a confirmation by the engine.
const FINAL: &str = "final on the chain";

/// The final result of a step.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The step had its effect.
    Done(Arc<dyn Effect>),
    /// The step did not have its effect, for this problem. The outcome is not success.
    Undone(Outcome, Problem),
}

/// A final step, with its verdict.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The operation, as it was read.
    pub op: Operation,
    /// The step.
    pub step: Step,
    /// The final result.
    pub verdict: Verdict,
}

/// Writes final verdicts together. All operations whose only step had its effect are confirmed at once. Every other one is settled by
/// itself and sees the writes before it.
pub async fn settle_all(tx: &mut Tx, settled: &[Settled]) -> Result<()> {
    let ids: Vec<&OperationId> = settled.iter().map(|one| &one.op.id).collect();
    let single: HashSet<OperationId> = step::singles(tx, &ids).await?.into_iter().collect();
    let is_plain = |one: &&Settled| {
        one.op.status == Status::Submitted && matches!(one.verdict, Verdict::Done(_)) && single.contains(&one.op.id)
    };
    let (plain, other): (Vec<&Settled>, Vec<&Settled>) = settled.iter().partition(is_plain);
    confirm_all(tx, &plain).await?;
    for one in other {
        let mut step = one.step.clone();
        // Several steps can belong to one operation, so each reads what the one before it wrote.
        let mut op = operation::find(tx, &one.op.id).await?;
        let hash = step.tx_hash.map(|h| h.0).unwrap_or_default();
        settle(tx, &mut op, &mut step, one.verdict.clone(), hash).await?;
    }
    Ok(())
}

/// Confirms operations whose only step is final with its effect.
async fn confirm_all(tx: &mut Tx, plain: &[&Settled]) -> Result<()> {
    let (mut steps, mut ops) = (Vec::with_capacity(plain.len()), Vec::with_capacity(plain.len()));
    let mut effects = Vec::with_capacity(plain.len());
    for one in plain {
        if let Verdict::Done(effect) = &one.verdict {
            effects.push(FinalEffect { op: &one.op, effect: effect.as_ref(), at: inclusion(&one.op, &one.step)? });
        }
        let final_at = Some(tx.now());
        steps.push(Step { state: State::Final, outcome: Some(Outcome::Success), final_at, ..one.step.clone() });
        ops.push(Operation { tx_hash: one.step.tx_hash, ..one.op.clone() });
    }
    // Only neighbours, because effects are applied in the order of the chain.
    for alike in effects.chunk_by(|one, next| one.op.kind == next.op.kind) {
        alike[0].effect.settle_all(tx, alike).await?;
    }
    step::save_all(tx, &steps, State::Included).await?;
    let nonces: Vec<(&str, i64)> = steps.iter().filter_map(|s| Some((s.lane_id.as_deref()?, s.nonce?))).collect();
    attempt::close_nonces(tx, &nonces).await?;
    operation::transition_all(tx, &mut ops, Move::Confirm, "engine", |_| FINAL.to_owned()).await?;
    operation_item::release_all(tx, &ops.iter().map(|op| &op.id).collect::<Vec<_>>()).await
}

/// Writes the final verdict on a step. The last open step also ends its operation.
pub async fn settle(tx: &mut Tx, op: &mut Operation, step: &mut Step, verdict: Verdict, tx_hash: B256) -> Result<()> {
    let read = step.state;
    step.state = State::Final;
    step.final_at = Some(tx.now());
    let problem = match verdict {
        Verdict::Done(effect) => {
            step.outcome = Some(Outcome::Success);
            // For a dead letter, a person's confirmation applies the last step's effect. An earlier step confirms nothing and settles its
            // own items now, because no later move will do so.
            let has_effect = op.status == Status::Confirmed;
            if op.status == Status::Submitted || !has_effect && !is_last_open(tx, step).await? {
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
    if op.status == Status::Confirmed {
        return conclude_again(tx, op, step, problem).await;
    }
    if op.status != Status::Submitted {
        // `stuck` is no longer the problem once the result is known.
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

/// Ends the second life of a confirmed operation whose final block was replaced. The domain has its effect already, so a transaction that
/// is now final without it is for a person.
async fn conclude_again(tx: &mut Tx, op: &mut Operation, step: &Step, problem: Option<Problem>) -> Result<()> {
    if let Some(problem) = problem {
        tracing::error!(operation.id = %op.id, "confirmed, but lost in the accepted history: {}", problem.message);
        op.blocked_reason = Some(format!("history_lost: {}", problem.message));
        let data = json!({ "code": problem.code, "message": problem.message });
        event::write(tx, "operation.history_lost", "operation", &op.id, op.version + 1, data).await?;
    } else if is_last_open(tx, step).await? {
        op.blocked_reason = None;
        op.tx_hash = step.tx_hash.or(op.tx_hash);
    }
    operation::save(tx, op).await
}

/// Whether every other step of the operation succeeded.
async fn is_last_open(tx: &mut Tx, step: &Step) -> Result<bool> {
    let steps = step::of_operation(tx, &step.operation_id).await?;
    Ok(steps.iter().all(|s| s.position == step.position || s.outcome == Some(Outcome::Success)))
}

/// Ends the operation if no step is open. A terminal status waits for every signed step.
async fn conclude(tx: &mut Tx, op: &mut Operation, tx_hash: B256) -> Result<()> {
    let steps = step::of_operation(tx, &op.id).await?;
    if steps.iter().any(|s| matches!(s.state, State::Signed | State::Included)) {
        // Without a problem the row stays unchanged: the next step may be in preparation, and a new version would make it stale.
        return if op.error_code.is_some() { operation::save(tx, op).await } else { Ok(()) };
    }
    let outcome = steps.iter().filter_map(|s| s.outcome).find(|o| *o != Outcome::Success);
    let by = match outcome {
        None if steps.iter().any(|s| s.state == State::Unsigned) => {
            // The inclusion of this step normally wakes the next one. After an adoption or a corrected receipt there was no such wake.
            if op.next_action_at.is_none() {
                op.next_action_at = Some(tx.now() + Duration::seconds(operation::WAKE_AGAIN_SECONDS));
                operation::save(tx, op).await?;
            }
            return queue::wake(tx, op).await;
        }
        None => return confirm(tx, op, tx_hash, Move::Confirm, "engine", FINAL).await,
        Some(Outcome::Foreign) => Move::GiveUp,
        Some(_) => Move::Fail,
    };
    let reason = op.error_message.clone().unwrap_or_default();
    operation::transition(tx, op, by, "engine", &reason).await
}

/// Confirms an operation whose effect is final, and releases its subjects.
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
    operation_item::release(tx, &op.id).await
}

/// Applies a final effect to the domain.
pub async fn take_effect(tx: &mut Tx, op: &Operation, step: &Step, effect: &dyn Effect) -> Result<()> {
    effect.settle(tx, op, inclusion(op, step)?).await
}

/// Where a step is on the chain.
fn inclusion(op: &Operation, step: &Step) -> Result<Inclusion> {
    let missing =
        |what: &str| Error::Unreadable { what: "step of", id: op.id.to_string(), why: format!("it has no {what}") };
    let tx_hash = step.tx_hash.ok_or_else(|| missing("transaction"))?.0;
    let block_number = step.block_number.ok_or_else(|| missing("block"))?;
    Ok(Inclusion { tx_hash, block_number })
}

/// Handles a late result of an operation that waits for a person: it is suggested to the person, never applied.
async fn propose(tx: &mut Tx, op: &mut Operation, step: &Step, tx_hash: B256) -> Result<()> {
    if step.outcome == Some(Outcome::Success) && op.resolution.is_none() && is_last_open(tx, step).await? {
        op.suggested_action = Some(Json(json!({ "action": "mark_confirmed", "tx_hash": tx_hash.to_string(),
            "why": "The transaction was included after the engine gave the operation up. Its effect is final." })));
        let data = json!({ "tx_hash": tx_hash.to_string() });
        event::write(tx, "operation.late_confirmation", "operation", &op.id, op.version + 1, data).await?;
        tracing::warn!(operation.id = %op.id, tx.hash = %tx_hash, "a late success waits for an operator");
    }
    operation::save(tx, op).await
}

/// Adopts the transaction that already executed this operation. It is then followed to finality like any other.
pub async fn adopt(engine: &Engine, op: &Operation, step: &Step, receipt: &Receipt) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    write_adoption(&mut tx, op, step, receipt).await?;
    tx.commit(Point::Adopt).await
}

/// The same, in the caller's transaction.
pub async fn write_adoption(tx: &mut Tx, op: &Operation, step: &Step, receipt: &Receipt) -> Result<()> {
    let (mut op, mut step, read) = (op.clone(), step.clone(), step.state);
    if let (Some(lane_id), Some(nonce)) = (&step.lane_id, step.nonce) {
        // The operation's own transaction is final too: the contract refused it because this one came first.
        attempt::close_nonces(tx, &[(lane_id, nonce)]).await?;
    }
    step.state = State::Included;
    step.lane_id = None;
    step.nonce = None;
    step.tx_hash = Some(Hex(receipt.tx_hash));
    step.block_number = Some(receipt.block_number.cast_signed());
    step.block_hash = Some(Hex(receipt.block_hash));
    step::save(tx, &step, read).await?;
    op.next_action_at = None;
    op.set_problem(None);
    if op.status == Status::Pending {
        let reason = format!("the chain executed this operation before, in {}", receipt.tx_hash);
        return operation::transition(tx, &mut op, Move::Adopt, "engine", &reason).await;
    }
    operation::save(tx, &mut op).await
}

/// The problem of a success that lacks its effect.
pub fn effect_mismatch(why: String) -> Problem {
    Problem { stage: Stage::Effect, code: "effect_mismatch".to_owned(), message: why, data: None }
}
