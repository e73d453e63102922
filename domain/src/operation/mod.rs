//! Operations: what the platform wants of a chain, and the truth about how far it is.

mod attention;
mod kind;
mod list;
mod many;
mod new;
mod page;
mod state;
mod stats;

use alloy_primitives::B256;
use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::types::Json;

pub use attention::{Attention, attention};
pub use list::{
    DAMAGED, LANE_FULL, by_batch, find, find_live, last_of_batch, unfinished_overdue, waiting_for, waiting_for_lane,
};
pub use many::{find_all, postpone_all, save_all, transition_all, versions};
pub use new::{NewOperation, NewStep, PATIENCE_SECONDS, insert, insert_all, key_spent};
pub use page::{COUNTED_MAX, Filter, count, list};
pub use state::{Move, Status, picture};
pub use stats::{oldest_at, percentile, stats, times_to_final};

use crate::column::{Dec, Hex};
use crate::db::{Tx, touched};
use crate::{Code, Error, Result, on};

crate::words! {
    /// What an operation does.
    Kind {
        /// Deploys the token of an offering, caps included.
        DeployToken = "deploy_token",
        /// Whitelists, mints and locks one page of holders.
        Mint = "mint",
        /// Freezes an address.
        Freeze = "freeze",
        /// Unfreezes it.
        Unfreeze = "unfreeze",
        /// Locks tokens.
        Lock = "lock",
        /// Releases them.
        Unlock = "unlock",
        /// Restricts a partition.
        RestrictPartition = "restrict_partition",
        /// Lifts the restriction.
        UnrestrictPartition = "unrestrict_partition",
        /// Moves tokens of a frozen holder.
        ForceTransfer = "force_transfer",
        /// Moves a lost wallet to a new one.
        Recover = "recover",
        /// Pays holders directly.
        Payout = "payout",
        /// Pays holders through the distributor.
        DistributorPayout = "distributor_payout",
        /// Declares an audit.
        AuditDeclaration = "audit_declaration",
    }
}

crate::words! {
    /// How a person closed an operation that the engine could not.
    Resolution {
        /// The effect was proved to be on the chain.
        ConfirmedExternal = "confirmed_external",
        /// It was given up, without effect.
        Abandoned = "abandoned",
    }
}

crate::words! {
    /// Where an operation failed.
    Stage {
        /// Before anything was signed.
        Preflight = "preflight",
        /// While it was sent.
        Broadcast = "broadcast",
        /// On the chain.
        Execution = "execution",
        /// On the chain, without the effect that it should have had.
        Effect = "effect",
        /// While it was followed.
        Tracking = "tracking",
    }
}

/// Why an operation is not where it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub stage: Stage,
    /// A stable code.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The revert's bytes, where there are any.
    pub data: Option<String>,
}

/// One row of `operations`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0003_operation.sql explains those that need it.
pub struct Operation {
    pub id: String,
    pub kind: Kind,
    pub status: Status,
    pub resolution: Option<Resolution>,
    pub subject_type: String,
    pub subject_id: String,
    pub offering_id: Option<String>,
    pub batch_id: Option<String>,
    pub batch_index: i64,
    pub chain_id: i64,
    pub lane_id: Option<String>,
    pub payload: Json<serde_json::Value>,
    pub payload_sha256: String,
    pub live_key: Option<String>,
    pub cycle: i64,
    pub faults: i64,
    pub next_action_at: Option<DateTime<Utc>>,
    pub blocked_reason: Option<String>,
    pub error_stage: Option<Stage>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub error_data: Option<String>,
    pub suggested_action: Option<Json<serde_json::Value>>,
    pub tx_hash: Option<Hex<B256>>,
    pub requested_by: String,
    pub request_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub max_fee_per_gas: Option<Dec<u128>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub confirmed_at: Option<DateTime<Utc>>,
    pub failed_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

impl Operation {
    /// Whether a person has to look at it.
    pub fn needs_attention(&self) -> bool {
        self.status.needs_person() && self.resolution.is_none()
    }

    /// Whether its payload is the one that was accepted.
    pub fn is_as_accepted(&self) -> bool {
        new::sha256(&self.payload.0) == self.payload_sha256
    }

    /// Sets or clears what is wrong.
    pub fn set_problem(&mut self, problem: Option<Problem>) {
        self.error_stage = problem.as_ref().map(|p| p.stage);
        self.error_code = problem.as_ref().map(|p| p.code.clone());
        self.error_message = problem.as_ref().map(|p| p.message.clone());
        self.error_data = problem.and_then(|p| p.data);
    }
}

/// Moves an operation, with its history and its event, if nobody moved it since it was read.
pub async fn transition(tx: &mut Tx, op: &mut Operation, by: Move, actor: &str, reason: &str) -> Result<()> {
    let from = step_on(op, by, tx.now())?;
    save(tx, op).await?;
    record(tx, op, Some(from), actor, reason).await
}

/// The move in memory: status, times and what a status leaves behind. Returns the status before.
fn step_on(op: &mut Operation, by: Move, now: DateTime<Utc>) -> Result<Status> {
    let from = op.status;
    let to = from.next(by).ok_or_else(|| {
        Error::refused(Code::InvalidState, format!("An operation that is {from} cannot take the move {by}."))
    })?;
    op.status = to;
    match to {
        Status::Submitted => op.submitted_at = Some(now),
        Status::Confirmed => {
            op.confirmed_at = Some(now);
            op.set_problem(None);
            op.suggested_action = None;
            op.live_key = None;
        }
        Status::Failed | Status::DeadLetter => op.failed_at = Some(now),
        Status::Pending => {}
    }
    if to != Status::Pending {
        op.blocked_reason = None;
    }
    if !to.is_live() {
        op.next_action_at = None;
    }
    Ok(from)
}

/// Writes the columns that move, guarded by the version that was read. A change without a transition leaves no history.
pub async fn save(tx: &mut Tx, op: &mut Operation) -> Result<()> {
    let read = op.version;
    op.version += 1;
    op.updated_at = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update operations set status = $3, resolution = $4, lane_id = $5, live_key = $6, cycle = $7, faults = $8, next_action_at = $9, \
         blocked_reason = $10, error_stage = $11, error_code = $12, error_message = $13, error_data = $14, suggested_action = $15, \
         tx_hash = $16, version = $17, submitted_at = $18, confirmed_at = $19, failed_at = $20, updated_at = $21, max_fee_per_gas = $22 \
         where id = $1 and version = $2")
        .bind(&op.id).bind(read).bind(op.status).bind(op.resolution).bind(&op.lane_id).bind(&op.live_key).bind(op.cycle)
        .bind(op.faults).bind(op.next_action_at).bind(&op.blocked_reason).bind(op.error_stage).bind(&op.error_code)
        .bind(&op.error_message).bind(&op.error_data).bind(&op.suggested_action).bind(op.tx_hash).bind(op.version)
        .bind(op.submitted_at).bind(op.confirmed_at).bind(op.failed_at).bind(op.updated_at).bind(op.max_fee_per_gas)
        .execute(conn).await?.rows_affected());
    touched(rows, "operation", &op.id)
}

/// Writes a person's resolution that leaves the status as it is, with a line of history.
pub async fn resolve(tx: &mut Tx, op: &mut Operation, actor: &str, reason: &str) -> Result<()> {
    save(tx, op).await?;
    record(tx, op, Some(op.status), actor, reason).await
}

async fn record(tx: &mut Tx, op: &Operation, from: Option<Status>, actor: &str, reason: &str) -> Result<()> {
    many::record_all(tx, &[many::Line { op, from, actor, reason: reason.to_owned() }]).await
}

/// What the event of a transition tells.
fn told(op: &Operation, from: Option<Status>) -> serde_json::Value {
    json!({ "from": from, "status": op.status, "type": op.kind, "subject": { "type": op.subject_type, "id": op.subject_id }, "offering_id": op.offering_id,
        "tx_hash": op.tx_hash.map(|h| h.to_string()), "error": op.error_code.as_ref().map(|code| json!({ "code": code })) })
}

/// One line of an operation's history.
#[derive(Clone, Debug, sqlx::FromRow, serde::Serialize)]
#[allow(missing_docs)]
pub struct Transition {
    pub version: i64,
    pub cycle: i64,
    #[serde(rename = "from")]
    pub from_status: Option<Status>,
    #[serde(rename = "to")]
    pub to_status: Status,
    pub at: DateTime<Utc>,
    pub actor: String,
    pub reason: String,
}

/// Everything that happened to an operation, oldest first.
pub async fn history(tx: &mut Tx, id: &str) -> Result<Vec<Transition>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Transition>(
        "select version, cycle, from_status, to_status, at, actor, reason from operation_history where operation_id = $1 order by version")
        .bind(id).fetch_all(conn).await?))
}
