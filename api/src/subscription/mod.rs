//! `/v1/subscriptions`: the subscriptions of investors.

pub mod act;
pub mod payment;
pub mod record;
mod routes;
pub mod subscribe;
pub mod wallet;

pub use routes::routes;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::db::Tx;
use muniment_domain::subscription::{self, Filter, Scope};
use muniment_domain::user::Role;
use muniment_domain::{id, principal};
use utoipa::IntoParams;

pub use record::View;

use crate::access::principal::Principal;
use crate::app::App;
use crate::http::error::Result;
use crate::http::pages::{Between, List, Page, Paging};
use crate::http::version::etag;
use crate::offering;

/// The subscriptions that a caller sees: staff all, investors their own, issuers the subscriptions of their offerings.
pub fn scope(principal: &principal::Principal) -> Scope {
    within(principal, Role::ALL)
}

/// The subscriptions that a caller may change in this role. A user who is investor and issuer cannot accept their own subscriptions, or
/// withdraw others'.
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

/// The filters of the list of subscriptions.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One status, or several separated by commas.
    #[param(example = "committed,accepted")]
    status: Option<String>,
    #[param(pattern = "^off_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    offering_id: Option<String>,
    /// The fields for staff.
    #[param(pattern = "^inv_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    investor_id: Option<String>,
}

/// List subscriptions, newest first.
#[utoipa::path(
    get,
    path = "/v1/subscriptions",
    params(Filters, Between, Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(State(app): State<App>, Principal(principal): Principal, uri: Uri) -> Result<Json<List<View>>> {
    let mut filters = vec!["status", "offering_id", "created_from", "created_to"];
    if principal.roles.is_staff() {
        filters.push("investor_id");
    }
    let (asked, parameters) = Page::read(&uri, &filters)?;
    let filter = Filter {
        statuses: parameters.words("status")?,
        offering_id: parameters.id("offering_id", "off")?,
        investor_id: parameters.id("investor_id", "inv")?,
        created: parameters.created()?,
        ..Filter::default()
    };
    page(&mut app.db.read().await?, &scope(&principal), &filter, asked).await
}

/// List the subscriptions of an offering, newest first.
///
/// Each shows the progress of its mint.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/subscriptions",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "accepted"), Between, Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn of_offering(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<List<View>>> {
    let (asked, parameters) = Page::read(&uri, &["status", "created_from", "created_to"])?;
    let (statuses, created) = (parameters.words("status")?, parameters.created()?);
    let mut tx = app.db.read().await?;
    offering::find_run_by(&mut tx, &principal, &id).await?;
    let filter = Filter { statuses, created, offering_id: Some(id), ..Filter::default() };
    page(&mut tx, &Scope::All, &filter, asked).await
}

async fn page(tx: &mut Tx, scope: &Scope, filter: &Filter, page: Page) -> Result<Json<List<View>>> {
    let (rows, total) = subscription::list(tx, scope, filter, page.limit, page.offset()).await?;
    Ok(Json(page.list(rows.iter().map(|row| record::item(row, tx.now())), total)))
}

/// Read a subscription.
#[utoipa::path(
    get,
    path = "/v1/subscriptions/{id}",
    responses((status = 200, body = View, headers(("ETag")))),
)]
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
async fn shown(tx: &mut Tx, scope: &Scope, id: &str) -> muniment_domain::Result<(i64, View)> {
    id::check("sub", id)?;
    let row = subscription::listed(tx, scope, id).await?;
    Ok((row.subscription.version, record::item(&row, tx.now())))
}
