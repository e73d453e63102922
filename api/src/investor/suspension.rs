//! `POST /v1/investors/{id}/suspend` and `/reinstate`.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::Screening;
use muniment_domain::kyc::Cause;
use muniment_workflows::approval::action::Action;
use muniment_workflows::investor::suspension::{self, Reinstate};
use muniment_workflows::own_record::not_own;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::decision::check_screening;
use super::record::{self, ForStaff};
use crate::app::App;
use crate::approval::{self, Asked};
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, check_reason};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::Result;

/// The reason of the suspension.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Suspension)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    reason_code: Cause,
    evidence_sha256: Option<Digest>,
    #[serde(skip)]
    investor_id: InvestorId,
}

/// Suspend an investor.
///
/// Takes effect at once. The answer proposes wallets to freeze.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/suspend",
    request_body = Stop,
    params(IdempotencyKey),
    responses((status = 200, body = ForStaff, headers(("Location" = String)))),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn suspend(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    submission: Submission<Stop>,
) -> Result<Response> {
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Stop {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Stop {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let evidence = self.evidence_sha256.map(|digest| format!("{:x}", digest.0));
        let i = suspension::suspend(tx, &self.investor_id, self.reason_code, evidence.as_deref(), &by).await?;
        let body = json!(record::for_staff(tx, &i, false).await?).to_string();
        Ok(Answer { status: 200, location: Some(location(&i.id)), body })
    }
}

/// The reason to end the suspension.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Reinstatement)]
#[serde(deny_unknown_fields)]
pub struct Return {
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    evidence_sha256: Digest,
    screening: Option<Screening>,
    #[serde(skip)]
    investor_id: InvestorId,
}

/// Request the end of an investor's suspension.
///
/// Answers 202. A second person decides.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/reinstate",
    request_body = Return,
    params(IdempotencyKey),
    responses((status = 202, body = Asked, headers(("Location" = String)))),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress", "self_approval_forbidden"]))),
)]
pub async fn reinstate(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    submission: Submission<Return>,
) -> Result<Response> {
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Return {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_screening(self.screening)?;
        check_reason(&self.reason)
    }
}

impl ChangeRequest for Return {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let wanted = Reinstate {
            investor_id: self.investor_id.clone(),
            reason: self.reason.clone(),
            evidence_sha256: format!("{:x}", self.evidence_sha256.0),
            screening: self.screening,
        };
        not_own(tx, &self.investor_id, &by).await?;
        approval::ask(app, tx, Action::Reinstate(wanted), &by).await
    }
}
