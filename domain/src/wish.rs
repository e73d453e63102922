//! Wishes: what a person asked of an operation that a request cannot do itself, because it needs a key or takes its turn.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::{Code, Error, Result, on};

crate::words! {
    /// What is wished for.
    Kind {
        /// A retry, as one of many.
        Retry = "retry",
        /// A higher fee for what is on its way.
        SpeedUp = "speed_up",
        /// A transfer of nothing on its nonce.
        Noop = "noop",
    }
}

/// One row of `commands`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Wish {
    pub id: String,
    pub operation_id: String,
    pub kind: Kind,
    pub bulk_id: Option<String>,
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

/// A wish to be stored.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewWish<'a> {
    pub operation_id: &'a str,
    pub kind: Kind,
    pub bulk: Option<(&'a str, i64)>,
    pub bump_percent: Option<i64>,
    pub actor: &'a str,
    pub reason: &'a str,
    pub due_at: DateTime<Utc>,
}

/// Stores a wish. The same one, still open, refuses it.
pub async fn insert(tx: &mut Tx, w: &NewWish<'_>) -> Result<Wish> {
    let (id, now) = (tx.new_id("cmd"), tx.now());
    let (bulk_id, position) = w.bulk.map_or((None, 0), |(id, position)| (Some(id), position));
    on!(tx, conn => sqlx::query_as::<_, Wish>(
        "insert into commands (id, operation_id, kind, bulk_id, position, bump_percent, actor, reason, due_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing returning *")
        .bind(id).bind(w.operation_id).bind(w.kind).bind(bulk_id).bind(position).bind(w.bump_percent).bind(w.actor).bind(w.reason)
        .bind(w.due_at).bind(now).fetch_optional(conn).await?)
    .ok_or_else(|| {
        let detail = format!("A {} of {} was asked for and is still to be carried out.", w.kind, w.operation_id);
        Error::refused(Code::OperationInProgress, detail)
    })
}

/// One wish.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Wish>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Wish>("select * from commands where id = $1").bind(id).fetch_optional(conn).await?),
    )
}

/// Everything that was wished of an operation, oldest first.
pub async fn of_operation(tx: &mut Tx, operation_id: &str) -> Result<Vec<Wish>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Wish>("select * from commands where operation_id = $1 order by id")
        .bind(operation_id).fetch_all(conn).await?))
}

/// Open wishes whose time has come, the longest overdue first.
pub async fn due(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<Wish>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Wish>(
        "select * from commands where done_at is null and due_at <= $1 order by due_at, id limit $2")
        .bind(now).bind(limit).fetch_all(conn).await?))
}

/// The open wishes of a bulk whose time has come, in their order.
pub async fn due_of_bulk(tx: &mut Tx, bulk_id: &str, now: DateTime<Utc>) -> Result<Vec<Wish>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Wish>(
        "select * from commands where bulk_id = $1 and done_at is null and due_at <= $2 order by position")
        .bind(bulk_id).bind(now).fetch_all(conn).await?))
}

/// Whether such a wish for an operation is open.
pub async fn is_open(tx: &mut Tx, operation_id: &str, kind: Kind) -> Result<bool> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from commands where operation_id = $1 and kind = $2 and done_at is null")
        .bind(operation_id).bind(kind).fetch_one(conn).await?)
        > 0)
}

/// Notes, in the commit of the act, that what was wished for was done: it does not matter who did it.
pub async fn fulfil(tx: &mut Tx, operation_id: &str, kind: Kind, outcome: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "update commands set done_at = $3, outcome = $4 where operation_id = $1 and kind = $2 and done_at is null")
        .bind(operation_id).bind(kind).bind(now).bind(outcome).execute(conn).await?.rows_affected());
    Ok(())
}

/// Notes why a wish was not carried out. One that was fulfilled meanwhile stays so.
pub async fn refuse(tx: &mut Tx, id: &str, code: &str, detail: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query("update commands set done_at = $2, outcome = $3, detail = $4 where id = $1 and done_at is null")
        .bind(id).bind(now).bind(code).bind(detail).execute(conn).await?.rows_affected());
    Ok(())
}

/// Puts a wish off: what it needs is away.
pub async fn postpone(tx: &mut Tx, id: &str, due_at: DateTime<Utc>, detail: Option<&str>) -> Result<()> {
    on!(tx, conn => sqlx::query("update commands set due_at = $2, detail = coalesce($3, detail) where id = $1 and done_at is null")
        .bind(id).bind(due_at).bind(detail).execute(conn).await?.rows_affected());
    Ok(())
}
