//! A person at the console, and what they may ask of the API.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Duration, Utc};
use muniment_domain::id::of;
use muniment_domain::user::Role;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::csrf;
use crate::access::principal::Principal;
use crate::account::refresh;
use crate::console::answers::Answers;
use crate::console::call::{Call, Caller, Reply};
use crate::console::cookie::{self, Said};
use crate::console::form::{Form, KEY};
use crate::console::state::Console;
use crate::http::error::{Problem, Result};

/// The time after which a page extends a session.
const REST: Duration = Duration::minutes(5);
/// The token of a form is good for as long as any other CSRF token; this one never leaves the process.
const INNER_CSRF_SECONDS: i64 = 60;

/// A signed-in person with their request.
#[derive(Clone)]
pub struct Desk {
    /// The state.
    pub console: Console,
    /// The person.
    pub person: Principal,
    /// The path and query of the page.
    pub at: String,
    /// The message about the act that led to this page.
    pub said: Option<Said>,
    /// What a page that changes nothing has read. None where something may change meanwhile, even who the person is.
    answers: Option<Answers>,
    caller: Caller,
    token: String,
}

impl Desk {
    /// The desk of this person for this request.
    pub fn open(console: Console, person: Principal, parts: &Parts, caller: Caller) -> Result<Self> {
        let app = &console.app;
        let (now, session) = (app.db.clock().now(), person.session()?);
        let jti = app.db.ids().new_id::<of::Token>(now);
        let token =
            app.auth.tokens.sign(session, &person.0.roles, jti.into(), now.timestamp()).map_err(Problem::internal)?;
        let at = parts.uri.path_and_query().map_or("/console", |target| target.as_str()).to_owned();
        let said = cookie::said(app, &parts.headers);
        let answers = parts.method.is_safe().then(Answers::default);
        Ok(Self { console, person, at, said, answers, caller, token })
    }

    /// The time.
    pub fn now(&self) -> DateTime<Utc> {
        self.console.app.db.clock().now()
    }

    /// Whether the person has one of these roles.
    pub fn is_one_of(&self, roles: &[Role]) -> bool {
        self.person.0.roles.any_of(roles)
    }

    /// A token for the forms of a page.
    pub fn csrf(&self) -> Result<String> {
        self.token_for(self.console.app.auth.config.csrf_seconds)
    }

    fn token_for(&self, seconds: i64) -> Result<String> {
        let auth = &self.console.app.auth;
        let until = self.now() + Duration::seconds(seconds);
        Ok(csrf::issue(&auth.secrets, &self.person.session()?.id, until, self.console.app.db.ids().bytes()))
    }

    /// A key that makes all clicks on one form one change.
    pub fn key(&self) -> String {
        self.console.app.db.ids().new_id::<of::ConsoleRequest>(self.now()).into()
    }

    /// Reads something of the API. A page that changes nothing reads it once, however often it is asked for.
    pub async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let body = match &self.answers {
            Some(answers) => answers.of(path, self.get(path)).await?,
            None => self.get(path).await?,
        };
        serde_json::from_value(body).map_err(Problem::internal)
    }

    async fn get(&self, path: &str) -> Result<Value> {
        Ok(self.caller.send(&self.call(path)).await?.body)
    }

    /// Reads a text, such as a report.
    pub async fn read_text(&self, path: &str) -> Result<Vec<u8>> {
        self.caller.text(&self.call(path)).await
    }

    fn call<'a>(&'a self, path: &'a str) -> Call<'a> {
        let known = self.answers.is_some().then_some(&self.person);
        let token = known.is_none().then_some(self.token.as_str());
        Call { method: Method::GET, path, token, known, headers: &[], body: None }
    }

    /// Posts to the API, once for the key of the form.
    pub async fn post(&self, path: &str, form: &Form, body: &Value) -> Result<Reply> {
        self.change(Method::POST, path, form, body, &[]).await
    }

    /// Changes something by the API, once for the key of the form.
    pub async fn change(
        &self,
        method: Method,
        path: &str,
        form: &Form,
        body: &Value,
        more: &[(&'static str, &str)],
    ) -> Result<Reply> {
        let csrf = self.token_for(INNER_CSRF_SECONDS)?;
        let key = form.given(KEY).map(|key| ("idempotency-key", key));
        let headers: Vec<_> = [("x-csrf-token", csrf.as_str())].into_iter().chain(key).chain(more.to_vec()).collect();
        let body = (!body.is_null()).then_some(body);
        let token = Some(self.token.as_str());
        self.caller.send(&Call { method, path, token, known: None, headers: &headers, body }).await
    }

    /// Extends a session that was not used for a while: a person who reads and acts here is not idle.
    pub async fn extend(&self) -> Result<()> {
        let session = self.person.session()?;
        if self.now() - session.rotated_at < REST {
            return Ok(());
        }
        let body = serde_json::json!({ "refresh_token": refresh::token(&self.console.app, session) });
        let (path, body) = ("/v1/auth/refresh", Some(&body));
        let call = Call { method: Method::POST, path, token: None, known: None, headers: &[], body };
        self.caller.send(&call).await.map(|_| ())
    }

    /// Redirects to a page that shows a message about what was done.
    pub fn done(&self, path: &str, said: &str) -> Response {
        let mut response = away(path);
        response.headers_mut().append(header::SET_COOKIE, cookie::say(&self.console.app, said));
        response
    }

    /// Redirects to a page that warns: what was wanted did not come about.
    pub fn warned(&self, path: &str, said: &str) -> Response {
        let mut response = away(path);
        response.headers_mut().append(header::SET_COOKIE, cookie::warn(&self.console.app, said));
        response
    }
}

/// Leads to another page.
pub fn away(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or_else(|_| HeaderValue::from_static("/console"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

impl<S: Sync> FromRequestParts<S> for Desk {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| Problem::internal("a page without its desk"))
    }
}
