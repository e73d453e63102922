//! Timers: when a subject is due next. The row is the truth; a wake only makes it punctual.

use chrono::{DateTime, Utc};

use crate::Result;
use crate::db::Tx;
use crate::sql::sql;

/// Sets or clears the due time of a subject.
pub async fn set(tx: &mut Tx, subject_id: &str, due_at: Option<DateTime<Utc>>) -> Result<()> {
    let change = match due_at {
        Some(at) => sql("insert into timers (subject_id, due_at) values ($1, $2)
             on conflict (subject_id) do update set due_at = excluded.due_at")
        .bind((subject_id, at)),
        None => sql("delete from timers where subject_id = $1").bind(subject_id),
    };
    change.execute(tx).await?;
    Ok(())
}

/// The due time of a subject, locked until the commit. A parallel worker waits and then sees the next due time.
pub async fn lock_row(tx: &mut Tx, subject_id: &str) -> Result<Option<DateTime<Utc>>> {
    sql("update timers set due_at = due_at where subject_id = $1 returning due_at")
        .bind(subject_id)
        .optional_scalar(tx)
        .await
}

/// Subjects that are due, longest overdue first.
pub async fn due(tx: &mut Tx, now: DateTime<Utc>, limit: i64) -> Result<Vec<String>> {
    sql("select subject_id from timers where due_at <= $1 order by due_at, subject_id limit $2")
        .bind((now, limit))
        .scalars(tx)
        .await
}

/// Makes a subject due now, because something about it changed. An earlier due time stays.
pub async fn make_due(tx: &mut Tx, subject_id: &str) -> Result<()> {
    let now = tx.now();
    sql("insert into timers (subject_id, due_at) values ($1, $2)
         on conflict (subject_id) do update set due_at = excluded.due_at
         where timers.due_at > excluded.due_at")
    .bind((subject_id, now))
    .execute(tx)
    .await?;
    Ok(())
}
