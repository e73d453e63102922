//! `/v1/subscriptions`: what investors committed, and what becomes of it.

mod act;
mod payment;
mod record;
mod subscribe;
mod wallet;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::db::Tx;
use muniment_domain::subscription::{self, Filter, Scope};
use muniment_domain::user::Role;
use muniment_domain::{id, principal};
use serde_json::Value;

pub use act::{accept, cancel, reconfirm, reject};
pub use payment::{payments, refund};
pub use subscribe::subscribe;
pub use wallet::change_wallet;

use crate::app::App;
use crate::error::Result;
use crate::offering;
use crate::pages::{Page, Parameters};
use crate::principal::Principal;
use crate::version::etag;

/// Where a subscription is found.
pub fn path(id: &str) -> String {
    format!("/v1/subscriptions/{id}")
}

/// Which subscriptions a caller sees: staff all of them, an investor the own ones, an issuer those in the organisation's offerings.
pub fn scope(principal: &principal::Principal) -> Scope {
    within(principal, Role::ALL)
}

/// Which ones a caller acts on in this part. Who is investor and issuer does not take his own subscriptions, or withdraw those of others.
fn acting_as(principal: &principal::Principal, role: Role) -> Scope {
    within(principal, &[role])
}

fn within(principal: &principal::Principal, parts: &[Role]) -> Scope {
    if principal.roles.is_staff() {
        return Scope::All;
    }
    let is = |role: Role| parts.contains(&role) && principal.has_role(role);
    let user_id = is(Role::Investor).then(|| principal.user_id.clone());
    Scope::Own { user_id, issuer_id: principal.issuer_id.clone().filter(|_| is(Role::Issuer)) }
}

/// `GET /v1/subscriptions`: newest first.
pub async fn list(State(app): State<App>, Principal(principal): Principal, uri: Uri) -> Result<Json<Value>> {
    let mut known = vec!["page", "limit", "status", "offering_id", "created_from", "created_to"];
    if principal.roles.is_staff() {
        known.push("investor_id");
    }
    let parameters = Parameters::read(&uri, &known)?;
    let filter = Filter {
        statuses: parameters.words("status")?,
        offering_id: parameters.id("offering_id", "off")?,
        investor_id: parameters.id("investor_id", "inv")?,
        created_from: parameters.time("created_from")?,
        created_to: parameters.time("created_to")?,
        ..Filter::default()
    };
    page(&app, &scope(&principal), &filter, &parameters).await
}

/// `GET /v1/offerings/{id}/subscriptions`: newest first, each with how far its mint is.
pub async fn of_offering(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["page", "limit", "status"])?;
    let mut tx = app.db.read().await?;
    offering::find_run_by(&mut tx, &principal, &id).await?;
    drop(tx);
    let filter = Filter { statuses: parameters.words("status")?, offering_id: Some(id), ..Filter::default() };
    page(&app, &Scope::All, &filter, &parameters).await
}

async fn page(app: &App, scope: &Scope, filter: &Filter, parameters: &Parameters) -> Result<Json<Value>> {
    let page = Page::of(parameters)?;
    let mut tx = app.db.read().await?;
    let (rows, total) = subscription::list(&mut tx, scope, filter, page.limit, page.offset()).await?;
    let data = rows.iter().map(|row| record::item(row, tx.now())).collect();
    Ok(Json(page.answer(data, total)))
}

/// `GET /v1/subscriptions/{id}`.
pub async fn detail(
    State(app): State<App>,
    Path(id): Path<String>,
    Principal(principal): Principal,
) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let (version, body) = shown(&mut tx, &scope(&principal), &id).await?;
    let kept = [(header::ETAG, etag(version)), (header::CACHE_CONTROL, "no-store".to_owned())];
    Ok((kept, Json(body)).into_response())
}

/// A subscription, whose id may be malformed, as answers show it.
async fn shown(tx: &mut Tx, scope: &Scope, id: &str) -> muniment_domain::Result<(i64, Value)> {
    id::check("sub", id)?;
    let row = subscription::listed(tx, scope, id).await?;
    Ok((row.subscription.version, record::item(&row, tx.now())))
}
