//! `GET /v1/offerings/{id}/timeline`: the events of an offering, oldest first.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::event::{self, Event};
use muniment_domain::id::{EventId, OfferingId};
use muniment_domain::offering::Status;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::find_run_by;
use crate::access::principal::Principal;
use crate::app::App;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::{List, Page, Paging};

/// An event of an offering. Fields that do not apply are null.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingEvent)]
pub struct EventView {
    id: EventId,
    #[serde(rename = "type")]
    #[schema(example = "offering.published")]
    kind: String,
    created_at: Instant,
    version: i64,
    #[schema(value_type = Option<Status>)]
    status: Option<String>,
    #[schema(value_type = Option<Status>)]
    from: Option<String>,
    reason: Option<String>,
    /// The names of the changed terms.
    #[schema(example = json!(["closes_at"]))]
    changed: Option<Vec<String>>,
    /// The person who caused it. Only staff see other staff.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, extensions(("x-shown-to" = json!(["staff"]))))]
    actor: Option<Option<String>>,
}

fn item(e: &Event, staff: bool) -> EventView {
    let text = |name: &str| e.data[name].as_str().map(str::to_owned);
    let words = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    EventView {
        id: e.id.clone(),
        kind: e.name.clone(),
        created_at: Instant(e.created_at),
        version: e.sequence,
        status: text("status"),
        from: text("from"),
        reason: text("reason"),
        changed: e.data["changed"].as_array().map(words),
        actor: staff.then(|| text("actor")),
    }
}

/// List the events of an offering.
///
/// For staff and for the issuer's members.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/timeline",
    params(Paging),
    responses((status = 200, body = List<EventView>)),
)]
pub async fn timeline(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<List<EventView>>> {
    let (page, _) = Page::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    find_run_by(&mut tx, &principal, &id).await?;
    let (rows, total) = event::page_of_subject(&mut tx, &id, page.limit, page.offset()).await?;
    let staff = principal.is_staff();
    Ok(Json(page.list(rows.iter().map(|e| item(e, staff)), total)))
}
