//! The bytes of an event as receivers get them.

use std::collections::HashMap;

use chrono::SecondsFormat;
use serde::Serialize;
use serde_json::{Value, json};

use crate::db::Tx;
use crate::event::Event;
use crate::event_data;
use crate::event_subject::Subject;
use crate::rows::portions;
use crate::sql::sql;
use crate::webhook::API_VERSION;
use crate::{Error, Result};

/// The body of a request to an endpoint, in the order of its fields.
#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    name: &'a str,
    timestamp: String,
    api_version: &'a str,
    sequence: i64,
    data: Value,
}

/// The data of an event as receivers get them: with the ids of its subject and of what that belongs to, without the fields that are
/// never sent.
pub fn data(event: &Event, subject: Option<&Subject>) -> Value {
    let mut data = event.data.0.clone();
    let Value::Object(fields) = &mut data else { return data };
    fields.retain(|name, _| !event_data::is_internal(&event.name, name));
    fields.entry(format!("{}_id", event.subject_type)).or_insert_with(|| json!(event.subject_id));
    if let Some(offering) = subject.and_then(|subject| subject.offering_id.as_ref()) {
        fields.entry("offering_id").or_insert_with(|| json!(offering));
    }
    if subject.is_some() && event.subject_type == "operation" {
        // Some operations concern no offering.
        fields.entry("offering_id").or_insert(Value::Null);
    }
    if let Some(distribution) = subject.and_then(|subject| subject.part_of.as_ref()) {
        fields.entry("distribution_id").or_insert_with(|| json!(distribution));
    }
    data
}

/// The body of the request that sends an event.
pub fn body(event: &Event, subject: Option<&Subject>) -> Result<String> {
    let message = Message {
        id: &event.id,
        name: &event.name,
        timestamp: event.created_at.to_rfc3339_opts(SecondsFormat::Millis, true),
        api_version: API_VERSION,
        sequence: event.sequence,
        data: data(event, subject),
    };
    let unreadable =
        |e: serde_json::Error| Error::Unreadable { what: "event", id: event.id.to_string(), why: e.to_string() };
    serde_json::to_string(&message).map_err(unreadable)
}

/// Stores the bytes of events that have none yet. What is stored once is never written again.
pub(super) async fn store(tx: &mut Tx, events: &[&Event], subjects: &HashMap<String, Subject>) -> Result<()> {
    let now = tx.now();
    let bodies = events.iter().map(|event| Ok((&event.id, body(event, subjects.get(&event.subject_id))?)));
    let bodies = bodies.collect::<Result<Vec<_>>>()?;
    for portion in portions(tx, &bodies) {
        sql("insert into webhook_messages (event_id, body, created_at)")
            .values(portion, |(id, body)| (*id, body, now))
            .push(" on conflict (event_id) do nothing")
            .execute(tx)
            .await?;
    }
    Ok(())
}
