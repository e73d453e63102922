//! `POST /v1/distributions/{id}/reissue`: requests a new payment of many entitlements; another person approves it.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{DistributionId, EntitlementId, Id};
use muniment_domain::idempotency::Answer;
use muniment_workflows::approval::action::Action;
use muniment_workflows::payout::reissue;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use super::act::require_reason;
use crate::app::App;
use crate::approval::{self, Asked};
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::http::error::{Problem, Result};

/// How many may be named.
const NAMED_MAX: usize = 1_000;

/// The entitlements and the reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ReissueDistribution)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The entitlements to pay. By default, those whose payment was abandoned or that were released since.
    #[schema(max_items = 1000, example = json!(["ent_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    entitlement_ids: Option<Vec<EntitlementId>>,
    #[schema(max_length = 2000)]
    reason: String,
    #[serde(skip)]
    distribution_id: DistributionId,
}

/// Request a new payment of all unpaid entitlements.
///
/// A second person decides once for the whole list, which is paid in pages.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/reissue",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_pay", "operation_in_progress", "wallet_required"]))),
)]
pub async fn reissue(
    State(app): State<App>,
    Path(id): Path<DistributionId>,
    submission: Submission<Body>,
) -> Result<Response> {
    idempotency::once_for(&app, id, submission, |body, id| body.distribution_id = id).await
}

/// Checks the ids of named entitlements. None means all.
pub fn check_named(ids: Option<&[EntitlementId]>) -> Result<()> {
    let Some(named) = ids else { return Ok(()) };
    if !(1..=NAMED_MAX).contains(&named.len()) {
        let detail = format!("Name 1 to {NAMED_MAX} entitlements, or leave the field out for all.");
        return Err(Problem::field("/entitlement_ids", "count_out_of_range", detail));
    }
    if !named.iter().all(Id::is_sound) {
        let detail = "The id of an entitlement looks like ent_01k….";
        return Err(Problem::field("/entitlement_ids", "id_format", detail));
    }
    Ok(())
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Problem::all([check_named(self.entitlement_ids.as_deref()), require_reason(&self.reason)])
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = reissue::Request {
            distribution_id: self.distribution_id.clone(),
            entitlement_ids: self.entitlement_ids.clone(),
            reason: self.reason.clone(),
        };
        let list = reissue::list(tx, &request).await?;
        approval::ask(app, tx, Action::Reissue(list), &by).await
    }
}
