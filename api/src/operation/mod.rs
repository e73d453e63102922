//! `/blockchain/operations`: what the platform wants of its chains, and how far each wish is.

mod arguments;
mod record;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use chrono::{DateTime, Utc};
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::{self, Filter, Operation, Status};
use muniment_domain::{approval, attempt, chain, id, lane, step, wish};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::instant;
use crate::pages::{Page, Parameters};

/// Where an operation is found.
pub fn path(id: &str) -> String {
    format!("/blockchain/operations/{id}")
}

const PARAMETERS: [&str; 13] = [
    "status",
    "type",
    "needs_attention",
    "offering_id",
    "subject_id",
    "signer",
    "batch_id",
    "created_from",
    "created_to",
    "q",
    "page",
    "limit",
    "after",
];

/// `GET /blockchain/operations`: newest first. After an id, a page costs what it holds; a numbered one counts, up to a bound.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &PARAMETERS)?;
    let filter = filter(&parameters)?;
    let page =
        if filter.after.is_none() { Page::of(&parameters)? } else { Page { number: 1, limit: parameters.limit()? } };
    let mut tx = app.db.read().await?;
    // One more than asked tells whether there is a next page.
    let mut operations = operation::list(&mut tx, &filter, page.limit + 1, page.offset()).await?;
    let more = usize::try_from(page.limit).is_ok_and(|limit| operations.len() > limit);
    if more {
        operations.pop();
    }
    let next_after = operations.last().filter(|_| more).map(|op| op.id.clone());
    let data: Vec<_> = operations.iter().map(|op| short(&app, op)).collect();
    if filter.after.is_some() {
        return Ok(Json(json!({ "data": data, "pagination": { "limit": page.limit, "next_after": next_after } })));
    }
    let total = operation::count(&mut tx, &filter).await?;
    let mut body = page.answer(data, total);
    body["pagination"]["total_is_exact"] = json!(total < operation::COUNTED_MAX);
    body["pagination"]["next_after"] = json!(next_after);
    Ok(Json(body))
}

fn filter(parameters: &Parameters) -> Result<Filter> {
    let filter = Filter {
        statuses: parameters.words("status")?,
        kinds: parameters.words("type")?,
        needs_attention: parameters.word("needs_attention")?,
        offering_id: parameters.id("offering_id", "off")?,
        subject_id: parameters.text("subject_id").map(str::to_owned),
        signer: parameters.hex("signer", 40)?,
        batch_id: parameters.text("batch_id").map(str::to_owned),
        created_from: parameters.time("created_from")?,
        created_to: parameters.time("created_to")?,
        tx_hash: parameters.hex("q", 64)?,
        after: parameters.id("after", "op")?,
    };
    match (filter.created_from, filter.created_to) {
        (Some(from), Some(to)) if from > to => {
            Err(Problem::new(Code::InvalidParameter, "created_from lies after created_to."))
        }
        _ => Ok(filter),
    }
}

/// `GET /blockchain/operations/{id}`: everything about one.
pub async fn detail(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Value>> {
    id::check("op", &id)?;
    let mut tx = app.db.read().await?;
    let operation = operation::find(&mut tx, &id).await?;
    let lane = match &operation.lane_id {
        Some(lane_id) => Some(lane::find(&mut tx, lane_id).await?),
        None => None,
    };
    let parts = record::Parts {
        chain: chain::find(&mut tx, operation.chain_id).await?,
        steps: step::of_operation(&mut tx, &id).await?,
        attempts: attempt::of_operation(&mut tx, &id).await?,
        history: operation::history(&mut tx, &id).await?,
        approval_id: approval::of_operation(&mut tx, &id, operation.batch_id.as_deref()).await?,
        wishes: wish::of_operation(&mut tx, &id).await?,
        lane,
        operation,
    };
    Ok(Json(record::full(&app, &parts)))
}

/// `GET /blockchain/operations/stats`: what is unfinished or waits for a person, and how long finality took lately. Finished ones are
/// not counted.
pub async fn stats(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let counted = operation::stats(&mut tx).await?;
    let sum = |status: Status| counted.iter().filter(|(s, ..)| *s == status).map(|(.., count)| count).sum::<i64>();
    let (mut by_status, mut by_type) = (Map::new(), Map::new());
    for status in Status::ALL.iter().filter(|status| **status != Status::Confirmed) {
        by_status.insert(status.to_string(), json!(sum(*status)));
    }
    for (status, kind, count) in &counted {
        by_type.entry(kind.to_string()).or_insert_with(|| json!({}))[status.as_str()] = json!(count);
    }
    let now = tx.now();
    let age = |since: Option<DateTime<Utc>>| since.map(|since| (now - since).num_seconds());
    let pending = age(operation::oldest_at(&mut tx, Status::Pending).await?);
    let submitted = age(operation::oldest_at(&mut tx, Status::Submitted).await?);
    let times = operation::times_to_final(&mut tx).await?;
    let milliseconds = |percent| operation::percentile(&times, percent).map(|time| time.num_milliseconds());
    Ok(Json(json!({
        "unfinished": by_status, "by_type": by_type, "needs_attention": sum(Status::Failed) + sum(Status::DeadLetter),
        "oldest_pending_seconds": pending, "oldest_submitted_seconds": submitted,
        "submitted_to_final": { "sample": times.len(), "p50_milliseconds": milliseconds(50), "p95_milliseconds": milliseconds(95) },
        "as_of": instant::text(now),
    })))
}

/// The answer to a request that became this operation.
pub fn accepted(app: &App, op: &Operation) -> Answer {
    answer(app, op, 202)
}

/// An operation as the answer to what was asked of it, with where it is found.
pub fn answer(app: &App, op: &Operation, status: i64) -> Answer {
    Answer { status, location: Some(path(&op.id)), body: short(app, op).to_string() }
}

/// An operation as lists and acceptances show it.
pub fn short(app: &App, op: &Operation) -> Value {
    json!({
        "id": op.id, "type": op.kind, "status": op.status, "resolution": op.resolution, "needs_attention": op.needs_attention(),
        "subject": { "type": op.subject_type, "id": op.subject_id }, "offering_id": op.offering_id, "batch_id": op.batch_id,
        "chain_id": op.chain_id, "network": app.network(op.chain_id), "tx_hash": op.tx_hash.map(|hash| hash.to_string()),
        "predicted_address": predicted_address(op), "blocked_reason": op.blocked_reason, "error": record::problem(op), "requested_by": op.requested_by,
        "created_at": instant::text(op.created_at), "submitted_at": instant::optional(op.submitted_at),
        "confirmed_at": instant::optional(op.confirmed_at), "failed_at": instant::optional(op.failed_at),
        "updated_at": instant::text(op.updated_at), "version": op.version,
    })
}

/// Where the token of a deployment will stand, known before anything is sent.
pub fn predicted_address(op: &Operation) -> Option<String> {
    let address = op.payload.0["predicted_address"].as_str()?;
    address.parse::<alloy_primitives::Address>().ok().map(|address| address.to_checksum(None))
}
