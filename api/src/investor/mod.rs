//! `/v1/investors` for staff, `/v1/investor` for the investor.

pub mod accreditation;
pub mod decision;
pub mod document;
pub mod erasure;
pub mod export;
pub mod kyc;
pub mod portfolio;
pub mod profile;
mod record;
mod routes;
pub mod suspension;
pub mod tax;
pub mod wallet;

pub use routes::routes;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::id::InvestorId;
use muniment_domain::investor::{self, Filter};
use utoipa::IntoParams;

use record::{Facts, ForStaff};

use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::pages::{Between, List, Page, Paging};
use crate::http::version::etag;

/// The filters of the list of investors.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One status of the identity check, or several separated by commas.
    #[param(example = "pending,in_review")]
    status: Option<String>,
    /// Two capital letters (ISO 3166-1).
    #[param(example = "PT")]
    country: Option<String>,
    /// A part of the name. Not for auditors.
    #[param(example = "almeida")]
    q: Option<String>,
}

/// List investors, newest first.
#[utoipa::path(
    get,
    path = "/v1/investors",
    params(Filters, Between, Paging),
    responses((status = 200, body = List<Facts>)),
    extensions(("x-codes" = json!(["forbidden"]))),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<List<Facts>>> {
    let (page, parameters) = Page::read(&uri, &["status", "created_from", "created_to", "country", "q"])?;
    let text = |name| parameters.text(name).map(str::to_owned);
    let (statuses, created) = (parameters.words("status")?, parameters.created()?);
    let filter = Filter { statuses, created, country: text("country"), name: text("q") };
    let masked = principal.0.is_masked();
    if masked && filter.name.is_some() {
        return Err(Problem::new(Code::Forbidden, "You cannot search by name, because you see only masked names."));
    }
    let mut tx = app.db.read().await?;
    let (rows, total) = investor::page(&mut tx, &filter, page.limit, page.offset()).await?;
    Ok(Json(page.list(rows.iter().map(|i| record::facts(i, tx.now(), masked)), total)))
}

/// Read an investor with all decisions.
#[utoipa::path(
    get,
    path = "/v1/investors/{id}",
    responses((status = 200, body = ForStaff, headers(("ETag" = String)))),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<InvestorId>, principal: Principal) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let i = investor::find(&mut tx, &id).await?;
    let body = record::for_staff(&mut tx, &i, principal.0.is_masked()).await?;
    Ok(([(header::ETAG, etag(i.version))], Json(body)).into_response())
}
