//! `GET /v1/offerings/{id}`: an offering and its contract metadata, in the specification's own words.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use muniment_domain::offering;

use super::{Audience, record, seeing};
use crate::app::App;
use crate::error::Result;
use crate::principal::Principal;

/// One offering. Everybody sees what is public; its issuer and the platform's staff see more of it.
pub async fn detail(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Option<Extension<Principal>>,
    headers: HeaderMap,
) -> Result<Response> {
    let principal = principal.as_deref();
    let mut tx = app.db.read().await?;
    let shown = offering::see(&mut tx, &seeing(principal), &id).await?;
    let audience = Audience::of(principal, &shown.offering);
    let (tag, body) = record::full(&app, &mut tx, &shown, audience).await?;
    let caching = if principal.is_some() { "no-store" } else { "public, max-age=30" };
    let kept = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, caching.to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    Ok((kept, Json(body)).into_response())
}
