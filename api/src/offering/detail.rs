//! `GET /v1/offerings/{id}`: an offering with the data of its token contract. The field names are those of the specification.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::id::OfferingId;
use muniment_domain::offering;
use utoipa::IntoParams;

use super::record::{self, Full};
use super::{Audience, seeing};
use crate::access::principal::Principal;
use crate::app::App;
use crate::http::error::Result;

/// The version that the caller has.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "the document reads it; requests are read by `detail`")]
pub struct Known {
    /// The ETag that the caller has. The answer is 304 if the object has not changed.
    #[param(rename = "If-None-Match", example = "\"v7-11577240143062031124\"")]
    tag: Option<String>,
}

/// Read an offering.
///
/// Everybody sees public fields. The issuer and staff see more.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}",
    params(Known),
    responses((status = 200, body = Full, headers(("ETag"))), (status = 304, headers(("ETag")))),
)]
pub async fn detail(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Option<Extension<Principal>>,
    headers: HeaderMap,
) -> Result<Response> {
    let principal = principal.as_deref();
    let mut tx = app.db.read().await?;
    let shown = offering::find_detail(&mut tx, &seeing(principal), &id).await?;
    let audience = Audience::of(principal, &shown.listed.offering);
    let full = record::full(&app, &mut tx, &shown, audience).await?;
    let text = record::text(&full)?;
    let tag = record::tag(shown.listed.offering.version, &text);
    let caching = if principal.is_some() { "no-store" } else { "public, max-age=30" };
    let kept = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, caching.to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    Ok((kept, [(header::CONTENT_TYPE, "application/json")], text).into_response())
}
