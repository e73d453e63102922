//! `POST /v1/distributions/{id}/claim-withheld`: claims what the distributor contract withholds, page by page.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{DistributionId, EntitlementId};
use muniment_domain::idempotency::Answer;
use muniment_workflows::payout::claim;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use super::act::require_reason;
use super::execute::{ExecutedDistribution, paying};
use super::reissue::check_named;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::http::error::{Problem, Result};

/// The entitlements and the reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ClaimWithheld)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The entitlements to claim. By default, all that the contract withholds and that can be paid now.
    #[schema(max_items = 1000, example = json!(["ent_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    entitlement_ids: Option<Vec<EntitlementId>>,
    /// The reason.
    #[schema(max_length = 2000)]
    reason: String,
    #[serde(skip)]
    distribution_id: DistributionId,
}

/// Claim what the distributor contract withholds.
///
/// The money goes to each holder, or to the wallet that replaced theirs. A holder who cannot be paid stays held. Answers 202 with one
/// operation for each page.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/claim-withheld",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = ExecutedDistribution)),
    extensions(("x-codes" = json!([
        "invalid_state", "self_approval_forbidden", "nothing_to_pay", "operation_in_progress", "wallet_required"
    ]))),
)]
pub async fn claim_withheld(
    State(app): State<App>,
    Path(id): Path<DistributionId>,
    submission: Submission<Body>,
) -> Result<Response> {
    idempotency::once_for(&app, id, submission, |body, id| body.distribution_id = id).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Problem::all([check_named(self.entitlement_ids.as_deref()), require_reason(&self.reason)])
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = claim::Request {
            distribution_id: self.distribution_id.clone(),
            entitlement_ids: self.entitlement_ids.clone(),
        };
        Ok(paying(app, &claim::all(tx, &app.settings, &request, &by).await?))
    }
}
