//! `GET /v1/offerings`.

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use muniment_domain::id::IssuerId;
use muniment_domain::offering::choice::Template;
use muniment_domain::offering::{self, Filter, Order, Scope, Status};
use utoipa::IntoParams;

use super::record::{self, Item};
use super::seeing;
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::pages::{Between, List, Page, Paging, Parameters};

const FILTERS: [&str; 7] = ["status", "issuer_id", "template", "created_from", "created_to", "sort", "q"];
const WORDS_CHARACTERS_MAX: usize = 100;

/// The filters of the list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One status, or several separated by commas. Only the issuer and staff see offerings that are not public.
    #[param(example = "open,paused")]
    status: Option<String>,
    /// Only offerings of this issuer.
    issuer_id: Option<IssuerId>,
    /// Only offerings made from this template.
    #[param(inline)]
    template: Option<Template>,
    /// The order of the list.
    #[param(inline)]
    sort: Option<Order>,
    /// A part of the name or symbol. Only for staff.
    #[param(max_length = 100)]
    q: Option<String>,
}

/// List offerings, newest first by default.
///
/// The list contains the offerings that the caller may see.
#[utoipa::path(
    get,
    path = "/v1/offerings",
    params(Filters, Between, Paging),
    responses((status = 200, body = List<Item>)),
)]
pub async fn list(State(app): State<App>, principal: Option<Extension<Principal>>, uri: Uri) -> Result<Response> {
    let principal = principal.as_deref();
    let ((page, parameters), scope) = (Page::read(&uri, &FILTERS)?, seeing(principal));
    let filter = filter(&parameters, &scope)?;
    let mut tx = app.db.read().await?;
    let (rows, total) = offering::page(&mut tx, &scope, &filter, page.limit, page.offset()).await?;
    let caching = if principal.is_some() { "no-store" } else { "public, max-age=30" };
    let body = page.list(rows.iter().map(record::item), total);
    Ok((StatusCode::OK, [(header::CACHE_CONTROL, caching)], Json(body)).into_response())
}

fn filter(parameters: &Parameters, scope: &Scope) -> Result<Filter> {
    let invalid = |detail: String| Err(Problem::new(Code::InvalidParameter, detail));
    let statuses: Vec<Status> = parameters.words("status")?;
    // Only callers with offerings of their own can ask for offerings that are not public.
    let inner = matches!(scope, Scope::All | Scope::Org(_));
    if let Some(status) = statuses.iter().find(|status| !inner && !status.is_public()) {
        return invalid(format!("The parameter status is invalid: you cannot see offerings with the status {status}."));
    }
    let words = parameters.text("q").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if words.is_some() && *scope != Scope::All {
        return Err(Problem::new(Code::RoleForbidden, "Only staff can use the parameter q."));
    }
    if words.as_ref().is_some_and(|text| text.chars().count() > WORDS_CHARACTERS_MAX) {
        return invalid(format!("The parameter q can have at most {WORDS_CHARACTERS_MAX} characters."));
    }
    Ok(Filter {
        statuses,
        issuer_id: parameters.id("issuer_id")?,
        template: parameters.word("template")?,
        created: parameters.created()?,
        words,
        order: parameters.word("sort")?.unwrap_or_default(),
    })
}
