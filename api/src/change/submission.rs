//! A request that is carried out once: its caller, its key and its body.

use alloy_primitives::hex;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use muniment_domain::idempotency::Key;
use muniment_workflows::requester::Requester;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::access::route::Route;
use crate::app::App;
use crate::change::idempotency;
use crate::http::body;
use crate::http::error::{Problem, Result};
use crate::http::request_id::RequestId;

const PURPOSE: &str = "idempotency";

/// The body of a request that changes something.
pub trait Form: DeserializeOwned + ToSchema + Send + Sync {
    /// Whether the body may be left out. It is then read as an empty object.
    const MAY_BE_EMPTY: bool = false;

    /// Refuses a body that is wrong whatever the state of the platform.
    fn check(&self, now: DateTime<Utc>) -> Result<()>;
}

/// A request that changes something, read and checked.
#[derive(Debug)]
pub struct Submission<T> {
    /// The request body.
    pub body: T,
    /// The caller and the Idempotency-Key.
    pub sent: Sent,
}

/// The identity of a request without its body.
#[derive(Debug)]
pub struct Sent {
    /// The idempotency key, which is empty if the caller sent none.
    pub key: Key,
    /// The request's id.
    pub request_id: String,
    /// Whether the answer holds a secret, so that it is stored encrypted.
    pub answers_secret: bool,
}

impl Sent {
    /// The requester, for the operation's row.
    pub fn requester(&self) -> Requester {
        Requester {
            actor: self.key.principal.clone(),
            request_id: Some(self.request_id.clone()),
            idempotency_key: self.key.is_named().then(|| self.key.spent_for()),
        }
    }
}

impl<T: Form> FromRequest<App> for Submission<T> {
    /// A refusal, or the answer that a request with this key had before.
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (bytes, parts, principal) = read(request, app).await.map_err(IntoResponse::into_response)?;
        match (checked(&bytes, app), identify(app, &parts, principal, &bytes)) {
            (Ok(body), Ok(sent)) => Ok(Self { body, sent }),
            (Err(refused), Ok(sent)) => Err(idempotency::answer_or(app, &sent, refused).await.into_response()),
            (Err(refused), Err(_)) | (Ok(_), Err(refused)) => Err(refused.into_response()),
        }
    }
}

fn checked<T: Form>(bytes: &[u8], app: &App) -> Result<T> {
    let body: T = body::parse(if T::MAY_BE_EMPTY && bytes.is_empty() { b"{}" } else { bytes })?;
    body.check(app.db.clock().now())?;
    Ok(body)
}

async fn read(request: Request, app: &App) -> Result<(Bytes, Parts, Principal)> {
    let (mut parts, content) = request.into_parts();
    let principal = Principal::from_request_parts(&mut parts, app).await?;
    Ok((body::read(content, app.limits.body_bytes_max).await?, parts, principal))
}

fn identify(app: &App, parts: &Parts, Principal(principal): Principal, bytes: &[u8]) -> Result<Sent> {
    let request_id = parts.extensions.get::<RequestId>().map(|RequestId(id)| id.clone());
    let request_id = request_id.ok_or_else(|| Problem::internal("a request without its id"))?;
    let route = parts.extensions.get::<&'static Route>();
    let route = route.ok_or_else(|| Problem::internal("a request without the row of its endpoint"))?;
    let (method, path) = (parts.method.as_str().to_owned(), parts.uri.path().to_owned());
    let key = match idempotency::key_of(&parts.headers)? {
        Some(key) => key,
        None if !principal.is_person() && route.requires_idempotency_key => return Err(idempotency::required()),
        None => String::new(),
    };
    // Only a keyed hash of the body is stored, because a plain hash of guessable data would reveal it.
    let codes = app.auth.secrets.macs(PURPOSE, &[method.as_bytes(), path.as_bytes(), bytes]);
    let mut codes = codes.iter().map(hex::encode);
    let fingerprint = codes.next().unwrap_or_default();
    // A key acts for its owner: a new API key of the same person finds the answers of the old one.
    let key = Key { principal: principal.user_id.into(), method, path, key, fingerprint, earlier: codes.collect() };
    Ok(Sent { key, request_id, answers_secret: route.answers_secret })
}
