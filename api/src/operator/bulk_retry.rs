//! `POST /blockchain/operations/bulk-retry`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{BulkId, OfferingId, OperationId};
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::{Attention, Kind, Status};
use muniment_domain::point::Point;
use muniment_workflows::operator::bulk_retry::{self, Accepted};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::code::Code;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;

const LIMIT_DEFAULT: i64 = 100;
const LIMIT_MAX: i64 = 500;
/// Operations that one request can retry.
const OPERATIONS_MAX: usize = 500;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = BulkRetry)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The operations to retry.
    filter: Filter,
    /// The maximum number of operations, 100 by default.
    #[schema(minimum = 1, maximum = 500)]
    limit: Option<i64>,
    #[serde(default)]
    dry_run: bool,
    #[schema(max_length = 500)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = BulkRetryFilter)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// `failed` or `dead_letter`.
    status: Option<Status>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
    /// Only operations with this error code.
    #[schema(pattern = "^[a-z0-9_]{1,64}$", example = "reverts")]
    error_code: Option<String>,
    offering_id: Option<OfferingId>,
    /// Only operations created at or after this time.
    created_from: Option<Instant>,
    /// Only these operations.
    #[schema(min_items = 1, max_items = 500, example = json!(["op_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    operation_ids: Option<Vec<OperationId>>,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let filter = &self.filter;
        let is_limit = self.limit.is_none_or(|limit| (1..=LIMIT_MAX).contains(&limit));
        let code = if self.limit < Some(1) { "below_minimum" } else { "above_maximum" };
        let is_status = filter.status.is_none_or(Status::needs_operator);
        let is_id = filter.offering_id.as_ref().is_none_or(|text| text.check().is_ok());
        let is_code = filter.error_code.as_ref().is_none_or(|text| {
            let of_a_code = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            (1..=64).contains(&text.len()) && text.chars().all(of_a_code)
        });
        let failed = "Only failed and dead_letter operations can be retried.";
        Problem::all([
            self.reason.as_deref().map_or(Ok(()), check_reason),
            check_that(is_limit, "/limit", code, format!("The limit must be 1 to {LIMIT_MAX} operations.")),
            check_that(is_status, "/filter/status", "type_mismatch", failed),
            check_that(is_code, "/filter/error_code", "code_format", "Use lower-case letters, digits and underscores."),
            check_that(is_id, "/filter/offering_id", "id_format", "The id of an offering looks like off_01k…."),
            filter.operation_ids.as_deref().map_or(Ok(()), check_ids),
        ])
    }
}

fn check_ids(ids: &[OperationId]) -> Result<()> {
    const POINTER: &str = "/filter/operation_ids";
    if ids.is_empty() {
        let detail = "Name at least one operation, or leave the field out to retry all that match.";
        return Err(Problem::field(POINTER, "below_minimum", detail));
    }
    if ids.len() > OPERATIONS_MAX {
        let detail = format!("At most {OPERATIONS_MAX} operations can be named.");
        return Err(Problem::field(POINTER, "above_maximum", detail));
    }
    match ids.iter().position(|text| text.check().is_err()) {
        Some(index) => {
            Err(Problem::field(format!("{POINTER}/{index}"), "id_format", "The id of an operation looks like op_01k…."))
        }
        None => Ok(()),
    }
}

/// Retry all operations that match a filter.
///
/// Each passes the retry check first. Answers 202 with the queued operations and the reasons why others are skipped. A dry run changes
/// nothing and answers 200.
#[utoipa::path(
    post,
    path = "/blockchain/operations/bulk-retry",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = BulkRetried), (status = 202, body = BulkRetried)),
)]
pub async fn handle(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::perform(&app, &submission, &submission.body).await
}

impl Change for Body {
    type Decision = ();

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, _: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let filter = Attention {
            status: self.filter.status,
            kind: self.filter.kind,
            error_code: self.filter.error_code.clone(),
            offering_id: self.filter.offering_id.clone(),
            created_from: self.filter.created_from.map(|at| at.0),
            ids: self.filter.operation_ids.clone().unwrap_or_default(),
        };
        let reason = self.reason.clone().unwrap_or_else(|| "bulk retry".to_owned());
        let limit = self.limit.unwrap_or(LIMIT_DEFAULT);
        let request = bulk_retry::Request { filter, limit, dry_run: self.dry_run, reason };
        Ok((answer(&bulk_retry::request(tx, &request, &by.actor).await?, self.dry_run), Point::Accept))
    }
}

/// The retried and the skipped operations.
#[derive(Serialize, ToSchema)]
pub struct BulkRetried {
    /// The id of this bulk retry. Null if nothing was queued.
    bulk_id: Option<BulkId>,
    dry_run: bool,
    /// The number of operations that match the filter.
    matched: i64,
    /// The operations that are retried.
    #[schema(example = json!(["op_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    queued: Vec<OperationId>,
    skipped: Vec<Skipped>,
}

/// A skipped operation with the reason.
#[derive(Serialize, ToSchema)]
#[schema(as = SkippedOperation)]
struct Skipped {
    id: OperationId,
    code: Code,
}

fn answer(accepted: &Accepted, dry_run: bool) -> Answer {
    let skipped = accepted.skipped.iter().map(|(id, code)| Skipped { id: id.clone(), code: Code::of_domain(*code) });
    let body = json!(BulkRetried {
        bulk_id: accepted.bulk_id.clone(),
        dry_run,
        matched: accepted.matched,
        queued: accepted.queued.clone(),
        skipped: skipped.collect(),
    });
    Answer { status: if dry_run { 200 } else { 202 }, location: None, body: body.to_string() }
}
