//! `GET /v1/offerings`.

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use muniment_domain::offering::{self, Filter, Scope, Status};
use serde_json::Value;

use super::{record, seeing};
use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::pages::{Page, Parameters};
use crate::principal::Principal;

const KNOWN: [&str; 7] = ["status", "page", "limit", "created_from", "created_to", "sort", "q"];
const WORDS_CHARACTERS_MAX: usize = 100;

/// The offerings that the caller may see, newest first.
pub async fn list(State(app): State<App>, principal: Option<Extension<Principal>>, uri: Uri) -> Result<Response> {
    let principal = principal.as_deref();
    let parameters = Parameters::read(&uri, &KNOWN)?;
    let (page, scope) = (Page::of(&parameters)?, seeing(principal));
    let filter = filter(&parameters, &scope)?;
    let mut tx = app.db.read().await?;
    let (rows, total) = offering::page(&mut tx, &scope, &filter, page.limit, page.offset()).await?;
    let data: serde_json::Result<Vec<Value>> =
        rows.iter().map(|shown| serde_json::to_value(record::item(shown))).collect();
    let caching = if principal.is_some() { "no-store" } else { "public, max-age=30" };
    let body = page.answer(data.map_err(Problem::internal)?, total);
    Ok((StatusCode::OK, [(header::CACHE_CONTROL, caching)], Json(body)).into_response())
}

fn filter(parameters: &Parameters, scope: &Scope) -> Result<Filter> {
    let invalid = |detail: String| Err(Problem::new(Code::InvalidParameter, detail));
    let statuses: Vec<Status> = parameters.words("status")?;
    // What is not public can be asked for by those alone who have such offerings.
    let inner = matches!(scope, Scope::All | Scope::Org(_));
    if let Some(status) = statuses.iter().find(|status| !inner && !status.is_public()) {
        return invalid(format!("The parameter status does not fit: {status} is not shown to you."));
    }
    let words = parameters.text("q").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if words.is_some() && *scope != Scope::All {
        return Err(Problem::new(Code::UnknownParameter, "q is for the platform's people."));
    }
    if words.as_ref().is_some_and(|text| text.chars().count() > WORDS_CHARACTERS_MAX) {
        return invalid(format!("The parameter q has at most {WORDS_CHARACTERS_MAX} characters."));
    }
    Ok(Filter {
        statuses,
        created_from: parameters.time("created_from")?,
        created_to: parameters.time("created_to")?,
        words,
        order: parameters.word("sort")?.unwrap_or_default(),
    })
}
