//! Commands: instructions of an operator for an operation that a worker carries out later, because they need a signer or a turn.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::id::{BulkId, CommandId, OperationId, of};
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result};

crate::words! {
    /// The kind of a command.
    Kind {
        /// A retry, as part of a bulk retry.
        Retry = "retry",
        /// A higher fee for a transaction in flight.
        SpeedUp = "speed_up",
        /// An empty transfer with the same nonce.
        Noop = "noop",
    }
}

/// One row of `commands`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Command {
    pub id: CommandId,
    pub operation_id: OperationId,
    pub kind: Kind,
    pub bulk_id: Option<BulkId>,
    pub position: i64,
    pub bump_percent: Option<i64>,
    pub actor: String,
    pub reason: String,
    pub due_at: DateTime<Utc>,
    pub done_at: Option<DateTime<Utc>>,
    pub outcome: Option<String>,
    pub detail: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// A command to store.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewCommand<'a> {
    pub operation_id: &'a OperationId,
    pub kind: Kind,
    pub bulk: Option<(&'a str, i64)>,
    pub bump_percent: Option<i64>,
    pub actor: &'a str,
    pub reason: &'a str,
    pub due_at: DateTime<Utc>,
}

/// Stores a command. It is refused if the same command is already open.
pub async fn insert(tx: &mut Tx, w: &NewCommand<'_>) -> Result<Command> {
    let (id, now) = (tx.new_id::<of::Command>(), tx.now());
    let (bulk_id, position) = w.bulk.map_or((None, 0), |(id, position)| (Some(id), position));
    insert_into("commands")
        .set("id", id)
        .set("operation_id", w.operation_id)
        .set("kind", w.kind)
        .set("bulk_id", bulk_id)
        .set("position", position)
        .set("bump_percent", w.bump_percent)
        .set("actor", w.actor)
        .set("reason", w.reason)
        .set("due_at", w.due_at)
        .set("created_at", now)
        .push(" on conflict do nothing returning *")
        .optional::<Command>(tx)
        .await?
        .ok_or_else(|| {
            let detail = format!("A {} of {} is already requested and not carried out yet.", w.kind, w.operation_id);
            Error::refused(Code::OperationInProgress, detail)
        })
}

/// One command.
pub async fn find(tx: &mut Tx, id: &CommandId) -> Result<Option<Command>> {
    sql("select * from commands where id = $1").bind(id).optional(tx).await
}

/// All commands for an operation, oldest first.
pub async fn of_operation(tx: &mut Tx, operation_id: &OperationId) -> Result<Vec<Command>> {
    sql("select * from commands where operation_id = $1 order by id").bind(operation_id).rows(tx).await
}

/// Open commands that are due, longest overdue first.
pub async fn due(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Command>> {
    sql("select * from commands where done_at is null and due_at <= $1 order by due_at, id limit $2")
        .bind((now, limit))
        .rows(tx)
        .await
}

/// Open commands of a bulk that are due, in order.
pub async fn due_of_bulk(tx: &mut Tx, bulk_id: &BulkId, now: DateTime<Utc>) -> Result<Vec<Command>> {
    sql("select * from commands where bulk_id = $1 and done_at is null and due_at <= $2 order by position")
        .bind((bulk_id, now))
        .rows(tx)
        .await
}

/// Whether an operation has an open command of this kind.
pub async fn is_open(tx: &mut Tx, operation_id: &OperationId, kind: Kind) -> Result<bool> {
    Ok(sql("select count(*) from commands where operation_id = $1 and kind = $2 and done_at is null")
        .bind((operation_id, kind))
        .scalar::<i64>(tx)
        .await?
        > 0)
}

/// Records, in the commit of the action, that the command was carried out, by whichever worker.
pub async fn complete(tx: &mut Tx, operation_id: &OperationId, kind: Kind, outcome: &str) -> Result<()> {
    let now = tx.now();
    sql("update commands set done_at = $3, outcome = $4 where operation_id = $1 and kind = $2 and done_at is null")
        .bind((operation_id, kind, now, outcome))
        .execute(tx)
        .await?;
    Ok(())
}

/// Records why a command was not carried out. A command that was carried out meanwhile stays so.
pub async fn reject(tx: &mut Tx, id: &CommandId, code: &str, detail: &str) -> Result<()> {
    let now = tx.now();
    sql("update commands set done_at = $2, outcome = $3, detail = $4 where id = $1 and done_at is null")
        .bind((id, now, code, detail))
        .execute(tx)
        .await?;
    Ok(())
}

/// Postpones a command, because something it needs is unavailable.
pub async fn postpone(tx: &mut Tx, id: &CommandId, due_at: DateTime<Utc>, detail: Option<&str>) -> Result<()> {
    sql("update commands set due_at = $2, detail = coalesce($3, detail) where id = $1 and done_at is null")
        .bind((id, due_at, detail))
        .execute(tx)
        .await?;
    Ok(())
}
