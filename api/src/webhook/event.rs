//! `/v1/events`: what happened, for those who ask instead of being told; and the catalog of what there is to be told.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::event::Event;
use muniment_domain::event_scope;
use muniment_domain::event_type::{CATALOG, EventType};
use muniment_domain::webhook::API_VERSION;
use serde_json::{Value, json};

use super::owner;
use crate::app::App;
use crate::error::Result;
use crate::instant;
use crate::pages::Parameters;
use crate::principal::Principal;

/// `GET /v1/webhooks/event-types`: for everybody, so that a portal can be written before there is a contract.
pub async fn types(uri: Uri) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let item = |kind: &EventType| {
        let subject = kind.name.split('.').next().unwrap_or_default();
        let told: Vec<_> = [(true, "staff"), (kind.org, "organisation"), (kind.own, "investor")]
            .into_iter()
            .filter(|(told, _)| *told)
            .collect();
        json!({
            "type": kind.name, "description": kind.about, "audience": told.iter().map(|(_, who)| who).collect::<Vec<_>>(),
            "api_version": API_VERSION, "schema": schema(kind.name, subject),
        })
    };
    Ok(Json(json!({ "data": CATALOG.iter().map(item).collect::<Vec<_>>() })))
}

// What is sent, as JSON Schema. The data differ with what happened; they only ever gain fields.
fn schema(name: &str, subject: &str) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "required": ["id", "type", "timestamp", "api_version", "sequence", "subject", "data"],
        "properties": {
            "id": { "type": "string", "pattern": "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$" }, "type": { "const": name },
            "timestamp": { "type": "string", "format": "date-time" }, "api_version": { "const": API_VERSION },
            "sequence": { "type": "integer", "description": "The version of the subject: an older one can be dropped." },
            "subject": { "type": "object", "required": ["type", "id"], "properties": {
                "type": { "type": "string", "description": format!("What it is about: usually {subject}.") }, "id": { "type": "string" } } },
            "data": { "type": "object" },
        },
    })
}

/// `GET /v1/events`: oldest first. What is younger than a minute is shown and comes again behind `next_after`: know events by their ids.
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["type", "after", "limit"])?;
    let (limit, after) = (parameters.limit()?, parameters.id("after", "evt")?);
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let page = event_scope::page(&mut tx, &owner, parameters.text("type"), after.as_deref(), limit).await?;
    let data: Vec<_> = page.events.iter().map(shown).collect();
    Ok(Json(json!({ "data": data, "pagination": { "limit": limit, "next_after": page.next_after } })))
}

/// `GET /v1/events/{id}`.
pub async fn detail(State(app): State<App>, Path(id): Path<String>, principal: Principal) -> Result<Json<Value>> {
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    Ok(Json(shown(&event_scope::find(&mut tx, &owner, &id).await?)))
}

fn shown(event: &Event) -> Value {
    json!({
        "id": event.id, "type": event.name, "timestamp": instant::text(event.created_at), "api_version": API_VERSION,
        "sequence": event.sequence, "subject": { "type": event.subject_type, "id": event.subject_id }, "data": event.data.0,
    })
}
