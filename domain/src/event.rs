//! The outbox of events, written in the commit of the change itself. `event_type` is the catalog, with the readers of each kind
//! besides staff; `event_data` has the fields of each kind; `event_scope` finds the events that a caller may see.

use chrono::{DateTime, Utc};
use sqlx::types::Json;

use crate::db::Tx;
use crate::event_data;
use crate::id::EventId;
use crate::rows::portions;
use crate::sql::{insert_into, sql};
use crate::{Error, Result};

/// One event.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Event {
    pub id: EventId,
    #[sqlx(rename = "type")]
    pub name: String,
    pub subject_type: String,
    pub subject_id: String,
    /// The version of the subject, so that a reader can drop stale events.
    pub sequence: i64,
    pub data: Json<serde_json::Value>,
    pub created_at: DateTime<Utc>,
    /// Its place in the order of reading. None until it is fanned out.
    pub position: Option<i64>,
}

/// An event to write.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct New {
    pub name: String,
    pub subject_type: &'static str,
    pub subject_id: String,
    pub sequence: i64,
    pub data: serde_json::Value,
}

/// In a debug build, refuses data that differ from the fields of the kind: so every test of the platform checks its events.
fn check(name: &str, data: &serde_json::Value) -> Result<()> {
    match event_data::difference(name, data) {
        Some(why) if cfg!(debug_assertions) => Err(Error::Unreadable { what: "event", id: name.to_owned(), why }),
        _ => Ok(()),
    }
}

/// Writes events in this order.
pub async fn write_all(tx: &mut Tx, events: &[New]) -> Result<()> {
    let now = tx.now();
    if !events.is_empty() {
        tx.announce_after_commit();
    }
    for e in events {
        check(&e.name, &e.data)?;
        tx.recorder().record_event(&e.name, e.subject_type, &e.subject_id, &e.data);
    }
    for portion in portions(tx, events) {
        let ids: Vec<EventId> = portion.iter().map(|_| tx.new_id()).collect();
        sql("insert into events (id, type, subject_type, subject_id, sequence, data, created_at)")
            .values(portion.iter().zip(&ids), |(e, id)| {
                (id, &e.name, e.subject_type, &e.subject_id, e.sequence, Json(&e.data), now)
            })
            .write(tx)
            .await?;
    }
    Ok(())
}

/// Writes one event. Its data is small: ids, statuses and amounts, never personal data.
pub async fn write(
    tx: &mut Tx,
    name: &str,
    subject_type: &str,
    subject_id: &str,
    sequence: i64,
    data: serde_json::Value,
) -> Result<()> {
    write_with_id(tx, name, subject_type, subject_id, sequence, data).await.map(drop)
}

/// Writes one event and returns its id.
pub async fn write_with_id(
    tx: &mut Tx,
    name: &str,
    subject_type: &str,
    subject_id: &str,
    sequence: i64,
    data: serde_json::Value,
) -> Result<EventId> {
    check(name, &data)?;
    tx.announce_after_commit();
    let (id, now) = (tx.new_id(), tx.now());
    tx.recorder().record_event(name, subject_type, subject_id, &data);
    insert_into("events")
        .set("id", &id)
        .set("type", name)
        .set("subject_type", subject_type)
        .set("subject_id", subject_id)
        .set("sequence", sequence)
        .set("data", Json(data))
        .set("created_at", now)
        .execute(tx)
        .await?;
    Ok(id)
}

/// The position of the last event that is fanned out.
pub async fn last_position(tx: &mut Tx) -> Result<i64> {
    sql("select position from event_counters where id = 1").scalar(tx).await
}

/// A page of the events of a subject, oldest first, and their number.
pub async fn page_of_subject(tx: &mut Tx, subject_id: &str, limit: i64, offset: i64) -> Result<(Vec<Event>, i64)> {
    let rows = sql("select * from events where subject_id = $1 order by sequence, id limit $2 offset $3")
        .bind((subject_id, limit, offset))
        .rows::<Event>(tx)
        .await?;
    let total = sql("select count(*) from events where subject_id = $1").bind(subject_id).scalar::<i64>(tx).await?;
    Ok((rows, total))
}
