//! `GET /v1/offerings/{id}/timeline`: what happened to an offering, oldest first.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::event::{self, Event};
use serde_json::{Value, json};

use super::find_run_by;
use crate::app::App;
use crate::error::Result;
use crate::instant;
use crate::pages::{Page, Parameters};
use crate::principal::Principal;

/// What is told of each event; who of the platform's people did it is for themselves.
fn item(e: &Event, staff: bool) -> Value {
    let mut item = json!({
        "id": e.id, "type": e.name, "at": instant::text(e.created_at), "version": e.sequence, "status": e.data["status"],
        "from": e.data["from"], "reason": e.data["reason"], "changed": e.data["changed"],
    });
    if staff {
        item["actor"] = e.data["actor"].clone();
    }
    item
}

/// The events of an offering, for whoever runs it.
pub async fn timeline(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Value>> {
    let page = Page::of(&Parameters::read(&uri, &["page", "limit"])?)?;
    let mut tx = app.db.read().await?;
    find_run_by(&mut tx, &principal, &id).await?;
    let (rows, total) = event::page_of_subject(&mut tx, &id, page.limit, page.offset()).await?;
    let staff = principal.is_staff();
    Ok(Json(page.answer(rows.iter().map(|e| item(e, staff)).collect(), total)))
}
