//! The moves of a distribution, each a `POST` on its path: snapshot, calculate, submit, execute, cancel, declare-audit.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Scope};
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_workflows::requester::Requester;
use muniment_workflows::{distribution as moves, distributor_payout, payout, payout_approval};
use serde::Deserialize;
use serde_json::json;

use super::{path, record};
use crate::app::App;
use crate::cause::Digest;
use crate::error::{Problem, Result};
use crate::submission::{Intent, Submission};
use crate::{approval, idempotency, operation};

const REASON_CHARACTERS_MAX: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Snapshot,
    Calculate,
    Submit,
    Execute,
    Cancel,
    DeclareAudit,
}

/// The body of all of them: a move says little more than its path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    reason: Option<String>,
    report_sha256: Option<Digest>,
    #[serde(skip)]
    asked: Option<(Act, String)>,
}

async fn act(app: &App, act: Act, id: String, mut submission: Submission<Body>) -> Result<Response> {
    id::check("dist", &id)?;
    let body = &mut submission.body;
    if act == Act::Cancel && body.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(Problem::field("/reason", "required", "Say why it is called off."));
    }
    if act == Act::DeclareAudit && body.report_sha256.is_none() {
        return Err(Problem::field("/report_sha256", "required", "Name the SHA-256 of the report."));
    }
    if act != Act::DeclareAudit && body.report_sha256.is_some() {
        return Err(Problem::field("/report_sha256", "unknown_field", "Only declare-audit takes a report."));
    }
    body.asked = Some((act, id));
    idempotency::once(app, &submission).await
}

/// Asks for the balances of the record date: 202, and a job finds them.
pub async fn snapshot(
    State(app): State<App>,
    Path(id): Path<String>,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Snapshot, id, submission).await
}

/// Fixes each holder's part.
pub async fn calculate(
    State(app): State<App>,
    Path(id): Path<String>,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Calculate, id, submission).await
}

/// Offers it for execution: below the threshold it is approved, from there on a second person is asked.
pub async fn submit(State(app): State<App>, Path(id): Path<String>, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Submit, id, submission).await
}

/// Pays: 202 with the operations.
pub async fn execute(State(app): State<App>, Path(id): Path<String>, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Execute, id, submission).await
}

/// Calls it off.
pub async fn cancel(State(app): State<App>, Path(id): Path<String>, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Cancel, id, submission).await
}

/// Declares the hash of an audit report on the chain: 202 with the operation.
pub async fn declare_audit(
    State(app): State<App>,
    Path(id): Path<String>,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::DeclareAudit, id, submission).await
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(self.reason.as_deref())
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((act, id)) = &self.asked else {
            return Err(muniment_domain::Error::refused(muniment_domain::Code::NotFound, "No distribution was named."));
        };
        match act {
            Act::Snapshot => {
                let d = moves::ask_for_snapshot(tx, id, &by).await?;
                answer(tx, 202, &d).await
            }
            Act::Calculate => {
                let d = moves::calculate(tx, &app.settings, id, &by).await?;
                answer(tx, 200, &d).await
            }
            Act::Submit => {
                let (d, asked) = payout_approval::submit(tx, &app.settings, id, &by).await?;
                let Some(asked) = asked else { return answer(tx, 200, &d).await };
                let mut body = record::full(tx, &d).await?;
                body["approval"] = json!(approval::short(&asked));
                Ok(Answer { status: 202, location: Some(approval::path(&asked.id)), body: body.to_string() })
            }
            Act::Execute => {
                let accepted = payout::execute(tx, &app.settings, id, &by).await?;
                Ok(paying(app, &accepted))
            }
            Act::Cancel => {
                let d = moves::cancel(tx, id, &by, self.reason.as_deref().unwrap_or_default()).await?;
                answer(tx, 200, &d).await
            }
            Act::DeclareAudit => {
                let d = distribution::find(tx, &Scope::All, id).await?;
                let report = self.report_sha256.map(|digest| digest.0).unwrap_or_default();
                let op = distributor_payout::declare_audit(tx, &d, report, &by).await?;
                Ok(operation::accepted(app, &op))
            }
        }
    }
}

/// Refuses a reason that nobody will read to its end.
pub fn check_reason(reason: Option<&str>) -> Result<()> {
    if reason.is_some_and(|text| text.chars().count() > REASON_CHARACTERS_MAX) {
        let detail = format!("A reason may have {REASON_CHARACTERS_MAX} characters.");
        return Err(Problem::field("/reason", "above_maximum", detail));
    }
    Ok(())
}

async fn answer(tx: &mut Tx, status: i64, d: &Distribution) -> muniment_domain::Result<Answer> {
    let location = (status == 202).then(|| path(&d.id));
    Ok(Answer { status, location, body: record::full(tx, d).await?.to_string() })
}

fn paying(app: &App, accepted: &payout::Accepted) -> Answer {
    let d = &accepted.distribution;
    let location = match accepted.operations.as_slice() {
        [only] => operation::path(&only.id),
        many => {
            let batch = many.iter().find_map(|op| op.batch_id.clone()).unwrap_or_default();
            format!("/blockchain/operations?batch_id={batch}")
        }
    };
    let operations: Vec<_> = accepted.operations.iter().map(|op| operation::short(app, op)).collect();
    let body = json!({ "id": d.id, "status": d.status, "version": d.version, "operations": operations });
    Answer { status: 202, location: Some(location), body: body.to_string() }
}
