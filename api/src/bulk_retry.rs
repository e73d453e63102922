//! `POST /blockchain/operations/bulk-retry`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::{Attention, Kind, Status};
use muniment_domain::point::Point;
use muniment_workflows::bulk_retry::{self, Accepted};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::json;

use crate::act::{self, Act, Form, Written};
use crate::app::App;
use crate::error::{Problem, Result};

const LIMIT_DEFAULT: i64 = 100;
const LIMIT_MAX: i64 = 500;

/// What is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    filter: Filter,
    limit: Option<i64>,
    #[serde(default)]
    dry_run: bool,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    status: Option<Status>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
    error_code: Option<String>,
    offering_id: Option<String>,
    created_from: Option<DateTime<Utc>>,
}

impl Form for Body {
    fn check(&self) -> Result<()> {
        if let Some(reason) = &self.reason {
            act::check_reason(reason)?;
        }
        if self.limit.is_some_and(|limit| !(1..=LIMIT_MAX).contains(&limit)) {
            let detail = format!("From 1 to {LIMIT_MAX} operations.");
            let code = if self.limit < Some(1) { "below_minimum" } else { "above_maximum" };
            return Err(Problem::field("/limit", code, detail));
        }
        if self.filter.status.is_some_and(|status| !status.needs_person()) {
            let detail = "Only failed and dead_letter operations are retried.";
            return Err(Problem::field("/filter/status", "type_mismatch", detail));
        }
        if self.filter.offering_id.as_ref().is_some_and(|text| id::check("off", text).is_err()) {
            return Err(Problem::field("/filter/offering_id", "id_format", "An offering's id looks like off_01k…."));
        }
        Ok(())
    }
}

/// Retries what the filter names, each through guard G: 202 with what is queued and why the rest is not. A dry run writes nothing: 200.
pub async fn handle(State(app): State<App>, Written(submission): Written<Body>) -> Result<Response> {
    act::perform(&app, &submission, &submission.body).await
}

impl Act for Body {
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
            created_from: self.filter.created_from,
        };
        let reason = self.reason.clone().unwrap_or_else(|| "bulk retry".to_owned());
        let limit = self.limit.unwrap_or(LIMIT_DEFAULT);
        let request = bulk_retry::Request { filter, limit, dry_run: self.dry_run, reason };
        Ok((answer(&bulk_retry::request(tx, &request, &by.actor).await?, self.dry_run), Point::Accept))
    }
}

fn answer(accepted: &Accepted, dry_run: bool) -> Answer {
    let skipped: Vec<_> = accepted.skipped.iter().map(|(id, code)| json!({ "id": id, "code": code })).collect();
    let body = json!({
        "bulk_id": accepted.bulk_id, "dry_run": dry_run, "matched": accepted.matched, "queued": accepted.queued, "skipped": skipped,
    });
    Answer { status: if dry_run { 200 } else { 202 }, location: None, body: body.to_string() }
}
