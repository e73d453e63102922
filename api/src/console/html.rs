//! Pages as answers.

use std::io::Write as _;

use askama::Template;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::http::error::Problem;

/// A page runs our script and wears our style, sends its forms to us, and loads nothing from anywhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A rendered page.
pub fn page(status: StatusCode, template: &impl Template) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // With `no-referrer` a browser hides the origin of a form from ourselves too, and the sign-in asks for it.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    match template.render() {
        Ok(text) => (status, headers, text).into_response(),
        Err(error) => Problem::internal(error).into_response(),
    }
}

/// The layer that sends pages and files compressed. Tokens in a page are new in each answer, so its length tells nothing about them.
pub async fn compressed(request: Request, next: Next) -> Response {
    let accepted = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_gzip = accepted.is_some_and(|text| text.split(',').any(|coding| coding.trim().starts_with("gzip")));
    let response = next.run(request).await;
    let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_text = media_type.is_some_and(|kind| kind.starts_with("text/") && kind != "text/event-stream");
    if !takes_gzip || !is_text {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let packed = match to_bytes(body, usize::MAX).await {
        Ok(bytes) => packed(&bytes),
        Err(error) => return Problem::internal(error).into_response(),
    };
    let Ok(packed) = packed else { return Problem::internal("a page that cannot be packed").into_response() };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(parts, Body::from(packed))
}

fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
