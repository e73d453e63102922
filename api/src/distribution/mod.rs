//! `/v1/distributions`: money for the holders of a token.

pub mod act;
pub mod claim;
pub mod create;
pub mod entitlement;
pub mod execute;
pub mod record;
pub mod reissue;
pub mod report;
mod routes;

pub use routes::routes;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Filter, Kind, Scope};
use muniment_domain::id::{DistributionId, OfferingId};
use muniment_domain::user::Role;
use muniment_domain::{Code, Error, offering};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::access::principal::Principal;
use crate::app::App;
use crate::http::error::Result;
use crate::http::pages::{Between, Continued, Page, Paging, Parameters, Scroll};
use crate::http::version::etag;
use crate::offering::brief;

/// The distributions that a caller sees: staff all, investors those with an entitlement of theirs, issuers their own.
fn seeing(principal: &Principal) -> Scope {
    match running(principal) {
        Scope::Own { issuer_id, .. } => {
            let user_id = principal.0.has_role(Role::Investor).then(|| principal.0.user_id.clone());
            Scope::Own { user_id, issuer_id }
        }
        all => all,
    }
}

/// The distributions that a caller manages. A user who is investor and issuer does not manage distributions of other issuers.
fn running(principal: &Principal) -> Scope {
    if principal.is_staff() {
        return Scope::All;
    }
    let issuer_id = principal.0.issuer_id.clone().filter(|_| principal.0.has_role(Role::Issuer));
    Scope::Own { user_id: None, issuer_id }
}

/// A distribution with the fields that the caller may see.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionShown)]
#[serde(untagged)]
pub enum View {
    /// The fields for staff.
    Full(Box<record::Full>),
    /// The fields for the issuer.
    Org(Box<record::Org>),
    /// The fields for an investor.
    Own(Box<record::Own>),
}

impl View {
    fn facts(&mut self) -> &mut record::Facts {
        match self {
            Self::Full(full) => &mut full.account.facts,
            Self::Org(org) => &mut org.account.facts,
            Self::Own(own) => &mut own.facts,
        }
    }
}

const FILTERS: [&str; 7] = ["status", "offering_id", "type", "created_from", "created_to", "after", "expand"];

/// The filters of the list of distributions.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One status, or several separated by commas.
    #[param(example = "approved")]
    status: Option<String>,
    /// Only distributions of this offering.
    offering_id: Option<OfferingId>,
    /// Only this kind of income.
    #[param(inline, rename = "type")]
    kind: Option<Kind>,
    /// The id after which the page starts. `page` is then ignored.
    #[param(pattern = "^dist_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
    /// `offering` adds the offering to each distribution.
    #[param(pattern = "^offering$")]
    expand: Option<String>,
}

/// List distributions, newest first.
///
/// An investor sees only their own part of each. An issuer sees its own distributions.
#[utoipa::path(
    get,
    path = "/v1/distributions",
    params(Filters, Between, Paging),
    responses((status = 200, body = Scroll<View>)),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<Scroll<View>>> {
    let (page, parameters) = Page::read(&uri, &FILTERS)?;
    let filter = Filter {
        statuses: parameters.words("status")?,
        offering_id: parameters.id("offering_id")?,
        kind: parameters.word("type")?,
        created: parameters.created()?,
        after: parameters.id("after")?,
        ..Filter::default()
    };
    let (mut tx, scope) = (app.db.read().await?, seeing(&principal));
    let page = Continued::of(page, filter.after.as_deref());
    let mut rows = distribution::list(&mut tx, &scope, &filter, page.limit(), page.offset()).await?;
    let next_after = page.cut(&mut rows, |d| &d.id);
    let total = match page.counts() {
        true => Some(distribution::count(&mut tx, &scope, &filter).await?.into()),
        false => None,
    };
    let mut data = Vec::with_capacity(rows.len());
    for d in &rows {
        data.push(shown(&mut tx, &scope, d).await?);
    }
    expand(&mut tx, &parameters, &mut data).await?;
    Ok(Json(page.list(data, next_after, total)))
}

/// Read a distribution.
///
/// The fields depend on the caller's role.
#[utoipa::path(
    get,
    path = "/v1/distributions/{id}",
    params(("expand" = Option<String>, Query, description = "`offering` adds the offering.", pattern = "^offering$", example = "offering")),
    responses((status = 200, body = View, headers(("ETag")))),
)]
pub async fn detail(
    State(app): State<App>,
    Path(id): Path<DistributionId>,
    principal: Principal,
    uri: Uri,
) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["expand"])?;
    let (mut tx, scope) = (app.db.read().await?, seeing(&principal));
    let d = find(&mut tx, &scope, &id).await?;
    let mut view = shown(&mut tx, &scope, &d).await?;
    expand(&mut tx, &parameters, std::slice::from_mut(&mut view)).await?;
    Ok(([(header::ETAG, etag(d.version))], Json(view)).into_response())
}

/// Adds the offering to each distribution, if the request asks for it.
async fn expand(tx: &mut Tx, parameters: &Parameters, views: &mut [View]) -> Result<()> {
    let mut facts: Vec<_> = views.iter_mut().map(View::facts).collect();
    let offerings = brief::expanded(tx, parameters, facts.iter().map(|facts| &facts.offering_id)).await?;
    facts.iter_mut().for_each(|facts| facts.offering = offerings.get(&facts.offering_id).cloned());
    Ok(())
}

/// The distribution with this id, which may be malformed.
async fn find(tx: &mut Tx, scope: &Scope, id: &DistributionId) -> muniment_domain::Result<Distribution> {
    id.check()?;
    distribution::find(tx, scope, id).await
}

async fn shown(tx: &mut Tx, scope: &Scope, d: &Distribution) -> muniment_domain::Result<View> {
    let of = offering::find(tx, &d.offering_id).await?;
    Ok(match scope {
        Scope::All => View::Full(Box::new(record::full(tx, d, &of).await?)),
        Scope::Own { issuer_id, .. } if issuer_id.as_ref() == Some(&of.issuer_id) => {
            View::Org(Box::new(record::org(tx, d, &of).await?))
        }
        Scope::Own { user_id, .. } => {
            View::Own(Box::new(record::own(tx, d, &of, &user_id.clone().unwrap_or_default()).await?))
        }
    })
}

/// The handler did not set the id.
fn unnamed() -> Error {
    Error::refused(Code::NotFound, "The distribution id is missing.")
}
