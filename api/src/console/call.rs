//! Calls of the API within the process: the same routes with the same checks, limits and audit entries as a request from outside.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use futures::FutureExt;
use serde_json::Value;
use tower_service::Service;

use crate::access::principal::{Known, Principal};
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::origin::Peer;
use crate::http::rate::Counted;
use crate::http::request_id::RequestId;

/// No answer of the API is larger.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What the API must know of the browser's request: where it comes from.
const CARRIED: [HeaderName; 5] =
    [header::HOST, header::ORIGIN, header::USER_AGENT, header::COOKIE, HeaderName::from_static("x-forwarded-for")];

/// Somebody who calls the API through a page.
#[derive(Clone)]
pub struct Caller {
    api: Router,
    headers: HeaderMap,
    peer: Option<Peer>,
    request_id: Option<RequestId>,
}

/// One call.
pub struct Call<'a> {
    /// The method.
    pub method: Method,
    /// The path with its query.
    pub path: &'a str,
    /// The access token; none for a login, and for a person who is known.
    pub token: Option<&'a str>,
    /// The person, if the page that asks has just read their session. A call that changes something reads it again.
    pub known: Option<&'a Principal>,
    /// More headers.
    pub headers: &'a [(&'static str, &'a str)],
    /// The body.
    pub body: Option<&'a Value>,
}

/// A success.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body. Null for an empty answer.
    pub body: Value,
}

impl Caller {
    /// The caller behind a request.
    pub fn of(api: &Router, parts: &Parts) -> Self {
        let mut headers = HeaderMap::new();
        for name in CARRIED {
            for value in parts.headers.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        let (peer, request_id) = (parts.extensions.get().copied(), parts.extensions.get().cloned());
        Self { api: api.clone(), headers, peer, request_id }
    }

    /// Makes a call. A refusal is the problem that a client would get.
    pub async fn send(&self, call: &Call<'_>) -> Result<Reply> {
        let (parts, bytes) = self.answer(call).boxed().await?;
        let body = if bytes.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&bytes) };
        let body: Value = body.map_err(Problem::internal)?;
        if !parts.status.is_success() {
            return Err(stored(&body));
        }
        Ok(Reply { status: parts.status, headers: parts.headers, body })
    }

    /// Makes a call whose answer is a text.
    pub async fn text(&self, call: &Call<'_>) -> Result<Vec<u8>> {
        let (parts, bytes) = self.answer(call).boxed().await?;
        if parts.status.is_success() { Ok(bytes.to_vec()) } else { Err(Problem::internal("a text that is a refusal")) }
    }

    async fn answer(&self, call: &Call<'_>) -> Result<(axum::http::response::Parts, Bytes)> {
        let response = match self.api.clone().call(self.request(call)?).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (parts, body) = response.into_parts();
        if let Some(problem) = parts.extensions.get::<Problem>() {
            return Err(problem.clone());
        }
        Ok((parts, to_bytes(body, ANSWER_BYTES_MAX).await.map_err(Problem::internal)?))
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<Body>> {
        let body = call.body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut request = Request::new(body);
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = call.path.parse().map_err(Problem::internal)?;
        let headers = request.headers_mut();
        *headers = self.headers.clone();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let bearer = call.token.map(|token| ("authorization", format!("Bearer {token}")));
        let more = call.headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        for (name, value) in more.chain(bearer) {
            headers.insert(name, HeaderValue::from_str(&value).map_err(Problem::internal)?);
        }
        let extensions = request.extensions_mut();
        if let Some(peer) = self.peer {
            extensions.insert(peer);
        }
        if let Some(id) = &self.request_id {
            extensions.insert(id.clone());
        }
        if call.method.is_safe() {
            extensions.insert(Counted);
            if let Some(person) = call.known {
                extensions.insert(Known(person.clone()));
            }
        }
        Ok(request)
    }
}

/// A refusal that is kept for its idempotency key is answered as it was written the first time.
fn stored(body: &Value) -> Problem {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields = body["errors"].as_array().into_iter().flatten().map(|field| text(&field["detail"]));
    let detail = [text(&body["detail"])].into_iter().chain(fields).collect::<Vec<_>>().join(" ");
    match Code::ALL.iter().find(|code| body["code"] == code.as_str()) {
        Some(code) => Problem::new(*code, detail.trim()),
        None => Problem::internal(detail),
    }
}
