//! `/blockchain/reconciliation-runs`: comparisons of the chain and the database.

use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::id::{OfferingId, RunId};
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::reconciliation::{self as runs, FindingKind, Part, Run, Severity, Status};
use muniment_workflows::reconciliation;
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::Change;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::subject::Subject;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{Between, List, Page, Paging};

/// The scope of the reconciliation run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Reconciliation)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The offering whose token is compared. Every token and the signers, by default.
    offering_id: Option<OfferingId>,
    /// The block to compare at. The newest final block that was read, by default.
    #[schema(minimum = 0)]
    at_block: Option<i64>,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if self.at_block.is_some_and(|block| block < 0) {
            return Err(Problem::field("/at_block", "out_of_range", "The block number cannot be negative."));
        }
        match &self.offering_id {
            Some(text) if text.check().is_err() => {
                Err(Problem::field("/offering_id", "id_format", "The id of an offering looks like off_01k…."))
            }
            _ => Ok(()),
        }
    }
}

/// Start a reconciliation run.
///
/// Answers 202 with the location of its report.
#[utoipa::path(
    post,
    path = "/blockchain/reconciliation-runs",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Short)),
    extensions(("x-codes" = json!(["not_found", "operation_in_progress", "invalid_state"]))),
)]
pub async fn start(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::perform(&app, &submission, &submission.body).await
}

impl Change for Body {
    type Decision = ();

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, _: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let request = reconciliation::Request { offering_id: self.offering_id.clone(), at_block: self.at_block };
        let run = reconciliation::request(tx, &request, &by.actor).await?;
        let location = Some(format!("/blockchain/reconciliation-runs/{}", run.id));
        Ok((Answer { status: 202, location, body: json!(short(&run)).to_string() }, Point::Accept))
    }
}

/// List reconciliation runs, newest first.
#[utoipa::path(
    get,
    path = "/blockchain/reconciliation-runs",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "completed"), Between, Paging),
    responses((status = 200, body = List<Short>)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<List<Short>>> {
    let (page, parameters) = Page::read(&uri, &["status", "created_from", "created_to"])?;
    let (statuses, created) = (parameters.words("status")?, parameters.created()?);
    let mut tx = app.db.read().await?;
    let (found, total) = runs::page(&mut tx, &statuses, created, page.limit, page.offset()).await?;
    Ok(Json(page.list(found.iter().map(short), total)))
}

/// Read a reconciliation run with a page of its findings.
#[utoipa::path(
    get,
    path = "/blockchain/reconciliation-runs/{id}",
    params(Paging),
    responses((status = 200, body = Report)),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<RunId>, uri: Uri) -> Result<Json<Report>> {
    id.check()?;
    let (page, _) = Page::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    let run = runs::find(&mut tx, &id).await?;
    let parts = runs::parts(&mut tx, &id).await?;
    let (found, total) = runs::findings(&mut tx, &id, page.limit, page.offset()).await?;
    let (mut by_kind, mut by_severity) = (BTreeMap::new(), BTreeMap::new());
    for (kind, severity, count) in runs::counts(&mut tx, &id).await? {
        *by_kind.entry(kind.as_str()).or_insert(0) += count;
        *by_severity.entry(severity.as_str()).or_insert(0) += count;
    }
    let difference = |found: runs::StoredFinding| Difference {
        of: parts.iter().find(|part| part.position == found.position).map(subject),
        kind: found.kind,
        severity: found.severity,
        subject: found.subject,
        expected: found.expected,
        actual: found.actual,
        suggested_action: found.suggested_action,
    };
    Ok(Json(Report {
        short: short(&run),
        counts: Counts { by_kind, by_severity },
        findings: page.list(found.into_iter().map(difference), total),
        parts: parts.iter().map(part).collect(),
    }))
}

/// A reconciliation run.
#[derive(Serialize, ToSchema)]
#[schema(as = ReconciliationRun)]
pub struct Short {
    id: RunId,
    status: Status,
    offering_id: Option<OfferingId>,
    at_block: Option<i64>,
    finding_count: i64,
    #[schema(example = "chain_unavailable")]
    error: Option<String>,
    requested_by: String,
    created_at: Instant,
    completed_at: Option<Instant>,
    version: i64,
}

/// A reconciliation run with its parts, its numbers of findings and a page of findings.
#[derive(Serialize, ToSchema)]
#[schema(as = ReconciliationReport)]
pub struct Report {
    #[serde(flatten)]
    short: Short,
    /// The parts of the run.
    parts: Vec<Compared>,
    /// The numbers of findings.
    counts: Counts,
    /// The findings.
    findings: List<Difference>,
}

/// A part of a reconciliation run.
#[derive(Serialize, ToSchema)]
#[schema(as = ReconciliationPart)]
struct Compared {
    subject: Subject,
    chain_id: i64,
    block_number: Option<i64>,
    block_hash: Option<String>,
    /// The number of compared values.
    compared: i64,
    /// The number of calls to the chain.
    calls: i64,
    done_at: Option<Instant>,
}

/// The numbers of findings.
#[derive(Serialize, ToSchema)]
#[schema(as = FindingCounts)]
struct Counts {
    /// The numbers by kind.
    #[schema(example = json!({ "balance": 1 }))]
    by_kind: BTreeMap<&'static str, i64>,
    /// The numbers by severity.
    #[schema(example = json!({ "critical": 1 }))]
    by_severity: BTreeMap<&'static str, i64>,
}

/// A difference between the database and the chain.
#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct Difference {
    /// What differs.
    kind: FindingKind,
    /// The severity.
    severity: Severity,
    #[schema(example = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")]
    subject: String,
    /// The value in the database.
    #[schema(example = "250")]
    expected: Option<String>,
    /// The value on the chain.
    #[schema(example = "200")]
    actual: Option<String>,
    /// The suggested action.
    #[schema(example = "Read the token again from its first block.")]
    suggested_action: String,
    /// The part of the run.
    of: Option<Subject>,
}

fn short(run: &Run) -> Short {
    Short {
        id: run.id.clone(),
        status: run.status,
        offering_id: run.offering_id.clone(),
        at_block: run.at_block,
        finding_count: run.findings,
        error: run.error.clone(),
        requested_by: run.requested_by.clone(),
        created_at: Instant(run.created_at),
        completed_at: run.completed_at.map(Instant),
        version: run.version,
    }
}

fn subject(part: &Part) -> Subject {
    Subject { kind: part.subject_type.clone(), id: part.subject_id.clone() }
}

fn part(part: &Part) -> Compared {
    Compared {
        subject: subject(part),
        chain_id: part.chain_id,
        block_number: part.block_number,
        block_hash: part.block_hash.map(|hash| hash.to_string()),
        compared: part.compared,
        calls: part.calls,
        done_at: part.done_at.map(Instant),
    }
}
