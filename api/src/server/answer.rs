//! The outermost layers: one gives each request its id and completes every answer, the other limits its duration.

use std::any::Any;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;
use tracing::field::{Empty, display};

use crate::app::App;
use crate::code::Code;
use crate::http::body;
use crate::http::error::{PROBLEM_JSON, Problem, Result};
use crate::http::origin::{Origin, undeclared_proxy};
use crate::http::request_id::{self, RequestId};
use crate::http::trace;
use crate::server::routes::ROUTES;
use crate::webhook::event::WAIT_SECONDS_MAX;

// Answers are data: no browser may guess another type, frame them, run them or tell others where it came from.
const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000; includeSubDomains"),
];

/// The layer.
pub async fn finish(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers(), &app.db);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(id.clone());
    let span =
        tracing::info_span!("request", request.id = %id.0, http.method = %method, http.path = %path, trace.id = Empty);
    if let Some(trace_id) = trace::id_of(request.headers()) {
        span.record("trace.id", display(trace_id));
    }
    report_proxy(&app, &request);
    let route = request.extensions().get::<MatchedPath>().cloned();
    let (started, begun) = (app.db.clock().now(), Instant::now());
    async {
        let mut response = next.run(request).await;
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            render(&app.api_url, &mut response, &problem, &path, &id.0);
        }
        finish_headers(response.headers_mut(), &id.0);
        let milliseconds = (app.db.clock().now() - started).num_milliseconds();
        let status = response.status().as_u16();
        app.requests.count(&method, route.as_ref().map(MatchedPath::as_str), status, begun.elapsed().as_secs_f64());
        // Probes ask every few seconds, and are worth a line only when the answer is no.
        if is_probe(&path) && status == 200 {
            tracing::debug!(http.status = status, http.milliseconds = milliseconds, "answered");
        } else {
            tracing::info!(http.status = status, http.milliseconds = milliseconds, "answered");
        }
        response
    }
    .instrument(span)
    .await
}

/// Says once that a proxy should be declared.
fn report_proxy(app: &App, request: &Request) {
    let found = undeclared_proxy(request.headers(), request.extensions().get(), &app.limits.trusted_proxies);
    if let Some(proxy) = found {
        app.proxy_reported.call_once(|| {
            tracing::warn!("{proxy} forwards requests and is not in limits.trusted_proxies: all its callers count as one network for the limits");
        });
    }
}

fn is_probe(path: &str) -> bool {
    ROUTES.iter().any(|route| route.probe && route.path == path)
}

/// The layer within: it limits the number of open requests and the duration of each. The transaction of a request that takes too long is
/// rolled back. The body is read before, so that slow senders take no place from others.
pub async fn bound(State(app): State<App>, request: Request, next: Next) -> Response {
    let sound = one_host(request.headers());
    // Bytes of a body that was not read, or whose length two headers could tell differently, must not become the next request.
    let ends = sound.is_err() || request.headers().contains_key(header::TRANSFER_ENCODING) || too_long(&app, &request);
    let mut response = match sound {
        Ok(()) => placed(app, request, next).await,
        Err(problem) => problem.into_response(),
    };
    if ends || response.status() == StatusCode::REQUEST_TIMEOUT || response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn placed(app: App, request: Request, next: Next) -> Response {
    let request = match received(&app, request).await {
        Ok(request) => request,
        // The rest of the body is not read, so the connection cannot be used again.
        Err(problem) => return ([(header::CONNECTION, "close")], problem.into_response()).into_response(),
    };
    // Health checks are answered under any load. A wait for events is counted where it waits.
    let waits = request.method() == Method::GET && ROUTES.iter().any(|route| route.is_wait(request.uri()));
    let free = waits || is_probe(request.uri().path());
    let place = if free { Ok(None) } else { app.room.try_acquire().map(Some) };
    let Ok(_held) = place else { return Problem::bare(Code::ServiceUnavailable).into_response() };
    let limit = app.limits.request_timeout_seconds + if waits { WAIT_SECONDS_MAX } else { 0 };
    let limit = Duration::from_secs(limit);
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::unavailable("the request took longer than its limit").into_response(),
    }
}

fn too_long(app: &App, request: &Request) -> bool {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length > app.limits.body_bytes_max)
}

/// Two parties that read another Host would take the request for different ones.
fn one_host(headers: &HeaderMap) -> Result<()> {
    if headers.get_all(header::HOST).iter().count() == 1 {
        return Ok(());
    }
    Err(Problem::new(Code::InvalidHeader, "Send exactly one Host header."))
}

/// The request with its whole body. One that says that it is too large is left unread: the route refuses it by its head.
async fn received(app: &App, request: Request) -> Result<Request> {
    if request.body().is_end_stream() || too_long(app, &request) {
        return Ok(request);
    }
    let (parts, content) = request.into_parts();
    let origin = Origin::of(&parts.headers, parts.extensions.get(), &app.limits.trusted_proxies);
    let place = app.bodies.take(origin.network(), app.limits.bodies_per_network_max);
    let _held = place.ok_or_else(|| Problem::unavailable("too many bodies of one network are being received"))?;
    let limit = Duration::from_secs(app.limits.body_seconds_max);
    match tokio::time::timeout(limit, body::read(content, app.limits.body_bytes_max)).await {
        Ok(read) => Ok(Request::from_parts(parts, Body::from(read?))),
        Err(_) => Err(Problem::new(Code::BodyTimeout, format!("Send the body within {} seconds.", limit.as_secs()))),
    }
}

/// The answer to a request whose handler panicked. Its transaction is rolled back.
pub fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::internal("the handler panicked").into_response()
}

fn render(api_url: &str, response: &mut Response, problem: &Problem, path: &str, request_id: &str) {
    match problem.cause() {
        Some(cause) => tracing::error!(error.code = problem.code.as_str(), error.cause = cause, "request failed"),
        None => tracing::debug!(error.code = problem.code.as_str(), "request refused"),
    }
    *response.body_mut() = Body::from(problem.body(api_url, path, request_id).to_string());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = problem.retry_after_seconds() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    // An answer with status 401 says how to authenticate.
    let challenge = problem.authenticate().or((problem.code.status() == 401).then_some("Bearer"));
    if let Some(Ok(challenge)) = challenge.map(HeaderValue::from_str) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
}

fn finish_headers(headers: &mut HeaderMap, request_id: &str) {
    for (name, value) in SECURITY_HEADERS {
        // A page of ours names what it runs; everything else runs nothing.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // Answers are private by default; a public answer sets its own header.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    // Where others may keep it: who asked, and from which page, makes it another answer.
    if headers.get(header::CACHE_CONTROL).is_some_and(|kept| kept != "no-store") {
        headers.append(header::VARY, HeaderValue::from_static("authorization, origin"));
    }
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(request_id::HEADER, id);
    }
}
