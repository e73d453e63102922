//! The OpenAPI document of every endpoint.

use std::sync::OnceLock;

use axum::http::header;
use axum::response::IntoResponse;

use crate::access::permission::Access;
use crate::access::route::{Route, route};
use crate::openapi;
use crate::server::routes::ROUTES;

/// The endpoint of the document.
pub fn routes() -> Vec<Route> {
    vec![route!(serve, Access::Public)]
}

/// The document as a file, for people to compare.
pub fn text() -> String {
    openapi::text(&ROUTES)
}

/// Read this document.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object)))]
pub async fn serve() -> impl IntoResponse {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| openapi::document(&ROUTES).to_string());
    let kept = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")];
    (kept, text.as_str())
}
