//! Timers: when a subject has to be looked at next. The row is the truth; a wake only makes it punctual.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::{Result, on};

/// Sets the next time of a subject, or none.
pub async fn set(tx: &mut Tx, subject_id: &str, due_at: Option<DateTime<Utc>>) -> Result<()> {
    on!(tx, conn => match due_at {
        Some(at) => sqlx::query(
            "insert into timers (subject_id, due_at) values ($1, $2) on conflict (subject_id) do update set due_at = excluded.due_at")
            .bind(subject_id).bind(at).execute(conn).await?.rows_affected(),
        None => sqlx::query("delete from timers where subject_id = $1").bind(subject_id).execute(conn).await?.rows_affected(),
    });
    Ok(())
}

/// When a subject is due, held until the commit: of two that ring it at once the second waits, and finds the next time.
pub async fn hold(tx: &mut Tx, subject_id: &str) -> Result<Option<DateTime<Utc>>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, DateTime<Utc>>(
        "update timers set due_at = due_at where subject_id = $1 returning due_at").bind(subject_id).fetch_optional(conn).await?))
}

/// The subjects whose time has come, the longest overdue first.
pub async fn due(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select subject_id from timers where due_at <= $1 order by due_at, subject_id limit $2")
        .bind(now).bind(limit).fetch_all(conn).await?))
}

/// Lets a subject be looked at with the next sweep: something about it changed. A time that has come already stays.
pub async fn hasten(tx: &mut Tx, subject_id: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into timers (subject_id, due_at) values ($1, $2) on conflict (subject_id) do update set due_at = excluded.due_at \
         where timers.due_at > excluded.due_at")
        .bind(subject_id).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}
