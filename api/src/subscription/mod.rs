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
use muniment_domain::id::{InvestorId, OfferingId, SubscriptionId};
use muniment_domain::principal;
use muniment_domain::subscription::{self, Filter, Scope};
use muniment_domain::total::Total;
use muniment_domain::user::Role;
use utoipa::IntoParams;

pub use record::View;

use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::pages::{Between, Continued, Page, Paging, Parameters, Scroll};
use crate::http::version::etag;
use crate::offering::{self, brief};

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

const FILTERS: [&str; 8] =
    ["status", "offering_id", "investor_id", "wallet_address", "created_from", "created_to", "after", "expand"];

/// The filters of the list of subscriptions.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One status, or several separated by commas.
    #[param(example = "committed,accepted")]
    status: Option<String>,
    offering_id: Option<OfferingId>,
    /// Only for staff.
    investor_id: Option<InvestorId>,
    /// The wallet that the units go to.
    #[param(pattern = "^0x[0-9a-fA-F]{40}$")]
    wallet_address: Option<String>,
    /// The id after which the page starts. `page` is then ignored.
    #[param(pattern = "^sub_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
    /// `offering` adds the offering to each subscription.
    #[param(pattern = "^offering$")]
    expand: Option<String>,
}

/// List subscriptions, newest first.
#[utoipa::path(
    get,
    path = "/v1/subscriptions",
    params(Filters, Between, Paging),
    responses((status = 200, body = Scroll<View>)),
)]
pub async fn list(State(app): State<App>, Principal(principal): Principal, uri: Uri) -> Result<Json<Scroll<View>>> {
    let (asked, parameters) = Page::read(&uri, &FILTERS)?;
    if !principal.roles.is_staff() && parameters.text("investor_id").is_some() {
        return Err(Problem::new(Code::RoleForbidden, "Only staff can use the parameter investor_id."));
    }
    let filter = Filter {
        statuses: parameters.words("status")?,
        offering_id: parameters.id("offering_id")?,
        investor_id: parameters.id("investor_id")?,
        wallet_address: parameters.hex("wallet_address", 40)?,
        after: parameters.id("after")?,
        created: parameters.created()?,
        ..Filter::default()
    };
    let mut tx = app.db.read().await?;
    let Json(mut listed) = page(&mut tx, &scope(&principal), &filter, asked).await?;
    expand(&mut tx, &parameters, &mut listed.data).await?;
    Ok(Json(listed))
}

/// Adds the offering to each subscription, if the request asks for it.
async fn expand(tx: &mut Tx, parameters: &Parameters, views: &mut [View]) -> Result<()> {
    let ids = views.iter().map(|view| &view.offering_id);
    let offerings = brief::expanded(tx, parameters, ids).await?;
    views.iter_mut().for_each(|view| view.offering = offerings.get(&view.offering_id).cloned());
    Ok(())
}

/// List the subscriptions of an offering, newest first.
///
/// Each shows the progress of its mint.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/subscriptions",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "accepted"), ("after" = Option<String>, Query, description = "The id after which the page starts. `page` is then ignored.", pattern = "^sub_[0-7][0-9a-hjkmnp-tv-z]{25}$"), Between, Paging),
    responses((status = 200, body = Scroll<View>)),
)]
pub async fn of_offering(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<Scroll<View>>> {
    let (asked, parameters) = Page::read(&uri, &["status", "created_from", "created_to", "after"])?;
    let after = parameters.id("after")?;
    let (statuses, created) = (parameters.words("status")?, parameters.created()?);
    let mut tx = app.db.read().await?;
    offering::find_run_by(&mut tx, &principal, &id).await?;
    let filter = Filter { statuses, created, after, offering_id: Some(id), ..Filter::default() };
    page(&mut tx, &Scope::All, &filter, asked).await
}

async fn page(tx: &mut Tx, scope: &Scope, filter: &Filter, page: Page) -> Result<Json<Scroll<View>>> {
    let asked = Continued::of(page, filter.after.as_deref());
    let mut rows = subscription::list(tx, scope, filter, asked.limit(), asked.offset()).await?;
    let total = match (asked.counts(), Total::from_page(rows.len(), asked.limit(), asked.offset())) {
        (false, _) => None,
        (true, Some(total)) => Some(total),
        (true, None) => Some(subscription::count(tx, scope, filter, asked.offset()).await?),
    };
    let next_after = asked.cut(&mut rows, |row| &row.subscription.id);
    let data = rows.iter().map(|row| record::item(row, tx.now())).collect();
    Ok(Json(asked.list(data, next_after, total)))
}

/// Read a subscription.
#[utoipa::path(
    get,
    path = "/v1/subscriptions/{id}",
    params(("expand" = Option<String>, Query, description = "`offering` adds the offering.", pattern = "^offering$", example = "offering")),
    responses((status = 200, body = View, headers(("ETag")))),
)]
pub async fn detail(
    State(app): State<App>,
    Path(id): Path<SubscriptionId>,
    Principal(principal): Principal,
    uri: Uri,
) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["expand"])?;
    let mut tx = app.db.read().await?;
    let (version, mut body) = shown(&mut tx, &scope(&principal), &id).await?;
    expand(&mut tx, &parameters, std::slice::from_mut(&mut body)).await?;
    let kept = [(header::ETAG, etag(version)), (header::CACHE_CONTROL, "no-store".to_owned())];
    Ok((kept, Json(body)).into_response())
}

/// A subscription, whose id may be malformed, as answers show it.
async fn shown(tx: &mut Tx, scope: &Scope, id: &SubscriptionId) -> muniment_domain::Result<(i64, View)> {
    id.check()?;
    let row = subscription::listed(tx, scope, id).await?;
    Ok((row.subscription.version, record::item(&row, tx.now())))
}
