//! The history of operations: one entry a move, written together with the event of the move.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Operation, Status};
use crate::db::Tx;
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
pub async fn history(tx: &mut Tx, id: &str) -> Result<Vec<Transition>> {
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
    for portion in portions(lines) {
        sql("insert into operation_history (operation_id, version, cycle, from_status, to_status, at, actor, reason)")
            .values(portion, |Line { op, from, actor, reason }| {
                (&op.id, op.version, op.cycle, *from, op.status, now, *actor, reason)
            })
            .execute(tx)
            .await?;
    }
    let event = |Line { op, from, .. }: &Line<'_>| event::New {
        name: format!("operation.{}", op.status),
        subject_type: "operation",
        subject_id: op.id.clone(),
        sequence: op.version,
        data: event_data(op, *from),
    };
    event::write_all(tx, &lines.iter().map(event).collect::<Vec<_>>()).await
}

/// The data of an event.
fn event_data(op: &Operation, from: Option<Status>) -> serde_json::Value {
    json!({ "from": from, "status": op.status, "type": op.kind, "subject": { "type": op.subject_type, "id": op.subject_id }, "offering_id": op.offering_id,
        "tx_hash": op.tx_hash.map(|h| h.to_string()), "error": op.error_code.as_ref().map(|code| json!({ "code": code })) })
}
