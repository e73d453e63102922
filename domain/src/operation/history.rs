//! The history of operations: one entry a move, written together with the event of the move.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Kind, Operation, Status};
use crate::db::Tx;
use crate::id::OperationId;
use crate::rows::portions;
use crate::sql::sql;
use crate::{Result, event};

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
pub async fn history(tx: &mut Tx, id: &OperationId) -> Result<Vec<Transition>> {
    sql("select version, cycle, from_status, to_status, at, actor, reason from operation_history
         where operation_id = $1 order by version")
    .bind(id)
    .rows(tx)
    .await
}

/// An entry of an operation's history, to be written.
pub(super) struct Line<'a> {
    /// The operation after the change.
    pub op: &'a Operation,
    /// The status before; none for a new operation.
    pub from: Option<Status>,
    /// Who made the change.
    pub actor: &'a str,
    /// The reason.
    pub reason: String,
}

/// Writes entries of the history, and an event for each.
pub(super) async fn record_all(tx: &mut Tx, lines: &[Line<'_>]) -> Result<()> {
    let now = tx.now();
    for portion in portions(tx, lines) {
        sql("insert into operation_history (operation_id, version, cycle, from_status, to_status, at, actor, reason)")
            .values(portion, |Line { op, from, actor, reason }| {
                (&op.id, op.version, op.cycle, *from, op.status, now, *actor, reason)
            })
            .write(tx)
            .await?;
    }
    let event = |Line { op, from, .. }: &Line<'_>| event::New {
        name: format!("operation.{}", op.status),
        subject_type: "operation",
        subject_id: op.id.to_string(),
        sequence: op.version,
        data: event_data(op, *from),
    };
    let mut events: Vec<_> = lines.iter().map(event).collect();
    for line in lines {
        events.extend(failed_deployment(tx, line).await?);
    }
    event::write_all(tx, &events).await
}

/// The event of an offering whose token could not be deployed.
async fn failed_deployment(tx: &mut Tx, Line { op, from, .. }: &Line<'_>) -> Result<Option<event::New>> {
    let has_failed = matches!(op.status, Status::Failed | Status::DeadLetter) && *from != Some(op.status);
    let (Kind::DeployToken, true, Some(offering)) = (op.kind, has_failed, &op.offering_id) else { return Ok(None) };
    let version = sql("select version from offerings where id = $1").bind(offering).optional_scalar::<i64>(tx).await?;
    Ok(version.map(|version| event::New {
        name: "offering.token_deployment_failed".to_owned(),
        subject_type: "offering",
        subject_id: offering.to_string(),
        sequence: version,
        data: json!({ "operation_id": op.id, "error": error(op) }),
    }))
}

/// The error as events show it.
fn error(op: &Operation) -> Option<serde_json::Value> {
    op.error_code.as_ref().map(|code| json!({ "code": code }))
}

/// The data of an event.
fn event_data(op: &Operation, from: Option<Status>) -> serde_json::Value {
    json!({ "from": from, "status": op.status, "type": op.kind, "subject": { "type": op.subject_type, "id": op.subject_id }, "offering_id": op.offering_id,
        "tx_hash": op.tx_hash.map(|h| h.to_string()), "error": error(op) })
}
