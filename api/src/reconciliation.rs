//! `/blockchain/reconciliation-runs`: comparisons of chain and database, asked for and read.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::reconciliation::{self as runs, Part, Run};
use muniment_workflows::reconciliation;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::act::{self, Act, Form, Written};
use crate::app::App;
use crate::error::{Problem, Result};
use crate::instant;
use crate::pages::{Page, Parameters};

/// What is to be compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Absent: every token, and the signers.
    offering_id: Option<String>,
}

impl Form for Body {
    fn check(&self) -> Result<()> {
        match &self.offering_id {
            Some(text) if id::check("off", text).is_err() => {
                Err(Problem::field("/offering_id", "id_format", "An offering's id looks like off_01k…."))
            }
            _ => Ok(()),
        }
    }
}

/// `POST`: asks for a run: 202, and where its report will be.
pub async fn start(State(app): State<App>, Written(submission): Written<Body>) -> Result<Response> {
    act::perform(&app, &submission, &submission.body).await
}

impl Act for Body {
    type Decision = ();

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, _: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let request = reconciliation::Request { offering_id: self.offering_id.clone() };
        let run = reconciliation::request(tx, &request, &by.actor).await?;
        let location = Some(format!("/blockchain/reconciliation-runs/{}", run.id));
        Ok((Answer { status: 202, location, body: short(&run).to_string() }, Point::Accept))
    }
}

/// `GET`: the runs, newest first.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    let page = Page::of(&Parameters::read(&uri, &["page", "limit"])?)?;
    let mut tx = app.db.read().await?;
    let (found, total) = runs::page(&mut tx, page.limit, page.offset()).await?;
    Ok(Json(page.answer(found.iter().map(short).collect(), total)))
}

/// `GET …/{id}`: one run with its parts, how much it found of what, and a page of the findings.
pub async fn detail(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Result<Json<Value>> {
    id::check("rec", &id)?;
    let page = Page::of(&Parameters::read(&uri, &["page", "limit"])?)?;
    let mut tx = app.db.read().await?;
    let run = runs::find(&mut tx, &id).await?;
    let parts = runs::parts(&mut tx, &id).await?;
    let (found, total) = runs::findings(&mut tx, &id, page.limit, page.offset()).await?;
    let (mut by_kind, mut by_severity) = (Map::new(), BTreeMap::new());
    for (kind, severity, count) in runs::counts(&mut tx, &id).await? {
        by_kind.insert(kind, json!(count));
        *by_severity.entry(severity.as_str()).or_insert(0) += count;
    }
    let subject = |position: i64| {
        let part = parts.iter().find(|part| part.position == position);
        part.map_or(Value::Null, |part| json!({ "type": part.subject_type, "id": part.subject_id }))
    };
    let finding = |found: &runs::Found| {
        let mut shown = json!(found);
        shown["of"] = subject(found.position);
        shown
    };
    let mut body = short(&run);
    body["parts"] = parts.iter().map(part).collect();
    body["counts"] = json!({ "by_kind": by_kind, "by_severity": by_severity });
    body["findings"] = page.answer(found.iter().map(finding).collect(), total);
    Ok(Json(body))
}

fn short(run: &Run) -> Value {
    json!({
        "id": run.id, "status": run.status, "offering_id": run.offering_id, "finding_count": run.findings, "error": run.error,
        "requested_by": run.requested_by, "created_at": instant::text(run.created_at),
        "completed_at": instant::optional(run.completed_at), "version": run.version,
    })
}

fn part(part: &Part) -> Value {
    json!({
        "subject": { "type": part.subject_type, "id": part.subject_id }, "chain_id": part.chain_id,
        "block_number": part.block_number, "block_hash": part.block_hash.map(|hash| hash.to_string()),
        "compared": part.compared, "calls": part.calls, "done_at": instant::optional(part.done_at),
    })
}
