//! Sign-in and sign-out, by the endpoints of `/v1/auth`. What was typed when a session ended is carried through.

use askama::Template;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::id::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::csrf;
use crate::app::App;
use crate::console::call::{Call, Caller, Reply};
use crate::console::desk::{Desk, away};
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::problem::refusal;
use crate::console::state::Console;
use crate::console::{cookie, html};
use crate::http::error::{Problem, Result};
use crate::http::origin::is_foreign_form;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page {
    frame: Frame,
    step: Step,
    email: String,
    next: String,
    /// The fields of a form that waits.
    kept: Vec<(String, String)>,
    refused: Option<String>,
}

enum Step {
    Password,
    Code { mfa_token: String },
    NotHere,
}

impl Step {
    fn action(&self) -> &'static str {
        match self {
            Self::Code { .. } => "/console/sign-in/code",
            Self::Password | Self::NotHere => "/console/sign-in",
        }
    }
}

#[derive(Template)]
#[template(path = "go_on.html")]
struct GoOn {
    frame: Frame,
    action: String,
    texts: Vec<(String, String)>,
    hidden: Vec<(String, String)>,
}

/// Where a sign-in begins.
#[derive(Deserialize)]
pub struct Beginning {
    #[serde(default)]
    next: String,
    #[serde(default)]
    email: String,
}

/// The first step.
pub async fn page(State(console): State<Console>, Query(from): Query<Beginning>) -> Response {
    let frame = Frame::outside(&console.app, "Sign in");
    let page =
        Page { frame, step: Step::Password, email: from.email, next: from.next, kept: Vec::new(), refused: None };
    html::page(StatusCode::OK, &page)
}

/// The same after a session ended, with the form that was under way.
pub fn again(app: &App, at: &str, kept: &[(String, String)]) -> Response {
    let refused = Some("Your session has ended. Nothing was changed, and what you typed is kept.".to_owned());
    let (frame, email) = (Frame::outside(app, "Sign in"), String::new());
    let page = Page { frame, step: Step::Password, email, next: at.to_owned(), kept: kept.to_vec(), refused };
    html::page(StatusCode::UNAUTHORIZED, &page)
}

/// A form of another site: nothing of it is done, or shown.
pub fn foreign(app: &App) -> Response {
    let refused = Some("A page of another site sent this form. Nothing was done.".to_owned());
    let (frame, email, next) = (Frame::outside(app, "Sign in"), String::new(), String::new());
    let page = Page { frame, step: Step::Password, email, next, kept: Vec::new(), refused };
    html::page(StatusCode::FORBIDDEN, &page)
}

/// An investor has a portal and no console.
pub fn not_for_investors(app: &App) -> Response {
    let (frame, step) = (Frame::outside(app, "Not here"), Step::NotHere);
    let (email, next) = (String::new(), String::new());
    let mut response =
        html::page(StatusCode::FORBIDDEN, &Page { frame, step, email, next, kept: Vec::new(), refused: None });
    response.headers_mut().append(header::SET_COOKIE, cookie::end(app));
    response
}

/// The password.
pub async fn password(State(console): State<Console>, request: Request) -> Result<Response> {
    if is_foreign_form(request.headers()) {
        return Ok(foreign(&console.app));
    }
    let (caller, form) = read(&console, request).await?;
    let body = json!({ "email": form.text("email"), "password": form.text("password"), "device_name": "Console" });
    match call(&caller, "/v1/auth/login", &body).await {
        Ok(reply) if reply.body["mfa_required"] == true => {
            let mfa_token = reply.body["mfa_token"].as_str().unwrap_or_default().to_owned();
            Ok(asked(&console.app, &form, Step::Code { mfa_token }, None))
        }
        Ok(reply) => opened(&console.app, &form, &reply),
        Err(problem) => Ok(asked(&console.app, &form, Step::Password, Some(&problem))),
    }
}

/// The code of the second factor.
pub async fn code(State(console): State<Console>, request: Request) -> Result<Response> {
    if is_foreign_form(request.headers()) {
        return Ok(foreign(&console.app));
    }
    let (caller, form) = read(&console, request).await?;
    let mfa_token = form.text("mfa_token").to_owned();
    let body = json!({ "mfa_token": mfa_token, "code": form.text("code"), "device_name": "Console" });
    match call(&caller, "/v1/auth/mfa/verify", &body).await {
        Ok(reply) => opened(&console.app, &form, &reply),
        Err(problem) => Ok(asked(&console.app, &form, Step::Code { mfa_token }, Some(&problem))),
    }
}

/// Ends the session.
pub async fn out(desk: Desk, form: Form) -> Result<Response> {
    desk.post("/v1/auth/logout", &form, &Value::Null).await?;
    let mut response = away("/console/sign-in");
    response.headers_mut().append(header::SET_COOKIE, cookie::end(&desk.console.app));
    Ok(response)
}

async fn read(console: &Console, request: Request) -> Result<(Caller, Form)> {
    let (parts, content) = request.into_parts();
    let form = Form::read(&parts.headers, content, console.app.limits.body_bytes_max).await?;
    Ok((Caller::of(&console.api, &parts), form))
}

async fn call(caller: &Caller, path: &str, body: &Value) -> Result<Reply> {
    caller.send(&Call { method: Method::POST, path, token: None, known: None, headers: &[], body: Some(body) }).await
}

/// A step of the sign-in, with the reason why the one before did not do.
fn asked(app: &App, form: &Form, step: Step, problem: Option<&Problem>) -> Response {
    let (status, refused) = refusal(problem);
    let (email, next) = (form.text("email").to_owned(), form.text("next").to_owned());
    let title = if matches!(step, Step::Code { .. }) { "Second factor" } else { "Sign in" };
    html::page(status, &Page { frame: Frame::outside(app, title), step, email, next, kept: form.carried(), refused })
}

/// The session of this browser has begun.
fn opened(app: &App, form: &Form, reply: &Reply) -> Result<Response> {
    let session_id = reply.body["session_id"].as_str().ok_or_else(|| Problem::internal("a login without a session"))?;
    let session_id = &SessionId::from(session_id);
    let next = form.given("next").filter(|path| is_ours(path)).unwrap_or("/console");
    let kept = form.carried();
    let mut response = if kept.is_empty() { away(next) } else { go_on(app, session_id, next, kept) };
    let headers = response.headers_mut();
    headers.append(header::SET_COOKIE, cookie::begin(app, session_id));
    for known in device(&reply.headers) {
        headers.append(header::SET_COOKIE, known);
    }
    Ok(response)
}

/// The form that was under way, for the person to look at and send. Nothing is sent by itself.
fn go_on(app: &App, session_id: &SessionId, action: &str, kept: Vec<(String, String)>) -> Response {
    let until: DateTime<Utc> = app.db.clock().now() + Duration::seconds(app.auth.config.csrf_seconds);
    let csrf = csrf::issue(&app.auth.secrets, session_id, until, app.db.ids().bytes());
    let frame = Frame { csrf, ..Frame::outside(app, "Go on") };
    let (texts, hidden) = kept.into_iter().partition(|(name, _)| name == "reason" || name == "tx_hash");
    html::page(StatusCode::OK, &GoOn { frame, action: action.to_owned(), texts, hidden })
}

/// The cookie of a known device, for the paths of the console.
fn device(headers: &HeaderMap) -> Vec<HeaderValue> {
    let cookies = headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.filter_map(|text| HeaderValue::from_str(&text.replace("Path=/v1/auth", "Path=/console")).ok()).collect()
}

/// Whether an address is a page of this console, and not of another site.
pub fn is_ours(path: &str) -> bool {
    let rest = path.strip_prefix("/console");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?'])) && !path.contains(['\\', '\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_console_follow_a_sign_in() {
        for ours in ["/console", "/console?a=b", "/console/operations/op_1?x=1"] {
            assert!(is_ours(ours), "{ours}");
        }
        for foreign in ["https://evil.example", "//evil.example", "/consoles", "/v1/auth", "/console\\..", ""] {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }
}
