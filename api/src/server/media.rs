//! What may be sent: a path that is text, JSON, and not too much of it, by somebody who takes what is given. Looked at before anything is read.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::route::Route;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::{accept, body};

/// The longest path with its query, in bytes.
const TARGET_BYTES_MAX: usize = 8 * 1024;
/// The largest head of a request: its line and all headers, in bytes.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The layer of every route.
pub async fn check(State((app, route)): State<(App, &'static Route)>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    if !names_something(&mut parts).await {
        return Problem::bare(Code::NotFound).into_response();
    }
    let sound = fits(&parts).and_then(|()| acceptable(&parts.method, &parts.headers, app.limits.body_bytes_max));
    match sound {
        Ok(()) if !accept::takes(&parts.headers, &route.media_types) => {
            let detail = format!("Send the header Accept: {}, or omit it.", route.media_types.join(" or "));
            Problem::new(Code::NotAcceptable, detail).into_response()
        }
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => problem.into_response(),
    }
}

/// Whether the ids of a path are text. What is none when its escapes are read is the id of nothing, and no database takes it.
async fn names_something(parts: &mut Parts) -> bool {
    match RawPathParams::from_request_parts(parts, &()).await {
        Ok(ids) => ids.iter().all(|(_, id)| !id.chars().any(char::is_control)),
        // There are no ids in it.
        Err(RawPathParamsRejection::MissingPathParams(_)) => true,
        Err(_) => false,
    }
}

/// Whether the head is within its limits. One that is far above them the server turns away by itself, without a word.
fn fits(parts: &Parts) -> Result<()> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_BYTES_MAX {
        return Err(Problem::new(
            Code::UriTooLong,
            format!("The path and query can have at most {TARGET_BYTES_MAX} bytes."),
        ));
    }
    // Each line has a colon, a space and its end.
    let lines = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    if target + lines.sum::<usize>() > HEAD_BYTES_MAX {
        return Err(Problem::new(Code::HeadTooLarge, format!("The headers can have at most {HEAD_BYTES_MAX} bytes.")));
    }
    Ok(())
}

fn acceptable(method: &Method, headers: &HeaderMap, bytes_max: usize) -> Result<()> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let length = text(header::CONTENT_LENGTH).and_then(|text| text.parse::<usize>().ok());
    if length.is_some_and(|length| length > bytes_max) {
        return Err(body::too_large(bytes_max));
    }
    let sends = length.is_some_and(|length| length > 0) || headers.contains_key(header::TRANSFER_ENCODING);
    let media_type = headers.get(header::CONTENT_TYPE);
    if method.is_safe() || (media_type.is_none() && !sends) {
        return Ok(());
    }
    // A form cannot be sent as JSON across origins without the browser asking first.
    let media_type = text(header::CONTENT_TYPE).and_then(|text| text.split(';').next()).map(str::trim);
    if media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "Send the header Content-Type: application/json."))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn refusal(method: Method, headers: &[(header::HeaderName, &'static str)]) -> Option<Code> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        acceptable(&method, &headers, 100).err().map(|problem| problem.code)
    }

    #[test]
    fn a_body_is_json_and_small() {
        let json = (header::CONTENT_TYPE, "application/json; charset=utf-8");
        assert_eq!(refusal(Method::POST, std::slice::from_ref(&json)), None);
        let length = (header::CONTENT_LENGTH, "2");
        assert_eq!(refusal(Method::POST, std::slice::from_ref(&length)), Some(Code::UnsupportedMediaType));
        assert_eq!(refusal(Method::POST, &[(header::TRANSFER_ENCODING, "chunked")]), Some(Code::UnsupportedMediaType));
        // Nothing is sent: nothing can be of the wrong type.
        assert_eq!(refusal(Method::DELETE, &[]), None);
        assert_eq!(refusal(Method::POST, &[(header::CONTENT_TYPE, "text/plain")]), Some(Code::UnsupportedMediaType));
        assert_eq!(refusal(Method::POST, &[json, (header::CONTENT_LENGTH, "101")]), Some(Code::PayloadTooLarge));
        assert_eq!(refusal(Method::GET, &[]), None);
    }
}
