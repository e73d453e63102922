//! Approvals: what one person asked for and another one has to allow, kept as it was asked for.

mod alone;
mod list;
mod state;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

pub use alone::{end_alone, take_alone};
pub use list::{Filter, executed, find, list, missing, of_operation, overdue, see};
pub use state::{Move, Status};

use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::{Code, Error, Result, canonical, event, on};

/// One row of `approvals`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0007_approval.sql explains those that need it.
pub struct Approval {
    pub id: String,
    pub action: String,
    pub status: Status,
    pub subject_type: String,
    pub subject_id: String,
    pub offering_id: Option<String>,
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
    pub operation_id: Option<String>,
    pub batch_id: Option<String>,
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

/// What a maker asks for.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewApproval {
    pub action: &'static str,
    pub subject_type: &'static str,
    pub subject_id: String,
    pub offering_id: Option<String>,
    pub amount: Option<(i64, String)>,
    pub payload: Value,
    /// Nobody else may ask for the same while this is live.
    pub live_key: String,
    pub maker: String,
    pub reason: Option<String>,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub expires_at: DateTime<Utc>,
    /// From when on its maker may allow it himself; only where nobody else could.
    pub alone_from: Option<DateTime<Utc>>,
}

impl Approval {
    /// The payload, proved to be what was asked for: its text has the stored hash, and the shown value has that text.
    pub fn sealed(&self) -> Result<Value> {
        let changed = || {
            let detail = format!(
                "The payload of {} is not what was asked for: its hash differs. Nothing was executed.",
                self.id
            );
            Error::refused(Code::SnapshotMismatch, detail)
        };
        let shown = canonical::text(&self.payload.0).map_err(|_| changed())?;
        if shown != self.payload_canonical || canonical::sha256(&self.payload_canonical) != self.payload_sha256 {
            return Err(changed());
        }
        serde_json::from_str(&self.payload_canonical).map_err(|_| changed())
    }
}

/// Stores what was asked for. While the same is live already, it is refused and nothing is written.
pub async fn insert(tx: &mut Tx, new: NewApproval) -> Result<Approval> {
    let (id, now) = (tx.new_id("apr"), tx.now());
    let text = canonical::text(&new.payload).map_err(|e| Error::Unreadable {
        what: "approval",
        id: id.clone(),
        why: e.to_string(),
    })?;
    let sha256 = canonical::sha256(&text);
    let (amount, currency) = new.amount.unzip();
    let inserted = on!(tx, conn => sqlx::query_as::<_, Approval>(
        "insert into approvals (id, action, status, subject_type, subject_id, offering_id, amount, currency, payload, payload_canonical, \
         payload_sha256, live_key, maker, reason, request_id, idempotency_key, next_action_at, version, created_at, expires_at, updated_at, alone_from) \
         values ($1, $2, 'pending', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 1, $17, $16, $17, $18) \
         on conflict do nothing returning *")
        .bind(&id).bind(new.action).bind(new.subject_type).bind(&new.subject_id).bind(&new.offering_id).bind(amount).bind(&currency)
        .bind(Json(&new.payload)).bind(&text).bind(&sha256).bind(&new.live_key).bind(&new.maker).bind(&new.reason)
        .bind(&new.request_id).bind(&new.idempotency_key).bind(new.expires_at).bind(now).bind(new.alone_from)
        .fetch_optional(conn).await?);
    let Some(approval) = inserted else {
        return Err(in_progress(tx, &new.live_key).await?);
    };
    record(tx, &approval, None, &approval.maker, approval.reason.as_deref().unwrap_or("asked for")).await?;
    Ok(approval)
}

async fn in_progress(tx: &mut Tx, live_key: &str) -> Result<Error> {
    let live = on!(tx, conn => sqlx::query_scalar::<_, String>("select id from approvals where live_key = $1")
        .bind(live_key).fetch_optional(conn).await?);
    let detail = match live {
        Some(id) => format!("The same waits for approval in {id}. Decide on it, or cancel it, first."),
        None => "The same was asked for at this moment. Look for its approval.".to_owned(),
    };
    Ok(Error::refused(Code::OperationInProgress, detail))
}

/// Moves an approval, with its history and its event, if nobody moved it since it was read.
pub async fn transition(tx: &mut Tx, a: &mut Approval, by: Move, actor: &str, reason: &str) -> Result<()> {
    let (from, read) = (a.status, a.version);
    let to = from.next(by).ok_or_else(|| not_pending(a))?;
    let before = if tx.doing().is_an_act() { Some(facts(&find(tx, &a.id).await?)) } else { None };
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
    let rows = on!(tx, conn => sqlx::query(
        "update approvals set status = $3, live_key = $4, checker = $5, decision_reason = $6, error_code = $7, error_message = $8, \
         operation_id = $9, batch_id = $10, next_action_at = $11, version = $12, decided_at = $13, updated_at = $14, alone_from = $15 \
         where id = $1 and version = $2")
        .bind(&a.id).bind(read).bind(a.status).bind(&a.live_key).bind(&a.checker).bind(&a.decision_reason).bind(&a.error_code)
        .bind(&a.error_message).bind(&a.operation_id).bind(&a.batch_id).bind(a.next_action_at).bind(a.version).bind(a.decided_at)
        .bind(a.updated_at).bind(a.alone_from)
        .execute(conn).await?.rows_affected());
    touched(rows, "approval", &a.id)?;
    if let Some(before) = before {
        tx.doing().changed(&a.id, before, facts(a));
    }
    record(tx, a, Some(from), actor, reason).await
}

/// What the audit log may show of it.
fn facts(a: &Approval) -> Facts {
    let open = json!({
        "status": a.status, "checker": a.checker, "error_code": a.error_code, "operation_id": a.operation_id, "batch_id": a.batch_id,
        "decided_at": a.decided_at, "version": a.version,
    });
    Facts::new(open, json!({ "decision_reason": a.decision_reason }))
}

/// Notes what came of an approval whose action is done by another request: one operation or one batch, once.
pub async fn link(tx: &mut Tx, id: &str, operation_id: Option<&str>, batch_id: Option<&str>) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update approvals set operation_id = $2, batch_id = $3, updated_at = $4 \
         where id = $1 and status = 'executed' and operation_id is null and batch_id is null")
        .bind(id).bind(operation_id).bind(batch_id).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "approval", id)
}

/// The refusal of a move on an approval that has been decided.
pub fn not_pending(a: &Approval) -> Error {
    let by = a.checker.as_ref().map(|checker| format!(", decided by {checker}")).unwrap_or_default();
    Error::refused(Code::ApprovalNotPending, format!("The approval {} is {}{by}.", a.id, a.status))
}

/// Moves the next time alone, and leaves the version: whoever is looking at it must not find it changed by this.
pub async fn postpone(tx: &mut Tx, a: &Approval, until: DateTime<Utc>) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query("update approvals set next_action_at = $3 where id = $1 and version = $2")
        .bind(&a.id).bind(a.version).bind(until).execute(conn).await?.rows_affected());
    touched(rows, "approval", &a.id)
}

async fn record(tx: &mut Tx, a: &Approval, from: Option<Status>, actor: &str, reason: &str) -> Result<()> {
    let at = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into approval_history (approval_id, version, from_status, to_status, at, actor, reason) values ($1, $2, $3, $4, $5, $6, $7)")
        .bind(&a.id).bind(a.version).bind(from).bind(a.status).bind(at).bind(actor).bind(reason)
        .execute(conn).await?.rows_affected());
    let name = if from.is_none() { "approval.requested".to_owned() } else { format!("approval.{}", a.status) };
    let data = json!({ "action": a.action, "from": from, "status": a.status, "subject": { "type": a.subject_type, "id": a.subject_id },
        "offering_id": a.offering_id, "operation_id": a.operation_id, "batch_id": a.batch_id,
        "error": a.error_code.as_ref().map(|code| json!({ "code": code })) });
    event::write(tx, &name, "approval", &a.id, a.version, data).await
}

/// One line of an approval's history.
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

/// Everything that happened to an approval, oldest first.
pub async fn history(tx: &mut Tx, id: &str) -> Result<Vec<Transition>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Transition>(
        "select version, from_status, to_status, at, actor, reason from approval_history where approval_id = $1 order by version")
        .bind(id).fetch_all(conn).await?))
}
