//! The actions on a distribution, each a `POST` on its path: snapshot, calculate, submit, cancel, reclaim, declare-audit.

use alloy_primitives::B256;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Scope};
use muniment_domain::id::DistributionId;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_workflows::approval::action::Action;
use muniment_workflows::payout::{
    approval as payout_approval, distribution as moves, distributor as distributor_payout, reclaim,
};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{View, running, shown};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::Change;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::{Problem, Result};
use crate::{approval, operation};

const REASON_CHARACTERS_MAX: usize = 2_000;

/// A move of a distribution with what its body says.
enum Move {
    Snapshot,
    Calculate,
    Submit,
    Cancel { reason: String },
    DeclareAudit { report: B256 },
    Reclaim { reason: String },
}

/// A move of one distribution by one caller.
struct DistributionMove {
    id: DistributionId,
    scope: Scope,
    kind: Move,
}

/// The request body of an action that needs no reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DistributionRemark)]
#[serde(deny_unknown_fields)]
pub struct OptionalReason {
    /// The reason, if there is one.
    #[schema(max_length = 2000)]
    reason: Option<String>,
}

/// The request body of an action that needs a reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DistributionReason)]
#[serde(deny_unknown_fields)]
pub struct RequiredReason {
    /// The reason.
    #[schema(required = true, value_type = String, max_length = 2000)]
    reason: Option<String>,
}

/// The request body that declares an audit.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DistributionAudit)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// The reason, if there is one.
    #[schema(max_length = 2000)]
    reason: Option<String>,
    /// The SHA-256 of the audit report.
    #[schema(required = true, value_type = Digest)]
    report_sha256: Option<Digest>,
}

/// Makes the move that the body describes.
async fn act<T: Sync>(
    app: &App,
    Path(id): Path<DistributionId>,
    by: &Principal,
    submission: &Submission<T>,
    kind: impl FnOnce(&T) -> Result<Move>,
) -> Result<Response> {
    id.check()?;
    let change = DistributionMove { id, scope: running(by), kind: kind(&submission.body)? };
    idempotency::perform(app, submission, &change).await
}

/// Take the snapshot of balances at the record date.
///
/// Answers 202. A worker reads the balances.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/snapshot",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 202, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn snapshot(
    State(app): State<App>,
    id: Path<DistributionId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Ok(Move::Snapshot)).await
}

/// Calculate the entitlements.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/calculate",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_pay"]))),
)]
pub async fn calculate(
    State(app): State<App>,
    id: Path<DistributionId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Ok(Move::Calculate)).await
}

/// Submit a distribution for execution.
///
/// Below the threshold it is approved at once. Otherwise a second person must approve it.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/submit",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = View), (status = 202, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_pay", "operation_in_progress"]))),
)]
pub async fn submit(
    State(app): State<App>,
    id: Path<DistributionId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Ok(Move::Submit)).await
}

/// Cancel a distribution.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/cancel",
    request_body = RequiredReason,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn cancel(
    State(app): State<App>,
    id: Path<DistributionId>,
    principal: Principal,
    submission: Submission<RequiredReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Ok(Move::Cancel { reason: body.reason()? })).await
}

/// Request the return of unpaid money to the payer.
///
/// For a distribution that cannot be finished. A second person decides.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/reclaim",
    request_body = RequiredReason,
    params(IdempotencyKey),
    responses((status = 202, body = approval::Asked)),
    extensions(("x-codes" = json!(["invalid_state", "nonce_still_open", "operation_in_progress"]))),
)]
pub async fn reclaim(
    State(app): State<App>,
    id: Path<DistributionId>,
    principal: Principal,
    submission: Submission<RequiredReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Ok(Move::Reclaim { reason: body.reason()? })).await
}

/// Record the hash of an audit report on the chain.
///
/// Answers 202 with the operation.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/declare-audit",
    request_body = Audit,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn declare_audit(
    State(app): State<App>,
    id: Path<DistributionId>,
    principal: Principal,
    submission: Submission<Audit>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Ok(Move::DeclareAudit { report: body.report()? })).await
}

impl RequiredReason {
    fn reason(&self) -> Result<String> {
        let reason = self.reason.clone().filter(|reason| !reason.trim().is_empty());
        reason.ok_or_else(|| Problem::field("/reason", "required", "A reason is required."))
    }
}

impl Audit {
    fn report(&self) -> Result<B256> {
        let report = self.report_sha256.map(|digest| digest.0);
        report.ok_or_else(|| Problem::field("/report_sha256", "required", "The SHA-256 of the report is required."))
    }
}

impl Form for OptionalReason {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(self.reason.as_deref())
    }
}

impl Form for RequiredReason {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(self.reason.as_deref())
    }
}

impl Form for Audit {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(self.reason.as_deref())
    }
}

impl Change for DistributionMove {
    type Decision = ();
    const DECIDES: bool = false;

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let (id, scope) = (&self.id, &self.scope);
        let (status, d) = match &self.kind {
            Move::Snapshot => (202, moves::request_snapshot(tx, scope, id, &by).await?),
            Move::Calculate => (200, moves::calculate(tx, &app.settings, scope, id, &by).await?),
            Move::Submit => match payout_approval::submit(tx, &app.settings, scope, id, &by).await? {
                (d, None) => (200, d),
                (d, Some(asked)) => {
                    let body = json!(shown(tx, scope, &d).await?);
                    let location = Some(location(&asked.id));
                    return Ok((Answer { status: 202, location, body: body.to_string() }, Point::Accept));
                }
            },
            Move::Cancel { reason } => (200, moves::cancel(tx, scope, id, &by, reason).await?),
            Move::Reclaim { reason } => {
                let request = reclaim::Request { distribution_id: id.to_owned(), reason: reason.clone() };
                return Ok((approval::ask(app, tx, Action::Reclaim(request), &by).await?, Point::Accept));
            }
            Move::DeclareAudit { report } => {
                let d = distribution::find(tx, scope, id).await?;
                let op = distributor_payout::declare_audit(tx, &d, *report, &by).await?;
                return Ok((operation::accepted(app, &op), Point::Accept));
            }
        };
        Ok((answer(tx, status, scope, &d).await?, Point::Accept))
    }
}

/// Refuses a reason that is missing or too long.
pub fn require_reason(reason: &str) -> Result<()> {
    if reason.trim().is_empty() {
        return Err(Problem::field("/reason", "required", "A reason is required."));
    }
    check_reason(Some(reason))
}

/// Refuses a reason that is too long.
fn check_reason(reason: Option<&str>) -> Result<()> {
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
