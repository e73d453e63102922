//! `/v1/events`: events for callers who poll instead of receiving webhooks, and the list of event types.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::IntoResponse;
use chrono::{DateTime, Utc};
use muniment_domain::event::Event;
use muniment_domain::event_scope::{self, Filter};
use muniment_domain::event_type::{CATALOG, EventType};
use muniment_domain::webhook::API_VERSION;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::owner;
use crate::access::principal::Principal;
use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::{Page, Parameters, Place};

/// The list of event types.
#[derive(Serialize, ToSchema)]
#[schema(as = EventCatalog)]
pub struct Catalog {
    data: Vec<Described>,
}

/// An event type.
#[derive(Serialize, ToSchema)]
#[schema(as = EventType)]
struct Described {
    #[serde(rename = "type")]
    #[schema(example = "subscription.minted")]
    kind: &'static str,
    #[schema(example = "The tokens are the investor's.")]
    description: &'static str,
    /// The receivers: `staff`, `organisation` or `investor`.
    #[schema(example = json!(["staff", "organisation", "investor"]))]
    audience: Vec<&'static str>,
    #[schema(example = "2026-11-01")]
    api_version: &'static str,
    /// The JSON Schema of the event's data.
    #[schema(value_type = Object, example = json!({ "type": "object" }))]
    schema: Value,
}

/// List the event types.
#[utoipa::path(
    get,
    path = "/v1/webhooks/event-types",
    responses((status = 200, body = Catalog)),
    extensions(("x-codes" = json!(["invalid_parameter", "unknown_parameter"]))),
)]
pub async fn types(uri: Uri) -> Result<impl IntoResponse> {
    Parameters::read(&uri, &[])?;
    let item = |kind: &EventType| {
        let subject = kind.name.split('.').next().unwrap_or_default();
        let told = [(true, "staff"), (kind.for_issuer, "organisation"), (kind.for_investor, "investor")].into_iter();
        Described {
            kind: kind.name,
            description: kind.about,
            audience: told.filter(|(told, _)| *told).map(|(_, who)| who).collect(),
            api_version: API_VERSION,
            schema: schema(kind.name, subject),
        }
    };
    let kept = [(header::CACHE_CONTROL, "public, max-age=300")];
    Ok((kept, Json(Catalog { data: CATALOG.iter().map(item).collect() })))
}

// The JSON Schema of an event. The data depend on the type, and only ever gain fields.
fn schema(name: &str, subject: &str) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "required": ["id", "type", "timestamp", "api_version", "sequence", "subject", "data"],
        "properties": {
            "id": { "type": "string", "pattern": "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$" }, "type": { "const": name },
            "timestamp": { "type": "string", "format": "date-time" }, "api_version": { "const": API_VERSION },
            "sequence": { "type": "integer", "description": "The version of the subject: an older one can be dropped." },
            "subject": { "type": "object", "required": ["type", "id"], "properties": {
                "type": { "type": "string", "description": format!("The subject, usually {subject}.") }, "id": { "type": "string" } } },
            "data": { "type": "object" },
        },
    })
}

/// The parameters of the list of events.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One kind.
    #[param(rename = "type", example = "subscription.minted")]
    kind: Option<String>,
    /// Only events at or after this time.
    created_from: Option<DateTime<Utc>>,
    /// Only events at or before this time.
    created_to: Option<DateTime<Utc>>,
    /// The id after which the page starts: `next_after` of the previous page.
    #[param(pattern = "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
    /// The number of items on a page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
}

/// An event.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventView {
    #[schema(example = "evt_01jc8yq3k5e9v8w2m4n6p7r9st")]
    id: String,
    #[serde(rename = "type")]
    #[schema(example = "subscription.minted")]
    kind: String,
    /// When the event happened.
    timestamp: Instant,
    #[schema(example = "2026-11-01")]
    api_version: &'static str,
    /// The version of the subject. Ignore an event that is older than one you have.
    sequence: i64,
    subject: Subject,
    /// The data of the event. It depends on the type, and only ever gains fields.
    #[schema(value_type = Object, example = json!({ "status": "minted" }))]
    data: Value,
}

/// The subject of an event.
#[derive(Serialize, ToSchema)]
#[schema(as = EventSubject)]
struct Subject {
    #[serde(rename = "type")]
    #[schema(example = "subscription")]
    kind: String,
    #[schema(example = "sub_01jc8yq3k5e9v8w2m4n6p7r9st")]
    id: String,
}

/// A page of events.
#[derive(Serialize, ToSchema)]
#[schema(as = Events)]
pub struct Listed {
    data: Vec<EventView>,
    pagination: Place,
}

/// List events, oldest first.
///
/// Events of the last minute can appear again after `next_after`; identify events by their id.
#[utoipa::path(
    get,
    path = "/v1/events",
    params(Filters),
    responses((status = 200, body = Listed)),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<Listed>> {
    let parameters = Parameters::read(&uri, &["type", "after", "limit", "created_from", "created_to"])?;
    let (limit, after) = (parameters.limit()?, parameters.id("after", "evt")?);
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let filter = Filter { kind: parameters.text("type"), created: parameters.created()?, after: after.as_deref() };
    let found = event_scope::page(&mut tx, &owner, &filter, limit).await?;
    let pagination = Place::after(Page { number: 1, limit }, found.next_after);
    Ok(Json(Listed { data: found.events.into_iter().map(shown).collect(), pagination }))
}

/// Read an event.
#[utoipa::path(
    get,
    path = "/v1/events/{id}",
    responses((status = 200, body = EventView)),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<String>, principal: Principal) -> Result<Json<EventView>> {
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    Ok(Json(shown(event_scope::find(&mut tx, &owner, &id).await?)))
}

/// As answers show it.
pub fn shown(event: Event) -> EventView {
    EventView {
        id: event.id,
        kind: event.name,
        timestamp: Instant(event.created_at),
        api_version: API_VERSION,
        sequence: event.sequence,
        subject: Subject { kind: event.subject_type, id: event.subject_id },
        data: event.data.0,
    }
}
