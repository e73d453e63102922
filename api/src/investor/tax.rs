//! `POST /v1/investors/{id}/tax`: sets the withholding rate of an investor, from the next calculation on.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::{self, Rate};
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
use crate::field::amount::Amount;
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::{Problem, Result, check_that};

/// All of it.
const BASIS_POINTS_MAX: i64 = 10_000;

/// The new withholding rate.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewWithholding)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The withholding rate in percent, with two decimals: `26.38`.
    withholding_rate: Amount,
    #[schema(max_length = 60, pattern = "^[a-z0-9_]+$", example = "treaty")]
    basis: String,
    evidence_sha256: Digest,
    #[serde(skip)]
    investor_id: InvestorId,
}

/// The new withholding rate.
#[derive(Serialize, ToSchema)]
#[schema(as = Withholding)]
pub struct Set<'a> {
    investor_id: &'a InvestorId,
    withholding_rate: Amount,
    #[schema(example = "treaty")]
    basis: &'a str,
    /// The version of the investor after this change.
    version: i64,
}

/// Set the withholding rate of an investor.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/tax",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = Set<'static>)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn withhold(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    submission: Submission<Body>,
) -> Result<Response> {
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let is_rate = self.withholding_rate.0.minor() <= BASIS_POINTS_MAX;
        Problem::all([
            check_that(is_rate, "/withholding_rate", "above_maximum", "The rate can be at most 100.00 percent."),
            check_code("/basis", &self.basis),
        ])
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let evidence = format!("{:x}", self.evidence_sha256.0);
        let rate = Rate {
            // Percent with two decimals are hundredths of a percent.
            basis_points: self.withholding_rate.0.minor(),
            basis: &self.basis,
            evidence_sha256: &evidence,
            decided_by: &by.actor,
        };
        not_own(tx, &self.investor_id, &by).await?;
        let i = investor::withhold(tx, &self.investor_id, &rate).await?;
        let set =
            Set { investor_id: &i.id, withholding_rate: self.withholding_rate, basis: &self.basis, version: i.version };
        Ok(Answer { status: 200, location: Some(location(&i.id)), body: json!(set).to_string() })
    }
}
