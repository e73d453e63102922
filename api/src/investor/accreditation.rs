//! `POST /v1/investors/{id}/accreditation`: records whether an investor is accredited.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::{self, Accreditation, AccreditationDecision};
use muniment_workflows::own_record::not_own;
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::decision::check_code;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;

/// The accreditation decision.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewAccreditation)]
#[serde(deny_unknown_fields)]
pub struct Body {
    status: Accreditation,
    /// The legal basis, or the reason why the investor is no longer accredited.
    #[schema(max_length = 60, pattern = "^[a-z0-9_]+$", example = "net_worth")]
    basis: String,
    evidence_sha256: Digest,
    /// When the accreditation expires. Required for an accredited investor.
    expires_at: Option<Instant>,
    #[serde(skip)]
    investor_id: InvestorId,
}

/// The result of an accreditation decision.
#[derive(Serialize, ToSchema)]
#[schema(as = Accreditation)]
pub struct Found {
    investor_id: InvestorId,
    status: Accreditation,
    #[schema(example = "net_worth")]
    basis: Option<String>,
    expires_at: Option<Instant>,
    /// The version of the investor after this change.
    version: i64,
}

/// Record an accreditation decision.
///
/// Does not depend on the status of the identity check.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/accreditation",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = Found)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn accredit(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    submission: Submission<Body>,
) -> Result<Response> {
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Body {
    fn check(&self, now: DateTime<Utc>) -> Result<()> {
        Problem::all([check_code("/basis", &self.basis), self.check_expiry(now)])
    }
}

impl Body {
    fn check_expiry(&self, now: DateTime<Utc>) -> Result<()> {
        match (self.status, self.expires_at) {
            (Accreditation::Verified, None) => {
                Err(Problem::field("/expires_at", "required", "The expiry time is required."))
            }
            (Accreditation::Verified, Some(end)) if end.0 <= now => {
                Err(Problem::field("/expires_at", "out_of_range", "The time must be in the future."))
            }
            (Accreditation::None, Some(_)) => Err(Problem::field(
                "/expires_at",
                "unexpected",
                "An expiry time is allowed only for an accredited investor.",
            )),
            _ => Ok(()),
        }
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let evidence = format!("{:x}", self.evidence_sha256.0);
        let finding = AccreditationDecision {
            status: self.status,
            basis: &self.basis,
            evidence_sha256: &evidence,
            expires_at: self.expires_at.map(|end| end.0),
            decided_by: &by.actor,
        };
        not_own(tx, &self.investor_id, &by).await?;
        let i = investor::accredit(tx, &self.investor_id, &finding).await?;
        let location = Some(location(&i.id));
        let body = json!(Found {
            investor_id: i.id,
            status: i.accreditation_status,
            basis: i.accreditation_basis,
            expires_at: i.accreditation_expires_at.map(Instant),
            version: i.version,
        });
        Ok(Answer { status: 200, location, body: body.to_string() })
    }
}
