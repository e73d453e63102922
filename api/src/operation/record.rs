//! The full record of an operation: its steps, what was signed for them, its history and how final it is.

use muniment_activities::config::Finality;
use muniment_domain::attempt::Attempt;
use muniment_domain::chain::Chain;
use muniment_domain::idempotency;
use muniment_domain::lane::Lane;
use muniment_domain::operation::{Operation, Transition};
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_domain::wish::Wish;
use muniment_workflows::suggestion;
use serde_json::{Value, json};

use super::{arguments, short};
use crate::app::App;
use crate::instant;

/// What the record is made of, read in one view of the database.
pub struct Parts {
    pub operation: Operation,
    pub chain: Option<Chain>,
    pub lane: Option<Lane>,
    pub steps: Vec<Step>,
    pub attempts: Vec<Attempt>,
    pub history: Vec<Transition>,
    pub approval_id: Option<String>,
    pub wishes: Vec<Wish>,
}

/// The record: the short form, and everything that explains it.
pub fn full(app: &App, parts: &Parts) -> Value {
    let op = &parts.operation;
    let mut record = short(app, op);
    let last = parts.steps.iter().rev().find(|step| step.state != step::State::Unsigned).or(parts.steps.last());
    let more = json!({
        "contract_address": last.map(|step| step.target.0.to_checksum(None)),
        "signer_address": parts.lane.as_ref().map(|lane| lane.signer.0.to_checksum(None)),
        "batch_index": op.batch_index, "arguments": op.payload.0, "payload_sha256": op.payload_sha256,
        "steps": parts.steps.iter().map(|step| step_of(op, step, &parts.attempts)).collect::<Vec<_>>(),
        "attempts": {
            "count": op.faults, "max": app.settings.attempts_max, "cycle": op.cycle,
            "next_attempt_at": instant::optional(op.next_action_at),
        },
        "candidates": parts.attempts.iter().map(candidate).collect::<Vec<_>>(),
        "confirmations": last.and_then(|step| confirmations(step, parts.chain.as_ref())),
        "finality": finality(app, op.chain_id), "suggested_action": suggestion::of(op, &parts.steps),
        "approval_id": parts.approval_id, "idempotency_key": op.idempotency_key.as_deref().map(idempotency::bare), "request_id": op.request_id,
        "history": parts.history.iter().map(transition).collect::<Vec<_>>(),
        "wishes": parts.wishes.iter().map(wish).collect::<Vec<_>>(),
    });
    if let (Value::Object(record), Value::Object(more)) = (&mut record, more) {
        record.extend(more);
    }
    record
}

/// What is wrong with an operation, if anything.
pub fn problem(op: &Operation) -> Value {
    let Some(code) = &op.error_code else { return Value::Null };
    json!({
        "stage": op.error_stage, "code": code, "message": op.error_message, "revert_data": op.error_data,
        "retryable": op.needs_attention(),
    })
}

fn step_of(op: &Operation, step: &Step, attempts: &[Attempt]) -> Value {
    let mined = attempts.iter().find(|a| a.position == step.position && Some(a.tx_hash) == step.tx_hash);
    let receipt = mined.and_then(|attempt| attempt.receipt.as_ref()).map(|receipt| &receipt.0);
    let of_receipt = |key: &str| receipt.and_then(|receipt| receipt.get(key)).cloned().unwrap_or(Value::Null);
    json!({
        "index": step.position, "name": step.name, "function": step.name, "args_summary": arguments::summary(&op.payload.0, step.position),
        "contract_address": step.target.0.to_checksum(None), "status": step.state,
        "error": if concerns(op, step) { problem(op) } else { Value::Null },
        "outcome": step.outcome, "op_number": step.op_number, "payload_hash": step.payload_hash.map(|hash| hash.to_string()),
        "nonce": step.nonce, "gas_limit": step.gas_limit, "tx_hash": step.tx_hash.map(|hash| hash.to_string()),
        "block_number": step.block_number, "block_hash": step.block_hash.map(|hash| hash.to_string()),
        "gas_used": of_receipt("gas_used"), "effective_gas_price": of_receipt("effective_gas_price"),
        "signed_at": instant::optional(step.signed_at), "final_at": instant::optional(step.final_at),
    })
}

/// Whether what is wrong with the operation is wrong with this step: the first that did not succeed.
fn concerns(op: &Operation, step: &Step) -> bool {
    let bad = |outcome| matches!(outcome, Some(Outcome::Reverted | Outcome::Cancelled | Outcome::Taken));
    op.error_code.is_some() && (bad(step.outcome) || step.outcome.is_none() && step.state != State::Included)
}

fn wish(wish: &Wish) -> Value {
    json!({
        "kind": wish.kind, "actor": wish.actor, "reason": wish.reason, "bulk_id": wish.bulk_id, "bump_percent": wish.bump_percent,
        "asked_at": instant::text(wish.created_at), "due_at": instant::text(wish.due_at), "done_at": instant::optional(wish.done_at),
        "outcome": wish.outcome, "detail": wish.detail,
    })
}

fn candidate(attempt: &Attempt) -> Value {
    let state = match (attempt.block_number, attempt.open, attempt.sent_at) {
        (Some(_), ..) => "mined",
        (None, false, _) => "superseded",
        (None, true, Some(_)) => "broadcast",
        (None, true, None) => "signed",
    };
    json!({
        "tx_hash": attempt.tx_hash.to_string(), "step_index": attempt.position, "cycle": attempt.cycle, "number": attempt.number,
        "kind": attempt.kind, "nonce": attempt.nonce, "max_fee_per_gas": attempt.max_fee_per_gas.to_string(),
        "max_priority_fee_per_gas": attempt.max_priority_fee_per_gas.to_string(), "signed_at": instant::text(attempt.signed_at),
        "broadcast_at": instant::optional(attempt.sent_at), "sends": attempt.sends, "last_answer": attempt.last_answer, "state": state,
    })
}

fn confirmations(step: &Step, chain: Option<&Chain>) -> Option<i64> {
    let mined = step.block_number?;
    chain.map(|chain| (chain.head_number - mined + 1).max(0))
}

fn finality(app: &App, chain_id: i64) -> Value {
    match app.chain(chain_id).map(|chain| chain.finality) {
        Some(Finality::Tag) => json!({ "mode": "finalized_tag", "required": null }),
        Some(Finality::Confirmations(required)) => json!({ "mode": "confirmations", "required": required }),
        None => Value::Null,
    }
}

fn transition(t: &Transition) -> Value {
    json!({
        "from": t.from_status, "to": t.to_status, "at": instant::text(t.at), "actor": t.actor, "reason": t.reason, "cycle": t.cycle,
        "version": t.version,
    })
}
