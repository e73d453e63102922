//! Retrying several operations: those that were selected, or all that match the filter. First what it would do, then with a reason.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::Method;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::PATH;
use super::filter::Filter;
use crate::console::desk::Desk;
use crate::console::field::Filled;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::problem::refusal;
use crate::console::{html, wording};
use crate::http::error::{Problem, Result};

/// As many as one request retries.
const LIMIT: usize = 500;
const API: &str = "/blockchain/operations/bulk-retry";

#[derive(Template)]
#[template(path = "bulk_retry.html")]
struct Page {
    frame: Frame,
    outcome: Outcome,
    /// How many were chosen; none if they are all that match.
    chosen: Option<usize>,
    skipped: Vec<Skipped>,
    hidden: Vec<(String, String)>,
    reason: String,
    refused: Option<String>,
    key: String,
}

#[derive(Deserialize)]
struct Outcome {
    matched: i64,
    queued: Vec<String>,
    skipped: Vec<Skipped>,
}

#[derive(Clone, Deserialize)]
struct Skipped {
    id: String,
    code: String,
}

/// What it would do. Nothing is changed.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let query = query.unwrap_or_default();
    let fields: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    shown(&desk, &Form::of(fields), None).await
}

async fn shown(desk: &Desk, form: &Form, refused: Option<&Problem>) -> Result<Response> {
    let Some(filter) = filter(desk, form) else {
        return Ok(desk.done(PATH, "No operation was selected. Nothing was changed."));
    };
    let body = json!({ "filter": filter, "limit": LIMIT, "dry_run": true });
    let key = desk.key();
    let reply = desk.change(Method::POST, API, &Form::default(), &body, &[("idempotency-key", &key)]).await?;
    let outcome: Outcome = serde_json::from_value(reply.body).map_err(Problem::internal)?;
    let ids = form.all(ID);
    let chosen = (!ids.is_empty() && form.given("status").is_none()).then_some(ids.len());
    // The form names exactly what the page shows: what fails later is not retried by it.
    let queued = outcome.queued.iter().map(|id| (ID.to_owned(), id.clone()));
    let kept = form.kept().into_iter().filter(|(name, _)| NAMES.contains(&name.as_str()));
    let (hidden, skipped) = (kept.chain(queued).collect(), outcome.skipped.clone());
    let (status, refused) = refusal(refused);
    let frame = Frame::of(desk, PATH, "Retry operations").await?;
    let (reason, key) = (Filled::of_form(form).text("reason").to_owned(), desk.key());
    Ok(html::page(status, &Page { frame, outcome, chosen, skipped, hidden, reason, refused, key }))
}

/// The retry, once for the key of the form.
pub async fn act(desk: Desk, form: Form) -> Result<Response> {
    let ids = form.all(ID);
    if ids.is_empty() {
        return Ok(desk.done(PATH, "No operation was selected. Nothing was changed."));
    }
    let body = json!({ "filter": { "operation_ids": ids }, "limit": LIMIT, "reason": form.text("reason") });
    let reply = match desk.post(API, &form, &body).await {
        Ok(reply) => reply,
        Err(problem) if matches!(problem.code.status(), 400 | 422) => return shown(&desk, &form, Some(&problem)).await,
        Err(problem) => return Err(problem),
    };
    let outcome: Outcome = serde_json::from_value(reply.body).map_err(Problem::internal)?;
    let queued = wording::count(i64::try_from(outcome.queued.len()).unwrap_or_default(), "retry is", "retries are");
    let said = match ids.len().saturating_sub(outcome.queued.len()) {
        0 => format!("{queued} accepted. Five start in each second."),
        changed => {
            format!(
                "{queued} accepted. Left out, because they have changed meanwhile: {changed}. Five start in each second."
            )
        }
    };
    Ok(desk.done(&back(&form), &said))
}

/// The field with an operation.
const ID: &str = "id";
/// What the form keeps of the list: its filter.
const NAMES: [&str; 5] = ["status", "type", "offering_id", "error_code", "age"];

/// The list as it was filtered.
fn back(form: &Form) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in &NAMES {
        if let Some(value) = form.given(name) {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { PATH.to_owned() } else { format!("{PATH}?{query}") }
}

/// The filter of the API. None if nothing was chosen, so that a click by mistake retries nothing.
fn filter(desk: &Desk, form: &Form) -> Option<Value> {
    let mut filter = Map::new();
    let ids = form.all(ID);
    if !ids.is_empty() {
        filter.insert("operation_ids".to_owned(), json!(ids));
        return Some(Value::Object(filter));
    }
    for name in ["status", "type", "offering_id", "error_code"] {
        if let Some(value) = form.given(name).filter(|value| *value != "attention") {
            filter.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(from) = form.given("age").and_then(|age| super::filter::created_from(age, desk.now())) {
        filter.insert("created_from".to_owned(), json!(from));
    }
    form.given("status").map(|_| Value::Object(filter))
}

/// The address of a bulk retry of everything that matches. None if the filter has a part that a bulk retry does not take.
pub fn all_path(filter: &Filter) -> Option<String> {
    let hidden = filter.hidden();
    let fits = hidden.iter().all(|(name, _)| NAMES.contains(name));
    let waits = ["attention", "failed", "dead_letter"].contains(&filter.status());
    let query = filter.path();
    (fits && waits).then(|| query.replacen(PATH, &format!("{PATH}/retry"), 1))
}
