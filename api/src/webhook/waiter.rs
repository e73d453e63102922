//! A caller who reads events again and again. The caller is looked up again before each answer, so a revoked key, an ended session or a
//! changed role ends the wait.

use axum::http::header;
use axum::http::request::Parts;
use muniment_domain::event_scope::{self, Filter};
use muniment_domain::id::EventId;
use muniment_domain::row_security;

use super::event::{EventView, shown};
use super::owner;
use crate::access::principal::{Principal, authenticate, bearer, missing};
use crate::access::route::Route;
use crate::app::App;
use crate::http::error::Result;
use crate::http::origin::Origin;

/// The caller.
pub struct Waiter {
    app: App,
    route: &'static Route,
    token: String,
    origin: Origin,
}

impl Waiter {
    /// The caller of an admitted request.
    pub fn new(app: App, route: &'static Route, request: &Parts) -> Self {
        let headers = &request.headers;
        let token =
            headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.to_str().ok()?)).unwrap_or_default();
        let origin = Origin::of(headers, request.extensions.get(), &app.limits.trusted_proxies);
        Self { route, token: token.to_owned(), origin, app }
    }

    /// The caller as the rows say now, if still admitted.
    pub async fn admitted(&self) -> Result<Principal> {
        if self.token.is_empty() {
            return Err(missing());
        }
        let principal = authenticate(&self.app, &self.token, &self.origin).await?;
        self.route.admit(&self.app, &principal)?;
        Ok(principal)
    }

    /// The position of an event; the beginning without one.
    pub async fn position(&self, principal: &Principal, id: Option<&EventId>) -> Result<i64> {
        let Some(id) = id else { return Ok(0) };
        self.limited(principal, async {
            let mut tx = self.app.db.read().await?;
            Ok(event_scope::position(&mut tx, id).await?)
        })
        .await
    }

    /// The id of the last event that the caller may see.
    pub async fn last(&self, principal: &Principal) -> Result<Option<EventId>> {
        self.limited(principal, async {
            let mut tx = self.app.db.read().await?;
            let owner = owner(&mut tx, principal).await?;
            Ok(event_scope::last(&mut tx, &owner).await?)
        })
        .await
    }

    /// A page of events, and the position of its last one.
    pub async fn page(
        &self,
        principal: &Principal,
        filter: &Filter<'_>,
        limit: i64,
    ) -> Result<(Vec<EventView>, Option<i64>)> {
        self.limited(principal, async {
            let mut tx = self.app.db.read().await?;
            let owner = owner(&mut tx, principal).await?;
            let events = event_scope::page(&mut tx, &owner, filter, limit).await?;
            let last = events.last().and_then(|event| event.position);
            Ok((shown(&mut tx, events).await?, last))
        })
        .await
    }

    // Outside of the handler nothing else sets the row security.
    async fn limited<T>(&self, principal: &Principal, read: impl Future<Output = Result<T>>) -> Result<T> {
        if !principal.0.is_only_investor() {
            return read.await;
        }
        row_security::limited_to(principal.0.investor_id.as_ref(), read).await
    }
}
