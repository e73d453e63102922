//! A request that is done once: who asks, under which key, for what.

use alloy_primitives::hex;
use axum::extract::{FromRequest, FromRequestParts, Request};
use chrono::{DateTime, Utc};
use muniment_domain::idempotency::Key;
use muniment_workflows::requester::Requester;
use serde::de::DeserializeOwned;

use crate::access::principal::Principal;
use crate::access::route::Route;
use crate::app::App;
use crate::change::idempotency;
use crate::http::body;
use crate::http::error::{Problem, Result};
use crate::http::request_id::RequestId;

const PURPOSE: &str = "idempotency";

/// The body of a request that changes something.
pub trait Form: DeserializeOwned + Send + Sync {
    /// Whether the body may be left out. It is then read as an empty object.
    const MAY_BE_EMPTY: bool = false;

    /// Refuses a body that is wrong whatever the state of the platform.
    fn check(&self, now: DateTime<Utc>) -> Result<()>;
}

/// The request, read and sound in form.
#[derive(Debug)]
pub struct Submission<T> {
    /// The request body.
    pub body: T,
    /// The key under which it is wanted once, if it names one.
    pub key: Key,
    /// The request's id.
    pub request_id: String,
    /// Whether the answer holds a secret, so that it is stored encrypted.
    pub answers_secret: bool,
}

impl<T> Submission<T> {
    /// Who asks, for the operation's row.
    pub fn requester(&self) -> Requester {
        Requester {
            actor: self.key.principal.clone(),
            request_id: Some(self.request_id.clone()),
            idempotency_key: self.key.is_named().then(|| self.key.spent_for()),
        }
    }
}

impl<T: Form> FromRequest<App> for Submission<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (mut parts, content) = request.into_parts();
        let Principal(principal) = Principal::from_request_parts(&mut parts, app).await?;
        let RequestId(request_id) = RequestId::from_request_parts(&mut parts, app).await?;
        let route = parts.extensions.get::<&'static Route>().copied();
        let route = route.ok_or_else(|| Problem::internal("a request without the row of its endpoint"))?;
        let bytes = body::read(content, app.limits.body_bytes_max).await?;
        let body: T = body::parse(if T::MAY_BE_EMPTY && bytes.is_empty() { b"{}" } else { &bytes })?;
        body.check(app.db.clock().now())?;
        let (method, path) = (parts.method.as_str().to_owned(), parts.uri.path().to_owned());
        let key = match idempotency::key_of(&parts.headers)? {
            Some(key) => key,
            None if !principal.is_person() && route.requires_idempotency_key => return Err(idempotency::required()),
            None => String::new(),
        };
        // Of the body only a code is kept that nobody else can compute: what is handed in may be easy to guess and not ours to show.
        let codes = app.auth.secrets.macs(PURPOSE, &[method.as_bytes(), path.as_bytes(), &bytes]);
        let mut codes = codes.iter().map(hex::encode);
        let fingerprint = codes.next().unwrap_or_default();
        // A key acts for its owner: a new API key of the same person finds the answers of the old one.
        let key = Key { principal: principal.user_id, method, path, key, fingerprint, earlier: codes.collect() };
        Ok(Self { body, key, request_id, answers_secret: route.answers_secret })
    }
}
