//! The full record of an operation: its steps, its signed transactions, its history and its finality.

use muniment_activities::config::Finality;
use muniment_domain::attempt::{Attempt, Kind as AttemptKind};
use muniment_domain::command::{Command, Kind as WishKind};
use muniment_domain::id::{ApprovalId, BulkId};
use muniment_domain::idempotency;
use muniment_domain::operation::{Operation, Stage, Status, Transition};
use muniment_domain::step::{self, Outcome, State, Step};
use muniment_workflows::operator::{retry, suggestion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::action::{self, Action};
use super::arguments;
use super::row::Row;
use crate::app::App;
use crate::field::address::Typed;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;

/// The parts of the record, read in one database transaction.
pub struct Parts {
    pub operation: Operation,
    pub row: Option<Row>,
    pub steps: Vec<Step>,
    pub attempts: Vec<Attempt>,
    pub history: Vec<Transition>,
    pub approval_id: Option<ApprovalId>,
    pub wishes: Vec<Command>,
}

/// An operation with its steps, attempts and history.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationInFull)]
pub struct Full {
    #[serde(flatten)]
    row: Row,
    contract_address: Option<Typed>,
    /// The index of the operation in its batch.
    batch_index: i64,
    /// The requested arguments, as they were hashed.
    #[schema(value_type = Object, example = json!({ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st" }))]
    arguments: Value,
    payload_sha256: String,
    /// The steps.
    steps: Vec<View>,
    /// The attempts.
    attempts: Attempts,
    /// The signed transactions.
    candidates: Vec<Candidate>,
    /// The rule of finality.
    finality: Option<Final>,
    /// The suggested next action of an operator: `action` and `why`. Nothing happens automatically.
    #[schema(value_type = Option<Object>, example = json!({ "action": "retry", "why": "The nonce is still open." }))]
    suggested_action: Option<Value>,
    /// The actions of a person, with the reason why each is possible or not.
    actions: Vec<Action>,
    approval_id: Option<ApprovalId>,
    /// The Idempotency-Key of the request.
    idempotency_key: Option<String>,
    request_id: Option<String>,
    history: Vec<TransitionView>,
    /// The accepted operator commands.
    wishes: Vec<OperatorCommand>,
}

/// The number of attempts.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationAttempts)]
struct Attempts {
    /// The number of attempts.
    count: i64,
    /// The maximum number of attempts.
    max: u32,
    cycle: i64,
    /// When the next attempt is due. Null if there is none.
    next_attempt_at: Option<Instant>,
}

/// The record of an operation.
pub fn full(app: &App, parts: Parts) -> Result<Full> {
    let op = &parts.operation;
    let last = parts.steps.iter().rev().find(|step| step.state != step::State::Unsigned).or(parts.steps.last());
    let row = parts.row.ok_or_else(|| Problem::internal("an operation without its row"))?;
    Ok(Full {
        row,
        contract_address: last.map(|step| Typed(step.target.0)),
        batch_index: op.batch_index,
        arguments: op.payload.0.clone(),
        payload_sha256: op.payload_sha256.clone(),
        steps: parts.steps.iter().map(|step| step_of(op, step, &parts.attempts)).collect(),
        attempts: Attempts {
            count: op.faults,
            max: app.settings.attempts_max,
            cycle: op.cycle,
            next_attempt_at: op.next_action_at.map(Instant),
        },
        candidates: parts.attempts.iter().map(candidate).collect(),
        finality: finality(app, op.chain_id),
        suggested_action: suggestion::of(op, &parts.steps),
        actions: action::of(op, &parts.steps),
        approval_id: parts.approval_id.clone(),
        idempotency_key: op.idempotency_key.as_deref().map(|key| idempotency::key_only(key).to_owned()),
        request_id: op.request_id.clone(),
        history: parts.history.iter().map(transition).collect(),
        wishes: parts.wishes.iter().map(command).collect(),
    })
}

/// The error of an operation.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationTrouble)]
pub struct OperationError {
    /// The stage at which it failed.
    stage: Option<Stage>,
    #[schema(example = "reverted")]
    code: String,
    message: Option<String>,
    /// The decoded error of the contract.
    revert_reason: Option<String>,
    /// The raw revert data of the contract.
    revert_data: Option<String>,
    /// Whether a retry is allowed.
    retryable: bool,
}

/// The error of an operation, if there is one.
pub fn problem(op: &Operation) -> Option<OperationError> {
    Some(OperationError {
        stage: op.error_stage,
        code: op.error_code.clone()?,
        message: op.error_message.clone(),
        revert_reason: op.error_data.as_ref().and(op.error_message.clone()),
        revert_data: op.error_data.clone(),
        retryable: op.needs_attention() && !retry::is_hopeless(op),
    })
}

/// One contract transaction of an operation.
#[derive(Serialize, ToSchema)]
#[schema(as = Step)]
struct View {
    /// The index of the step.
    index: i64,
    #[schema(example = "mint")]
    name: String,
    /// The contract function.
    #[schema(example = "mint")]
    function: String,
    /// A summary of the arguments: long lists as a count and a total.
    #[schema(value_type = Object, example = json!({ "lines": { "count": 2, "units": "500" } }))]
    args_summary: Value,
    contract_address: Typed,
    status: step::State,
    error: Option<OperationError>,
    outcome: Option<Outcome>,
    /// The operation number on the contract.
    op_number: Option<i64>,
    /// The hash of the call.
    payload_hash: Option<String>,
    nonce: Option<i64>,
    /// The gas limit.
    gas_limit: Option<i64>,
    tx_hash: Option<String>,
    block_number: Option<i64>,
    block_hash: Option<String>,
    #[schema(value_type = Option<i64>)]
    gas_used: Option<Value>,
    #[schema(value_type = Option<i64>)]
    effective_gas_price: Option<Value>,
    signed_at: Option<Instant>,
    /// When the step became final. Null if it is not.
    final_at: Option<Instant>,
}

/// The gas of a stored receipt.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Gas {
    gas_used: Option<Value>,
    effective_gas_price: Option<Value>,
}

fn step_of(op: &Operation, step: &Step, attempts: &[Attempt]) -> View {
    let mined = attempts.iter().find(|a| a.position == step.position && Some(a.tx_hash) == step.tx_hash);
    let gas = mined.and_then(Attempt::receipt).and_then(|text| serde_json::from_str(text).ok());
    let Gas { gas_used, effective_gas_price } = gas.unwrap_or_default();
    View {
        index: step.position,
        name: step.name.clone(),
        function: step.name.clone(),
        args_summary: arguments::summary(&op.payload.0, step.position),
        contract_address: Typed(step.target.0),
        status: step.state,
        error: problem(op).filter(|_| concerns(op, step)),
        outcome: step.outcome,
        op_number: step.op_number,
        payload_hash: step.payload_hash.map(|hash| hash.to_string()),
        nonce: step.nonce,
        gas_limit: step.gas_limit,
        tx_hash: step.tx_hash.map(|hash| hash.to_string()),
        block_number: step.block_number,
        block_hash: step.block_hash.map(|hash| hash.to_string()),
        gas_used,
        effective_gas_price,
        signed_at: step.signed_at.map(Instant),
        final_at: step.final_at.map(Instant),
    }
}

/// Whether the operation's error belongs to this step: the first that did not succeed.
fn concerns(op: &Operation, step: &Step) -> bool {
    let bad = |outcome| matches!(outcome, Some(Outcome::Reverted | Outcome::Cancelled | Outcome::Foreign));
    op.error_code.is_some() && (bad(step.outcome) || step.outcome.is_none() && step.state != State::Included)
}

/// An accepted operator command that a worker carries out later.
#[derive(Serialize, ToSchema)]
#[schema(as = Command)]
struct OperatorCommand {
    kind: WishKind,
    actor: String,
    reason: String,
    /// The id of the bulk retry. Null if it is not part of one.
    bulk_id: Option<BulkId>,
    bump_percent: Option<i64>,
    /// When the operator requested it.
    asked_at: Instant,
    due_at: Instant,
    done_at: Option<Instant>,
    outcome: Option<String>,
    detail: Option<String>,
}

fn command(command: &Command) -> OperatorCommand {
    OperatorCommand {
        kind: command.kind,
        actor: command.actor.clone(),
        reason: command.reason.clone(),
        bulk_id: command.bulk_id.clone(),
        bump_percent: command.bump_percent,
        asked_at: Instant(command.created_at),
        due_at: Instant(command.due_at),
        done_at: command.done_at.map(Instant),
        outcome: command.outcome.clone(),
        detail: command.detail.clone(),
    }
}

/// A signed transaction of a step.
#[derive(Serialize, ToSchema)]
struct Candidate {
    tx_hash: String,
    /// The index of the step in the operation.
    step_index: i64,
    cycle: i64,
    number: i64,
    kind: AttemptKind,
    nonce: i64,
    /// The maximum fee per gas, in wei.
    max_fee_per_gas: String,
    /// The maximum priority fee per gas, in wei.
    max_priority_fee_per_gas: String,
    signed_at: Instant,
    /// When the transaction was first sent. Null if it was not.
    broadcast_at: Option<Instant>,
    /// The number of sends of the transaction.
    sends: i64,
    /// The last answer of a node to the transaction.
    last_answer: Option<String>,
    /// `signed`, `broadcast`, `mined` or `superseded`.
    #[schema(example = "broadcast")]
    state: &'static str,
}

fn candidate(attempt: &Attempt) -> Candidate {
    let state = match (attempt.block_number, attempt.open, attempt.sent_at) {
        (Some(_), ..) => "mined",
        (None, false, _) => "superseded",
        (None, true, Some(_)) => "broadcast",
        (None, true, None) => "signed",
    };
    Candidate {
        tx_hash: attempt.tx_hash.to_string(),
        step_index: attempt.position,
        cycle: attempt.cycle,
        number: attempt.number,
        kind: attempt.kind,
        nonce: attempt.nonce,
        max_fee_per_gas: attempt.max_fee_per_gas.to_string(),
        max_priority_fee_per_gas: attempt.max_priority_fee_per_gas.to_string(),
        signed_at: Instant(attempt.signed_at),
        broadcast_at: attempt.sent_at.map(Instant),
        sends: attempt.sends,
        last_answer: attempt.last_answer.clone(),
        state,
    }
}

/// The rule by which a block becomes final.
#[derive(Serialize, ToSchema)]
#[schema(as = Finality)]
struct Final {
    /// `finalized_tag` or `confirmations`.
    #[schema(example = "finalized_tag")]
    mode: &'static str,
    /// The number of confirmations that make a block final.
    required: Option<u64>,
}

fn finality(app: &App, chain_id: i64) -> Option<Final> {
    Some(match app.chain(chain_id)?.finality {
        Finality::Tag => Final { mode: "finalized_tag", required: None },
        Finality::Confirmations(required) => Final { mode: "confirmations", required: Some(required) },
    })
}

/// A change of the status of the approval.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationTransition)]
struct TransitionView {
    from: Option<Status>,
    to: Status,
    created_at: Instant,
    actor: String,
    reason: String,
    cycle: i64,
    version: i64,
}

fn transition(t: &Transition) -> TransitionView {
    TransitionView {
        from: t.from_status,
        to: t.to_status,
        created_at: Instant(t.at),
        actor: t.actor.clone(),
        reason: t.reason.clone(),
        cycle: t.cycle,
        version: t.version,
    }
}
