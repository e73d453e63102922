//! `/docs`: the API documentation. The page, its style sheet and its script come from this binary; no other host is asked.

use crate::access::permission::Access;
use crate::access::route::{Route, route};
use axum::http::header;
use axum::response::IntoResponse;

/// The endpoints of the documentation page.
pub fn routes() -> Vec<Route> {
    vec![route!(page, Access::Public), route!(style, Access::Public), route!(script, Access::Public)]
}

/// The page runs only its own script and loads only from this host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn file(media_type: &'static str, text: &'static str) -> impl IntoResponse {
    let kept = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (kept, text)
}

/// Show the API documentation.
#[utoipa::path(get, path = "/docs", responses((status = 200, body = String, content_type = "text/html")))]
pub async fn page() -> impl IntoResponse {
    file("text/html; charset=utf-8", include_str!("page.html"))
}

/// Load the style sheet of the documentation.
#[utoipa::path(get, path = "/docs/page.css", responses((status = 200, body = String, content_type = "text/css")))]
pub async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", include_str!("page.css"))
}

/// Load the script of the documentation.
#[utoipa::path(get, path = "/docs/page.js", responses((status = 200, body = String, content_type = "text/javascript")))]
pub async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", include_str!("page.js"))
}
