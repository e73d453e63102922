//! Approvals: one person requests an action and another approves it. The payload is kept exactly as requested.

mod alone;
mod changed;
mod list;
mod state;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

pub use alone::{clear_alone, use_alone};
pub use changed::{Change, changes};
pub use list::{Filter, executed, find, find_live, find_visible, list, not_found, of_operation, overdue};
pub use state::{Move, Status};

use crate::db::{Tx, expect_updated};
use crate::id::{ApprovalId, BatchId, Id, OfferingId, OperationId, of};
use crate::recorder::Facts;
use crate::sql::{insert_into, sql, update_table};
use crate::{Code, Error, Result, canonical, event};

/// One row of `approvals`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0007_approval.sql explains those that need it.
pub struct Approval {
    pub id: ApprovalId,
    pub action: String,
    pub status: Status,
    pub subject_type: String,
    pub subject_id: String,
    pub offering_id: Option<OfferingId>,
    pub amount: Option<i64>,
    pub currency: Option<String>,
    pub payload: Json<Value>,
    pub payload_canonical: String,
    pub payload_sha256: String,
    pub live_key: Option<String>,
    pub maker: String,
    pub checker: Option<String>,
    pub reason: Option<String>,
    pub decision_reason: Option<String>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub operation_id: Option<OperationId>,
    pub batch_id: Option<BatchId>,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub next_action_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub decided_at: Option<DateTime<Utc>>,
    pub expires_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub alone_from: Option<DateTime<Utc>>,
}

/// A requested action.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewApproval {
    pub action: &'static str,
    pub subject_type: &'static str,
    pub subject_id: String,
    pub offering_id: Option<OfferingId>,
    pub amount: Option<(i64, String)>,
    pub payload: Value,
    /// Only one live approval may have this key.
    pub live_key: String,
    pub maker: String,
    pub reason: Option<String>,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub expires_at: DateTime<Utc>,
    /// From this time the requester may approve it alone; only if no other approver exists.
    pub alone_from: Option<DateTime<Utc>>,
}

impl Approval {
    /// The id of its subject, which the action makes an id of that kind.
    pub fn subject<K>(&self) -> Id<K> {
        self.subject_id.as_str().into()
    }

    /// Returns the payload after checking it against its stored hash, so that exactly the requested payload is executed.
    pub fn verified_payload(&self) -> Result<Value> {
        let changed = || {
            let detail = format!("The payload of {} does not match its stored hash. Nothing was executed.", self.id);
            Error::refused(Code::SnapshotMismatch, detail)
        };
        let shown = canonical::text(&self.payload.0).map_err(|_| changed())?;
        // Both forms are checked: the JSON is shown to the approver, the text is executed.
        if shown != self.payload_canonical || canonical::sha256(&self.payload_canonical) != self.payload_sha256 {
            return Err(changed());
        }
        serde_json::from_str(&self.payload_canonical).map_err(|_| changed())
    }
}

/// Stores a requested action. If the same action is already live, nothing is written and the request is refused.
pub async fn insert(tx: &mut Tx, new: NewApproval) -> Result<Approval> {
    let (id, now) = (tx.new_id::<of::Approval>(), tx.now());
    let payload = canonical::with_checksums(new.payload);
    let text = canonical::text(&payload).map_err(|e| Error::Unreadable {
        what: "approval",
        id: id.to_string(),
        why: e.to_string(),
    })?;
    let sha256 = canonical::sha256(&text);
    let (amount, currency) = new.amount.unzip();
    let inserted = insert_into("approvals")
        .set("id", &id)
        .set("action", new.action)
        .set("status", "pending")
        .set("subject_type", new.subject_type)
        .set("subject_id", &new.subject_id)
        .set("offering_id", &new.offering_id)
        .set("amount", amount)
        .set("currency", &currency)
        .set("payload", Json(&payload))
        .set("payload_canonical", &text)
        .set("payload_sha256", &sha256)
        .set("live_key", &new.live_key)
        .set("maker", &new.maker)
        .set("reason", &new.reason)
        .set("request_id", &new.request_id)
        .set("idempotency_key", &new.idempotency_key)
        .set("next_action_at", new.expires_at)
        .set("version", 1)
        .set("created_at", now)
        .set("expires_at", new.expires_at)
        .set("updated_at", now)
        .set("alone_from", new.alone_from)
        .push(" on conflict do nothing returning *")
        .optional::<Approval>(tx)
        .await?;
    // The unique live key refused the row.
    let Some(approval) = inserted else {
        return Err(in_progress(tx, &new.live_key).await?);
    };
    record(tx, &approval, None, &approval.maker, approval.reason.as_deref().unwrap_or("asked for")).await?;
    Ok(approval)
}

async fn in_progress(tx: &mut Tx, live_key: &str) -> Result<Error> {
    let live =
        sql("select id from approvals where live_key = $1").bind(live_key).optional_scalar::<ApprovalId>(tx).await?;
    let detail = match live {
        Some(id) => format!("The same request is waiting for approval in {id}. Decide on it or cancel it first."),
        None => "The same request was made at this moment. Look for its approval.".to_owned(),
    };
    Ok(Error::refused(Code::OperationInProgress, detail))
}

/// Moves an approval and writes its history and event, unless the row has changed since it was read.
pub async fn transition(tx: &mut Tx, a: &mut Approval, by: Move, actor: &str, reason: &str) -> Result<()> {
    let (from, read) = (a.status, a.version);
    let to = from.next(by).ok_or_else(|| not_pending(a))?;
    let before = if tx.recorder().has_caller() { Some(facts(&find(tx, &a.id).await?)) } else { None };
    a.status = to;
    a.version += 1;
    a.updated_at = tx.now();
    if from == Status::Pending {
        a.decided_at = Some(tx.now());
    }
    if !to.is_live() {
        a.live_key = None;
        a.next_action_at = None;
        a.alone_from = None;
    }
    let rows = update_table("approvals")
        .set("status", a.status)
        .set("live_key", &a.live_key)
        .set("checker", &a.checker)
        .set("decision_reason", &a.decision_reason)
        .set("error_code", &a.error_code)
        .set("error_message", &a.error_message)
        .set("operation_id", &a.operation_id)
        .set("batch_id", &a.batch_id)
        .set("next_action_at", a.next_action_at)
        .set("version", a.version)
        .set("decided_at", a.decided_at)
        .set("updated_at", a.updated_at)
        .set("alone_from", a.alone_from)
        .with(" where id = ", &a.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "approval", &a.id)?;
    if let Some(before) = before {
        tx.recorder().record_change(&a.id, before, facts(a));
    }
    record(tx, a, Some(from), actor, reason).await
}

/// The fields for the audit log.
fn facts(a: &Approval) -> Facts {
    let open = json!({
        "status": a.status, "checker": a.checker, "error_code": a.error_code, "operation_id": a.operation_id, "batch_id": a.batch_id,
        "decided_at": a.decided_at, "version": a.version,
    });
    Facts::new(open, json!({ "decision_reason": a.decision_reason }))
}

/// Records the operation or batch of an approval whose action another request carries out. Possible once.
pub async fn link(
    tx: &mut Tx,
    id: &ApprovalId,
    operation_id: Option<&OperationId>,
    batch_id: Option<&BatchId>,
) -> Result<()> {
    let now = tx.now();
    let rows = sql("update approvals set operation_id = $2, batch_id = $3, updated_at = $4
        where id = $1 and status = 'executed' and operation_id is null and batch_id is null")
    .bind((id, operation_id, batch_id, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "approval", id)
}

/// The error for a move on an approval that is already decided.
pub fn not_pending(a: &Approval) -> Error {
    let by = a.checker.as_ref().map(|checker| format!(", decided by {checker}")).unwrap_or_default();
    Error::refused(Code::ApprovalNotPending, format!("The approval {} is {}{by}.", a.id, a.status))
}

/// Changes only the next action time. The version stays, so that a reader's version is not invalidated.
pub async fn postpone(tx: &mut Tx, a: &Approval, until: DateTime<Utc>) -> Result<()> {
    let rows = sql("update approvals set next_action_at = $3 where id = $1 and version = $2")
        .bind((&a.id, a.version, until))
        .execute(tx)
        .await?;
    expect_updated(rows, "approval", &a.id)
}

async fn record(tx: &mut Tx, a: &Approval, from: Option<Status>, actor: &str, reason: &str) -> Result<()> {
    let at = tx.now();
    insert_into("approval_history")
        .set("approval_id", &a.id)
        .set("version", a.version)
        .set("from_status", from)
        .set("to_status", a.status)
        .set("at", at)
        .set("actor", actor)
        .set("reason", reason)
        .execute(tx)
        .await?;
    let name = if from.is_none() { "approval.requested".to_owned() } else { format!("approval.{}", a.status) };
    let data = json!({ "action": a.action, "from": from, "status": a.status, "subject": { "type": a.subject_type, "id": a.subject_id },
        "offering_id": a.offering_id, "operation_id": a.operation_id, "batch_id": a.batch_id,
        "error": a.error_code.as_ref().map(|code| json!({ "code": code })) });
    event::write(tx, &name, "approval", &a.id, a.version, data).await
}

/// One entry of an approval's history.
#[derive(Clone, Debug, sqlx::FromRow, serde::Serialize)]
#[allow(missing_docs)]
pub struct Transition {
    pub version: i64,
    #[serde(rename = "from")]
    pub from_status: Option<Status>,
    #[serde(rename = "to")]
    pub to_status: Status,
    pub at: DateTime<Utc>,
    pub actor: String,
    pub reason: String,
}

/// The history of an approval, oldest first.
pub async fn history(tx: &mut Tx, id: &ApprovalId) -> Result<Vec<Transition>> {
    sql("select version, from_status, to_status, at, actor, reason from approval_history
         where approval_id = $1 order by version")
    .bind(id)
    .rows(tx)
    .await
}
