//! The actions on a distribution, each a `POST` on its path: snapshot, calculate, submit, cancel, reclaim, declare-audit.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Scope};
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_workflows::approval::action::Action;
use muniment_workflows::payout::{
    approval as payout_approval, distribution as moves, distributor as distributor_payout, reclaim,
};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::{View, running, shown, unnamed};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::{Problem, Result};
use crate::{approval, operation};

const REASON_CHARACTERS_MAX: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Snapshot,
    Calculate,
    Submit,
    Cancel,
    DeclareAudit,
    Reclaim,
}

/// The request body of an action on a distribution.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MoveOfDistribution)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The reason. Required to cancel and to reclaim.
    #[schema(max_length = 2000)]
    reason: Option<String>,
    /// The SHA-256 of the audit report. Required to declare an audit, not allowed otherwise.
    report_sha256: Option<Digest>,
    #[serde(skip)]
    asked: Option<(Act, String, Scope)>,
}

/// A distribution that waits for a second person.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionSubmitted)]
pub struct Submitted {
    #[serde(flatten)]
    shown: View,
    approval: approval::Short,
}

async fn act(
    app: &App,
    act: Act,
    Path(id): Path<String>,
    by: &Principal,
    mut submission: Submission<Body>,
) -> Result<Response> {
    id::check("dist", &id)?;
    let body = &mut submission.body;
    if matches!(act, Act::Cancel | Act::Reclaim) && body.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(Problem::field("/reason", "required", "A reason is required."));
    }
    if act == Act::DeclareAudit && body.report_sha256.is_none() {
        return Err(Problem::field("/report_sha256", "required", "The SHA-256 of the report is required."));
    }
    if act != Act::DeclareAudit {
        body.takes_no_report()?;
    }
    body.asked = Some((act, id, running(by)));
    idempotency::once(app, &submission).await
}

/// Take the snapshot of balances at the record date.
///
/// Answers 202. A worker reads the balances.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/snapshot",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn snapshot(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Snapshot, id, &principal, submission).await
}

/// Calculate the entitlements.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/calculate",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_pay"]))),
)]
pub async fn calculate(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Calculate, id, &principal, submission).await
}

/// Submit a distribution for execution.
///
/// Below the threshold it is approved at once. Otherwise a second person must approve it.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/submit",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View), (status = 202, body = Submitted)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_pay", "operation_in_progress"]))),
)]
pub async fn submit(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Submit, id, &principal, submission).await
}

/// Cancel a distribution.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/cancel",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn cancel(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Cancel, id, &principal, submission).await
}

/// Request the return of unpaid money to the payer.
///
/// For a distribution that cannot be finished. A second person decides.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/reclaim",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = approval::Asked)),
    extensions(("x-codes" = json!(["invalid_state", "nonce_still_open", "operation_in_progress"]))),
)]
pub async fn reclaim(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Reclaim, id, &principal, submission).await
}

/// Record the hash of an audit report on the chain.
///
/// Answers 202 with the operation.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/declare-audit",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn declare_audit(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::DeclareAudit, id, &principal, submission).await
}

impl Body {
    /// Refuses a report where there is nothing to declare.
    pub fn takes_no_report(&self) -> Result<()> {
        match self.report_sha256 {
            Some(_) => Err(Problem::field("/report_sha256", "unknown_field", "Only declare-audit accepts a report.")),
            None => Ok(()),
        }
    }
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(self.reason.as_deref())
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((act, id, scope)) = &self.asked else { return Err(unnamed()) };
        match act {
            Act::Snapshot => {
                let d = moves::request_snapshot(tx, scope, id, &by).await?;
                answer(tx, 202, scope, &d).await
            }
            Act::Calculate => {
                let d = moves::calculate(tx, &app.settings, scope, id, &by).await?;
                answer(tx, 200, scope, &d).await
            }
            Act::Submit => {
                let (d, asked) = payout_approval::submit(tx, &app.settings, scope, id, &by).await?;
                let Some(asked) = asked else { return answer(tx, 200, scope, &d).await };
                let body = json!(Submitted { shown: shown(tx, scope, &d).await?, approval: approval::short(&asked) });
                Ok(Answer { status: 202, location: Some(location(&asked.id)), body: body.to_string() })
            }
            Act::Cancel => {
                let d = moves::cancel(tx, scope, id, &by, self.reason.as_deref().unwrap_or_default()).await?;
                answer(tx, 200, scope, &d).await
            }
            Act::Reclaim => {
                let (distribution_id, reason) = (id.clone(), self.reason.clone().unwrap_or_default());
                approval::ask(app, tx, Action::Reclaim(reclaim::Request { distribution_id, reason }), &by).await
            }
            Act::DeclareAudit => {
                let d = distribution::find(tx, scope, id).await?;
                let report = self.report_sha256.map(|digest| digest.0).unwrap_or_default();
                let op = distributor_payout::declare_audit(tx, &d, report, &by).await?;
                Ok(operation::accepted(app, &op))
            }
        }
    }
}

/// Refuses an empty or too long reason.
pub fn check_reason(reason: Option<&str>) -> Result<()> {
    if reason.is_some_and(|text| text.chars().count() > REASON_CHARACTERS_MAX) {
        let detail = format!("The reason can have at most {REASON_CHARACTERS_MAX} characters.");
        return Err(Problem::field("/reason", "above_maximum", detail));
    }
    Ok(())
}

async fn answer(tx: &mut Tx, status: i64, scope: &Scope, d: &Distribution) -> muniment_domain::Result<Answer> {
    let location = (status == 202).then(|| location(&d.id));
    Ok(Answer { status, location, body: json!(shown(tx, scope, d).await?).to_string() })
}
