//! The layer before every page: the session, the form, the CSRF token, the proof of identity. Refusals become pages.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::access::csrf;
use crate::access::route::Rate;
use crate::code::Code;
use crate::console::call::Caller;
use crate::console::desk::{Desk, away};
use crate::console::form::{CSRF, Form, IDENTITY};
use crate::console::state::Console;
use crate::console::{account, cookie, problem, sign_in};
use crate::http::error::{Problem, Result};
use crate::http::origin::is_foreign_form;

/// Marks the request of a page that reads itself again. It does not show that a person is present.
const LIVE: &str = "x-console-live";

/// The layer.
pub async fn guard(State(console): State<Console>, request: Request, next: Next) -> Response {
    let (mut parts, content) = request.into_parts();
    // A foreign form is not kept: the page that shows it again would give it a valid token.
    if !parts.method.is_safe() && is_foreign_form(&parts.headers) {
        return sign_in::foreign(&console.app);
    }
    let form = match read(&console, &parts, content).await {
        Ok(form) => form,
        Err(problem) => return problem.into_response(),
    };
    let person = match cookie::person(&console.app, &parts.headers).await {
        Ok(Some(person)) => person,
        Ok(None) => return turned_away(&console, &parts, &form),
        Err(problem) => return problem.into_response(),
    };
    if person.0.is_only_investor() {
        return sign_in::not_for_investors(&console.app);
    }
    // A person who must set up a second factor finds the page for it wherever they go.
    let open = [account::PATH, "/console/sign-out", "/console/live"];
    if person.must_enrol(&console.app) && !open.iter().any(|path| parts.uri.path().starts_with(path)) {
        return away(account::PATH);
    }
    let (caller, is_live) = (Caller::of(&console.api, &parts), parts.headers.contains_key(LIVE));
    let desk = match Desk::open(console, person, &parts, caller) {
        Ok(desk) => desk,
        Err(problem) => return problem.into_response(),
    };
    let response = match admitted(&desk, &parts, &form).await {
        Ok(()) => {
            parts.extensions.insert(desk.clone());
            parts.extensions.insert(form.clone());
            next.run(Request::from_parts(parts, Body::empty())).await
        }
        Err(problem) => problem.into_response(),
    };
    let mut response = told(&desk, &form, response).await;
    // A page that reads itself again takes nothing from the page that opens at the same time.
    if desk.said.is_some() && response.status().is_success() && !is_live {
        response.headers_mut().append(header::SET_COOKIE, cookie::forget_said(&desk.console.app));
    }
    response
}

async fn read(console: &Console, parts: &Parts, content: Body) -> Result<Form> {
    if parts.method.is_safe() {
        return Ok(Form::default());
    }
    Form::read(&parts.headers, content, console.app.limits.body_bytes_max).await
}

/// Checks in this order: how often they ask, the page that sent the form, the proof of identity that came with it.
async fn admitted(desk: &Desk, parts: &Parts, form: &Form) -> Result<()> {
    let app = &desk.console.app;
    let (who, rate) = (&desk.person.0.user_id, Rate::Read);
    let taken = app.limiter.take(rate.name(), who, rate.per_minute(&app.rates), desk.now());
    taken.map_err(|(problem, _)| problem)?;
    if !parts.headers.contains_key(LIVE) {
        desk.extend().await?;
    }
    if parts.method.is_safe() {
        return Ok(());
    }
    let given = form.given(CSRF).ok_or_else(|| Problem::bare(Code::CsrfTokenMissing))?;
    csrf::verify(&app.auth.secrets, given.as_bytes(), &desk.person.session()?.id, desk.now()).map_err(Problem::bare)?;
    for (field, name) in IDENTITY.into_iter().zip(["code", "password"]) {
        if let Some(shown) = form.given(field) {
            desk.post("/v1/auth/step-up", &Form::default(), &json!({ (name): shown })).await.map_err(unproved)?;
        }
    }
    Ok(())
}

/// Asks again after a wrong proof. The session goes on.
fn unproved(problem: Problem) -> Problem {
    let detail = problem.detail().unwrap_or(problem.code.title()).to_owned();
    match problem.code {
        Code::MfaInvalid | Code::InvalidCredentials | Code::LoginThrottled => {
            Problem::new(Code::StepUpRequired, detail)
        }
        _ => problem,
    }
}

/// A refusal of the API as a page.
async fn told(desk: &Desk, form: &Form, mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    if let Some(cause) = problem.cause() {
        tracing::error!(error.code = problem.code.as_str(), error.cause = cause, "page failed");
    }
    match problem.code {
        Code::StepUpRequired if !form.kept().is_empty() => {
            let by_code = desk.person.session().is_ok_and(|session| session.has_second_factor());
            let tried = IDENTITY.iter().any(|field| form.given(field).is_some());
            let refused = problem.detail().filter(|_| tried).map(str::to_owned);
            problem::step_up(desk, form, by_code, refused).await
        }
        code if code.status() == 401 => sign_in::again(&desk.console.app, &desk.at, &form.kept()),
        _ => problem::page(desk, form, &problem).await,
    }
}

/// Answers a request without a session: after the sign-in the page opens, and a form is kept.
fn turned_away(console: &Console, parts: &Parts, form: &Form) -> Response {
    if parts.headers.contains_key(LIVE) || parts.uri.path() == "/console/live" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let at = parts.uri.path_and_query().map_or("/console", |target| target.as_str());
    if parts.method.is_safe() {
        let next: String = form_urlencoded::byte_serialize(at.as_bytes()).collect();
        return away(&format!("/console/sign-in?next={next}"));
    }
    sign_in::again(&console.app, at, &form.kept())
}
