//! The outbox: what happened, written with the change itself.

use chrono::{DateTime, Utc};
use sqlx::types::Json;

use crate::db::Tx;
use crate::rows::portions;
use crate::{Result, on};

/// One event.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Event {
    pub id: String,
    #[sqlx(rename = "type")]
    pub name: String,
    pub subject_type: String,
    pub subject_id: String,
    /// The subject's version, so that a reader can drop what is stale.
    pub sequence: i64,
    pub data: Json<serde_json::Value>,
    pub created_at: DateTime<Utc>,
}

/// What happened, before it is written.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New {
    pub name: String,
    pub subject_type: &'static str,
    pub subject_id: String,
    pub sequence: i64,
    pub data: serde_json::Value,
}

/// Writes events in their order.
pub async fn write_all(tx: &mut Tx, events: &[New]) -> Result<()> {
    let now = tx.now();
    for e in events {
        tx.doing().note(&e.name, e.subject_type, &e.subject_id, &e.data);
    }
    for portion in portions(events) {
        let ids: Vec<String> = portion.iter().map(|_| tx.new_id("evt")).collect();
        on!(tx, conn => {
            let mut query =
                sqlx::QueryBuilder::new("insert into events (id, type, subject_type, subject_id, sequence, data, created_at) ");
            query.push_values(portion.iter().zip(&ids), |mut row, (e, id)| {
                row.push_bind(id).push_bind(&e.name).push_bind(e.subject_type).push_bind(&e.subject_id).push_bind(e.sequence)
                    .push_bind(Json(&e.data)).push_bind(now);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(())
}

/// Writes an event. Payloads are thin: ids, statuses, amounts, never a person's data.
pub async fn write(
    tx: &mut Tx,
    name: &str,
    subject_type: &str,
    subject_id: &str,
    sequence: i64,
    data: serde_json::Value,
) -> Result<()> {
    let (id, now) = (tx.new_id("evt"), tx.now());
    tx.doing().note(name, subject_type, subject_id, &data);
    on!(tx, conn => sqlx::query(
        "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) values ($1, $2, $3, $4, $5, $6, $7)")
        .bind(id).bind(name).bind(subject_type).bind(subject_id).bind(sequence).bind(Json(data)).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// A page of what was told about a subject, oldest first, and how much it is.
pub async fn page_of_subject(tx: &mut Tx, subject_id: &str, limit: i64, offset: i64) -> Result<(Vec<Event>, i64)> {
    let rows = on!(tx, conn => sqlx::query_as::<_, Event>(
        "select * from events where subject_id = $1 order by sequence, id limit $2 offset $3")
        .bind(subject_id).bind(limit).bind(offset).fetch_all(conn).await?);
    let total = on!(tx, conn => sqlx::query_scalar::<_, i64>("select count(*) from events where subject_id = $1")
        .bind(subject_id).fetch_one(conn).await?);
    Ok((rows, total))
}
