//! Operations: durable requests for one effect on a chain, with their present state.

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
    WAITS_FOR_LANE, by_batch, find, find_live, find_same_call, last_of_batch, unfinished_overdue, waiting_for,
    waiting_for_lane,
};
pub use many::{find_all, postpone_all, save_all, transition_all, versions};
pub use new::{NewOperation, NewStep, WAKE_AGAIN_SECONDS, find_by_key, insert, insert_all};
pub use page::{Filter, count, list};
pub use state::{Move, Status, picture};
pub use stats::{oldest_at, percentile, stats, times_to_final};

use crate::column::{Dec, Hex};
use crate::db::{Tx, expect_updated};
use crate::sql::{sql, update_table};
pub use crate::step::UNREADABLE;
use crate::{Code, Error, Result};

crate::words! {
    /// The kind of an operation.
    Kind {
        /// Deploys the token of an offering with its caps.
        DeployToken = "deploy_token",
        /// Whitelists, mints and locks for one page of holders.
        Mint = "mint",
        /// Freezes an address.
        Freeze = "freeze",
        /// Unfreezes an address.
        Unfreeze = "unfreeze",
        /// Locks units of a holder.
        Lock = "lock",
        /// Removes expired locks.
        Unlock = "unlock",
        /// Restricts a partition.
        RestrictPartition = "restrict_partition",
        /// Lifts the restriction of a partition.
        UnrestrictPartition = "unrestrict_partition",
        /// Moves units of a frozen holder.
        ForceTransfer = "force_transfer",
        /// Moves a lost wallet to a replacement.
        Recover = "recover",
        /// Pays holders directly.
        Payout = "payout",
        /// Pays holders through the distributor contract.
        DistributorPayout = "distributor_payout",
        /// Declares the hash of an audit report.
        AuditDeclaration = "audit_declaration",
    }
}

crate::words! {
    /// How an operator closed an operation that the engine could not finish.
    Resolution {
        /// The effect was proved to be on the chain.
        ConfirmedExternal = "confirmed_external",
        /// Abandoned without effect.
        Abandoned = "abandoned",
    }
}

crate::words! {
    /// The stage at which an operation failed.
    Stage {
        /// Before it was signed.
        Preflight = "preflight",
        /// During the broadcast.
        Broadcast = "broadcast",
        /// During execution on the chain.
        Execution = "execution",
        /// After a successful execution without the expected effect.
        Effect = "effect",
        /// While it was followed.
        Tracking = "tracking",
    }
}

/// The problem of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The stage.
    pub stage: Stage,
    /// A stable code.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The revert data, if any.
    pub data: Option<String>,
}

/// One row of `operations`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0004_operation.sql explains those that need it.
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
    /// Whether an operator must act.
    pub fn needs_attention(&self) -> bool {
        self.status.needs_operator() && self.resolution.is_none()
    }

    /// Whether the payload still has the hash with which it was accepted.
    pub fn has_accepted_payload(&self) -> bool {
        new::sha256(&self.payload.0) == self.payload_sha256
    }

    /// Sets or clears the problem.
    pub fn set_problem(&mut self, problem: Option<Problem>) {
        self.error_stage = problem.as_ref().map(|p| p.stage);
        self.error_code = problem.as_ref().map(|p| p.code.clone());
        self.error_message = problem.as_ref().map(|p| p.message.clone());
        self.error_data = problem.and_then(|p| p.data);
    }
}

/// Moves an operation and writes its history and event, unless the row has changed since it was read.
pub async fn transition(tx: &mut Tx, op: &mut Operation, by: Move, actor: &str, reason: &str) -> Result<()> {
    let from = step_on(op, by, tx.now())?;
    save(tx, op).await?;
    record(tx, op, Some(from), actor, reason).await
}

/// Applies a move in memory: status, times and cleared fields. Returns the status before.
fn step_on(op: &mut Operation, by: Move, now: DateTime<Utc>) -> Result<Status> {
    let from = op.status;
    let to = from.next(by).ok_or_else(|| {
        Error::refused(Code::InvalidState, format!("The operation is {from}; the move {by} is not allowed."))
    })?;
    op.status = to;
    match to {
        Status::Submitted => op.submitted_at = Some(now),
        // The live key is free again: the subject can have a new operation.
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
    // Only live operations are woken.
    if !to.is_live() {
        op.next_action_at = None;
    }
    Ok(from)
}

/// Writes the changed columns if the version is still the one that was read. Without a move there is no history.
pub async fn save(tx: &mut Tx, op: &mut Operation) -> Result<()> {
    let read = op.version;
    op.version += 1;
    op.updated_at = tx.now();
    let rows = update_table("operations")
        .set("status", op.status)
        .set("resolution", op.resolution)
        .set("lane_id", &op.lane_id)
        .set("live_key", &op.live_key)
        .set("cycle", op.cycle)
        .set("faults", op.faults)
        .set("next_action_at", op.next_action_at)
        .set("blocked_reason", &op.blocked_reason)
        .set("error_stage", op.error_stage)
        .set("error_code", &op.error_code)
        .set("error_message", &op.error_message)
        .set("error_data", &op.error_data)
        .set("suggested_action", &op.suggested_action)
        .set("tx_hash", op.tx_hash)
        .set("version", op.version)
        .set("submitted_at", op.submitted_at)
        .set("confirmed_at", op.confirmed_at)
        .set("failed_at", op.failed_at)
        .set("updated_at", op.updated_at)
        .set("max_fee_per_gas", op.max_fee_per_gas)
        .with(" where id = ", &op.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "operation", &op.id)
}

/// Writes an operator's resolution, which leaves the status unchanged, with an entry in the history.
pub async fn resolve(tx: &mut Tx, op: &mut Operation, actor: &str, reason: &str) -> Result<()> {
    save(tx, op).await?;
    record(tx, op, Some(op.status), actor, reason).await
}

async fn record(tx: &mut Tx, op: &Operation, from: Option<Status>, actor: &str, reason: &str) -> Result<()> {
    many::record_all(tx, &[many::Line { op, from, actor, reason: reason.to_owned() }]).await
}

/// The data of an event.
fn event_data(op: &Operation, from: Option<Status>) -> serde_json::Value {
    json!({ "from": from, "status": op.status, "type": op.kind, "subject": { "type": op.subject_type, "id": op.subject_id }, "offering_id": op.offering_id,
        "tx_hash": op.tx_hash.map(|h| h.to_string()), "error": op.error_code.as_ref().map(|code| json!({ "code": code })) })
}

/// One entry of an operation's history.
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

/// The history of an operation, oldest first.
pub async fn history(tx: &mut Tx, id: &str) -> Result<Vec<Transition>> {
    sql("select version, cycle, from_status, to_status, at, actor, reason from operation_history
         where operation_id = $1 order by version")
    .bind(id)
    .rows(tx)
    .await
}
