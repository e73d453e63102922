//! `/blockchain/operations`: the operations of the platform and their status.

mod about;
mod action;
mod arguments;
pub mod record;
mod routes;
pub mod row;
pub mod series;

pub use routes::routes;

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use chrono::{DateTime, Utc};
use muniment_domain::id::{BatchId, OfferingId, OperationId};
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::{self, Filter, Kind, Operation, Resolution, Status};
use muniment_domain::total::Total;
use muniment_domain::{approval, attempt, command, step};
use serde::Serialize;
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::field::id::location;
use crate::field::subject::Subject;
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::{Between, Continued, Page, Paging, Parameters, Place};

const FILTERS: [&str; 13] = [
    "status",
    "type",
    "needs_attention",
    "uncertain",
    "offering_id",
    "subject_id",
    "signer",
    "batch_id",
    "error_code",
    "created_from",
    "created_to",
    "q",
    "after",
];

/// A page of operations.
#[derive(Serialize, ToSchema)]
#[schema(as = Operations)]
pub struct Listed {
    data: Vec<row::Row>,
    pagination: Place,
}

/// List operations, newest first.
///
/// Pages after an id stay fast for any number of operations. Numbered pages count the operations, up to a limit.
#[utoipa::path(
    get,
    path = "/blockchain/operations",
    params(Filters, Between, Paging),
    responses((status = 200, body = Listed)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Listed>> {
    let (page, parameters) = Page::read(&uri, &FILTERS)?;
    let filter = filter(&parameters)?;
    let page = Continued::of(page, filter.after.as_deref());
    let mut tx = app.db.read().await?;
    let mut operations = operation::list(&mut tx, &filter, page.limit(), page.offset()).await?;
    let known = Total::from_page(operations.len(), page.limit(), page.offset());
    let next_after = page.cut(&mut operations, |op| &op.id);
    let data = row::rows(&app, &mut tx, &operations).await?;
    let total = match known {
        _ if !page.counts() => None,
        Some(total) => Some(total),
        None => Some(operation::count(&mut tx, &filter).await?),
    };
    Ok(Json(Listed { data, pagination: page.place(next_after, total) }))
}

fn filter(parameters: &Parameters) -> Result<Filter> {
    Ok(Filter {
        statuses: parameters.words("status")?,
        kinds: parameters.words("type")?,
        needs_attention: parameters.word("needs_attention")?,
        uncertain: parameters.word("uncertain")?,
        offering_id: parameters.id("offering_id")?,
        subject_id: parameters.text("subject_id").map(str::to_owned),
        signer: parameters.hex("signer", 40)?,
        batch_id: parameters.id("batch_id")?,
        error_code: parameters.text("error_code").map(str::to_owned),
        created: parameters.created()?,
        tx_hash: parameters.hex("q", 64)?,
        after: parameters.id("after")?,
    })
}

/// The filters of the list of operations.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    /// One status, or several separated by commas.
    #[param(example = "failed,dead_letter")]
    status: Option<String>,
    /// One type, or several separated by commas.
    #[param(rename = "type", example = "mint")]
    kind: Option<String>,
    needs_attention: Option<bool>,
    /// Only those for which an operator must act although a transaction of theirs is open or has succeeded, or only the others.
    uncertain: Option<bool>,
    offering_id: Option<OfferingId>,
    subject_id: Option<String>,
    /// The address of the signer.
    #[param(pattern = "^0x[0-9a-fA-F]{40}$")]
    signer: Option<String>,
    batch_id: Option<BatchId>,
    /// Only operations that failed with this error.
    #[param(example = "reverts")]
    error_code: Option<String>,
    /// The hash of one of the operation's transactions.
    #[param(pattern = "^0x[0-9a-fA-F]{64}$")]
    q: Option<String>,
    /// The id after which the page starts. `page` is then ignored.
    #[param(pattern = "^op_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
}

/// Read an operation with its steps, attempts and history.
#[utoipa::path(
    get,
    path = "/blockchain/operations/{id}",
    responses((status = 200, body = record::Full)),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<OperationId>) -> Result<Json<record::Full>> {
    id.check()?;
    let mut tx = app.db.read().await?;
    let operation = operation::find(&mut tx, &id).await?;
    let parts = record::Parts {
        row: row::rows(&app, &mut tx, std::slice::from_ref(&operation)).await?.pop(),
        steps: step::of_operation(&mut tx, &id).await?,
        attempts: attempt::of_operation(&mut tx, &id).await?,
        history: operation::history(&mut tx, &id).await?,
        approval_id: approval::of_operation(&mut tx, &id, operation.batch_id.as_ref()).await?,
        wishes: command::of_operation(&mut tx, &id).await?,
        operation,
    };
    Ok(Json(record::full(&app, parts)?))
}

/// The numbers of unfinished operations.
#[derive(Serialize, ToSchema)]
pub struct Stats {
    /// The numbers by status.
    #[schema(example = json!({ "pending": 2, "submitted": 1, "failed": 0, "dead_letter": 0 }))]
    unfinished: BTreeMap<&'static str, i64>,
    /// The numbers by kind and status.
    #[schema(example = json!({ "mint": { "pending": 2, "submitted": 1 } }))]
    by_type: BTreeMap<&'static str, BTreeMap<&'static str, i64>>,
    needs_attention: i64,
    /// The age of the oldest pending operation in seconds.
    oldest_pending_seconds: Option<i64>,
    /// The age of the oldest submitted operation in seconds.
    oldest_submitted_seconds: Option<i64>,
    /// The time from submission to finality.
    submitted_to_final: Times,
    as_of: Instant,
}

/// The time to finality of recent operations.
#[derive(Serialize, ToSchema)]
struct Times {
    /// The number of measured operations.
    sample: usize,
    /// The median in milliseconds.
    p50_milliseconds: Option<i64>,
    /// The 95th percentile in milliseconds.
    p95_milliseconds: Option<i64>,
}

/// Count unfinished operations and measure the time to finality.
///
/// Finished operations are not counted.
#[utoipa::path(
    get,
    path = "/blockchain/operations/stats",
    responses((status = 200, body = Stats)),
)]
pub async fn stats(State(app): State<App>, uri: Uri) -> Result<Json<Stats>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let counted = operation::stats(&mut tx).await?;
    let sum = |status: Status| counted.iter().filter(|(s, ..)| *s == status).map(|(.., count)| count).sum::<i64>();
    let (mut unfinished, mut by_type) = (BTreeMap::new(), BTreeMap::<_, BTreeMap<_, _>>::new());
    for status in Status::ALL.iter().filter(|status| **status != Status::Confirmed) {
        unfinished.insert(status.as_str(), sum(*status));
    }
    for (status, kind, count) in &counted {
        by_type.entry(kind.as_str()).or_default().insert(status.as_str(), *count);
    }
    let now = tx.now();
    let age = |since: Option<DateTime<Utc>>| since.map(|since| (now - since).num_seconds());
    let pending = age(operation::oldest_at(&mut tx, Status::Pending).await?);
    let submitted = age(operation::oldest_at(&mut tx, Status::Submitted).await?);
    let times = operation::times_to_final(&mut tx).await?;
    let milliseconds = |percent| operation::percentile(&times, percent).map(|time| time.num_milliseconds());
    Ok(Json(Stats {
        unfinished,
        by_type,
        needs_attention: sum(Status::Failed) + sum(Status::DeadLetter),
        oldest_pending_seconds: pending,
        oldest_submitted_seconds: submitted,
        submitted_to_final: Times {
            sample: times.len(),
            p50_milliseconds: milliseconds(50),
            p95_milliseconds: milliseconds(95),
        },
        as_of: Instant(now),
    }))
}

/// The answer to a request that became this operation.
pub fn accepted(app: &App, op: &Operation) -> Answer {
    answer(app, op, 202)
}

/// The answer to an action on an operation, with its location.
pub fn answer(app: &App, op: &Operation, status: i64) -> Answer {
    Answer { status, location: Some(location(&op.id)), body: json!(short(app, op)).to_string() }
}

/// An operation as lists show it.
#[derive(Serialize, ToSchema)]
#[schema(as = Operation)]
pub struct Short {
    id: OperationId,
    #[serde(rename = "type")]
    kind: Kind,
    status: Status,
    /// How an operator resolved the operation.
    resolution: Option<Resolution>,
    needs_attention: bool,
    subject: Subject,
    offering_id: Option<OfferingId>,
    batch_id: Option<BatchId>,
    chain_id: i64,
    network: String,
    /// The transaction that had the effect. Null until it is final.
    tx_hash: Option<String>,
    /// The address that the deployed token will have.
    predicted_address: Option<String>,
    /// The code of the reason why the operation waits; `/errors/{code}` explains it. Null if it does not wait.
    blocked_reason: Option<String>,
    /// The reason why it waits, as text.
    #[schema(example = "The key is being exchanged.")]
    blocked_detail: Option<String>,
    error: Option<record::OperationError>,
    requested_by: String,
    created_at: Instant,
    submitted_at: Option<Instant>,
    confirmed_at: Option<Instant>,
    /// When the operation failed. Null if it did not.
    failed_at: Option<Instant>,
    updated_at: Instant,
    version: i64,
}

/// An operation in short.
pub fn short(app: &App, op: &Operation) -> Short {
    let blocked = op.blocked_reason.as_deref().map(|reason| reason.split_once(": ").unwrap_or((reason, "")));
    Short {
        id: op.id.clone(),
        kind: op.kind,
        status: op.status,
        resolution: op.resolution,
        needs_attention: op.needs_attention(),
        subject: Subject { kind: op.subject_type.clone(), id: op.subject_id.clone() },
        offering_id: op.offering_id.clone(),
        batch_id: op.batch_id.clone(),
        chain_id: op.chain_id,
        network: app.network(op.chain_id),
        tx_hash: op.tx_hash.map(|hash| hash.to_string()),
        predicted_address: predicted_address(op),
        blocked_reason: blocked.map(|(code, _)| code.to_owned()),
        blocked_detail: blocked.map(|(_, detail)| detail.to_owned()).filter(|detail| !detail.is_empty()),
        error: record::problem(op),
        requested_by: op.requested_by.clone(),
        created_at: Instant(op.created_at),
        submitted_at: op.submitted_at.map(Instant),
        confirmed_at: op.confirmed_at.map(Instant),
        failed_at: op.failed_at.map(Instant),
        updated_at: Instant(op.updated_at),
        version: op.version,
    }
}

/// The predicted address of the token of a deployment.
pub fn predicted_address(op: &Operation) -> Option<String> {
    let address = op.payload.0["predicted_address"].as_str()?;
    address.parse::<alloy_primitives::Address>().ok().map(|address| address.to_checksum(None))
}
