//! `/blockchain/operations`: what the platform wants of its chains, and how far each wish is.

mod record;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use chrono::{DateTime, Utc};
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::{self, Filter, Operation, Status};
use muniment_domain::{approval, attempt, chain, id, lane, step};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::error::Result;
use crate::instant;
use crate::pages::Parameters;

/// Where an operation is found.
pub fn path(id: &str) -> String {
    format!("/blockchain/operations/{id}")
}

/// `GET /blockchain/operations`: newest first. The next page starts at an id, so that its cost is its own and not the table's.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    let known = ["status", "type", "offering_id", "batch_id", "needs_attention", "limit", "after"];
    let parameters = Parameters::read(&uri, &known)?;
    let filter = Filter {
        status: parameters.word("status")?,
        kind: parameters.word("type")?,
        offering_id: parameters.id("offering_id", "off")?,
        batch_id: parameters.text("batch_id").map(str::to_owned),
        needs_attention: parameters.word("needs_attention")?,
        after: parameters.id("after", "op")?,
    };
    let limit = parameters.limit()?;
    let mut tx = app.db.read().await?;
    // One more than asked tells whether there is a next page.
    let mut operations = operation::list(&mut tx, &filter, limit + 1).await?;
    let more = usize::try_from(limit).is_ok_and(|limit| operations.len() > limit);
    if more {
        operations.pop();
    }
    let next_after = operations.last().filter(|_| more).map(|op| op.id.clone());
    let data: Vec<_> = operations.iter().map(|op| short(&app, op)).collect();
    Ok(Json(json!({ "data": data, "pagination": { "limit": limit, "next_after": next_after } })))
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
        lane,
        operation,
    };
    Ok(Json(record::full(&app, &parts)))
}

/// `GET /blockchain/operations/stats`: what is unfinished or waits for a person. Finished ones are not counted.
pub async fn stats(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let counted = operation::stats(&mut tx).await?;
    let count = |status: Status| counted.iter().find(|(s, _)| *s == status).map_or(0, |(_, count)| *count);
    let mut by_status = Map::new();
    for status in Status::ALL.iter().filter(|status| **status != Status::Confirmed) {
        by_status.insert(status.to_string(), json!(count(*status)));
    }
    let now = tx.now();
    let age = |since: Option<DateTime<Utc>>| since.map(|since| (now - since).num_seconds());
    let pending = age(operation::oldest_at(&mut tx, Status::Pending).await?);
    let submitted = age(operation::oldest_at(&mut tx, Status::Submitted).await?);
    Ok(Json(json!({
        "unfinished": by_status, "needs_attention": count(Status::Failed) + count(Status::DeadLetter),
        "oldest_pending_seconds": pending, "oldest_submitted_seconds": submitted, "as_of": instant::text(now),
    })))
}

/// The answer to a request that became this operation.
pub fn accepted(app: &App, op: &Operation) -> Answer {
    Answer { status: 202, location: Some(path(&op.id)), body: short(app, op).to_string() }
}

/// An operation as lists and acceptances show it.
pub fn short(app: &App, op: &Operation) -> Value {
    json!({
        "id": op.id, "type": op.kind, "status": op.status, "resolution": op.resolution, "needs_attention": op.needs_attention(),
        "subject": { "type": op.subject_type, "id": op.subject_id }, "offering_id": op.offering_id, "batch_id": op.batch_id,
        "chain_id": op.chain_id, "network": app.network(op.chain_id), "tx_hash": op.tx_hash.map(|hash| hash.to_string()),
        "blocked_reason": op.blocked_reason, "error": record::problem(op), "requested_by": op.requested_by,
        "created_at": instant::text(op.created_at), "submitted_at": instant::optional(op.submitted_at),
        "confirmed_at": instant::optional(op.confirmed_at), "failed_at": instant::optional(op.failed_at),
        "updated_at": instant::text(op.updated_at), "version": op.version,
    })
}
