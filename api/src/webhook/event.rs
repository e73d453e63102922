//! `/v1/events`: events for callers who poll instead of receiving webhooks, and the list of event types.

use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::delivery::message;
use muniment_domain::event::Event;
use muniment_domain::event_data;
use muniment_domain::event_scope::{self, Filter};
use muniment_domain::event_subject;
use muniment_domain::event_type::{CATALOG, EventType};
use muniment_domain::id::EventId;
use muniment_domain::webhook::API_VERSION;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant as Moment;
use utoipa::{IntoParams, ToSchema};

use super::event_name::EventName;
use super::owner;
use super::stream;
use super::waiter::Waiter;
use crate::access::principal::Principal;
use crate::access::route::Route;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{Page, Parameters, Place};
use crate::pulse::{Pulse, Watch};

/// The longest wait of a long poll.
pub const WAIT_SECONDS_MAX: u64 = 25;

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
    /// The receivers: `staff`, `organisation`, `investor`, or `members`, which are all investors if the offering is listed.
    #[schema(example = json!(["staff", "organisation", "investor"]))]
    audience: Vec<&'static str>,
    #[schema(example = "2026-11-01")]
    api_version: &'static str,
    /// The JSON Schema of the body that endpoints get, with the fields of its data.
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
        let investor = (kind.for_investor, "investor");
        let told = [(true, "staff"), (kind.for_issuer, "organisation"), investor, (kind.for_members, "members")];
        let told = told.into_iter();
        Described {
            kind: kind.name,
            description: kind.about,
            audience: told.filter(|(told, _)| *told).map(|(_, who)| who).collect(),
            api_version: API_VERSION,
            schema: schema(kind.name),
        }
    };
    let kept = [(header::CACHE_CONTROL, "public, max-age=300")];
    Ok((kept, Json(Catalog { data: CATALOG.iter().map(item).collect() })))
}

// The JSON Schema of the body that endpoints get. The data depend on the type, and only ever gain fields.
fn schema(name: &str) -> Value {
    let mut data = event_data::schema(name);
    data["description"] = json!("The new state, with the id of the subject.");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "required": ["id", "type", "timestamp", "api_version", "sequence", "data"],
        "properties": {
            "id": { "type": "string", "pattern": "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$" }, "type": { "const": name },
            "timestamp": { "type": "string", "format": "date-time" }, "api_version": { "const": API_VERSION },
            "sequence": { "type": "integer", "description": "The version of the subject: an older one can be dropped." },
            "data": data,
        },
    })
}

/// The parameters of the list of events.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One type of the catalog, without wildcards.
    #[param(inline, rename = "type", example = "subscription.minted")]
    kind: Option<EventName>,
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
    /// How many seconds to wait for an event if there is none. The first event ends the wait; without one, the page is empty.
    #[param(minimum = 1, maximum = 25, example = 1)]
    wait: Option<i64>,
}

/// An event.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventView {
    pub(super) id: EventId,
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
/// To read each event once, continue after `next_after`. With `wait` it is a long poll. With `Accept: text/event-stream` it is a stream of
/// server-sent events that begins with the next event, or after `Last-Event-ID`: each message is an event, and its id is that of the event. A
/// stream takes the parameters `type` and `after` only.
#[utoipa::path(
    get,
    path = "/v1/events",
    params(
        Filters,
        ("Last-Event-ID" = Option<String>, Header, description = "The last event that the caller received. It counts before `after`.",
            pattern = "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$", example = "evt_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ),
    responses((status = 200, content((Listed = "application/json"), (String = "text/event-stream")))),
    extensions(("x-codes" = json!(["invalid_header"]))),
)]
pub async fn list(
    State(app): State<App>,
    Extension(pulse): Extension<Pulse>,
    Extension(route): Extension<&'static Route>,
    principal: Principal,
    request: Request,
) -> Result<Response> {
    let (parts, _) = request.into_parts();
    let waiter = Waiter::new(app, route, &parts);
    if stream::is_wanted(&parts.headers) {
        return stream::open(waiter, pulse.watch(principal.caller())?, principal, &parts).await;
    }
    let known = ["type", "after", "limit", "created_from", "created_to", "wait"];
    let parameters = Parameters::read(&parts.uri, &known)?;
    let (limit, given) = (parameters.limit()?, parameters.id("after")?);
    let after = stream::last_event_id(&parts.headers)?.or(given);
    let wait = parameters.integer("wait", 0, WAIT_SECONDS_MAX.cast_signed())?;
    let kind = parameters.word::<EventName>("type")?.map(|name| name.0);
    let from = waiter.position(&principal, after.as_ref()).await?;
    let mut filter = Filter { kind, created: parameters.created()?, after: from };
    let data = match wait {
        0 => waiter.page(&principal, &filter, limit).await?.0,
        _ => {
            let watch = pulse.watch(principal.caller())?;
            first(&waiter, watch, principal, &mut filter, (limit, Duration::from_secs(wait.cast_unsigned()))).await?
        }
    };
    let next_after = data.last().map(|event| event.id.clone()).or(after);
    let pagination = Place::after(Page { number: 1, limit }, next_after.map(Into::into));
    Ok(Json(Listed { data, pagination }).into_response())
}

/// The first page that has an event, or an empty one at the end of the wait.
async fn first(
    waiter: &Waiter,
    mut watch: Watch,
    mut principal: Principal,
    filter: &mut Filter<'_>,
    (limit, wait): (i64, Duration),
) -> Result<Vec<EventView>> {
    let end = Moment::now() + wait;
    loop {
        let seen = watch.position();
        let (events, _) = waiter.page(&principal, filter, limit).await?;
        if !events.is_empty() {
            return Ok(events);
        }
        filter.after = filter.after.max(seen);
        let left = end.saturating_duration_since(Moment::now());
        if watch.changed(left).await != Some(true) {
            return Ok(events);
        }
        // A key can be revoked and a role can change during the wait.
        principal = waiter.admitted().await?;
    }
}

/// Read an event.
#[utoipa::path(
    get,
    path = "/v1/events/{id}",
    responses((status = 200, body = EventView)),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<EventId>, principal: Principal) -> Result<Json<EventView>> {
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let event = event_scope::find(&mut tx, &owner, &id).await?;
    let mut shown = shown(&mut tx, vec![event]).await?;
    shown.pop().map(Json).ok_or_else(|| Problem::bare(Code::NotFound))
}

/// As answers show them. The data are those of a webhook's body.
pub async fn shown(tx: &mut Tx, events: Vec<Event>) -> Result<Vec<EventView>> {
    let subjects = event_subject::owners(tx, &events).await?;
    let view = |event: Event| EventView {
        data: message::data(&event, subjects.get(&event.subject_id)),
        id: event.id,
        kind: event.name,
        timestamp: Instant(event.created_at),
        api_version: API_VERSION,
        sequence: event.sequence,
        subject: Subject { kind: event.subject_type, id: event.subject_id },
    };
    Ok(events.into_iter().map(view).collect())
}
