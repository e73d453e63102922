//! `POST /v1/distributions/{id}/execute`: pays an approved distribution.

use axum::extract::{Path, State};
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::distribution::Status;
use muniment_domain::id::DistributionId;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_workflows::payout;
use muniment_workflows::payout::funding;
use muniment_workflows::requester::Requester;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::act::OptionalReason;
use crate::app::App;
use crate::change::Change;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::Submission;
use crate::field::id::location;
use crate::http::error::Result;
use crate::operation;

/// A distribution that is being paid, with its operations.
#[derive(Serialize, ToSchema)]
#[schema(as = DistributionPaying)]
pub struct ExecutedDistribution {
    id: DistributionId,
    status: Status,
    version: i64,
    operations: Vec<operation::Short>,
}

/// Execute the payout.
///
/// Answers 202 with the operations. If an issuer submitted the distribution, the person who approved it cannot execute it.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/execute",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 202, body = ExecutedDistribution)),
    extensions(("x-codes" = json!(["invalid_state", "nothing_to_pay", "snapshot_mismatch", "self_approval_forbidden", "operation_in_progress", "unknown_chain", "contract_missing", "payer_unfunded", "chain_unavailable"]))),
)]
pub async fn execute(
    State(app): State<App>,
    Path(id): Path<DistributionId>,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    id.check()?;
    idempotency::perform(&app, &submission, &Execute { id: &id }).await
}

struct Execute<'a> {
    id: &'a DistributionId,
}

impl Change for Execute<'_> {
    type Decision = ();

    async fn decide(&self, app: &App) -> Result<()> {
        Ok(funding::check(&app.desk, self.id).await?)
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let accepted = payout::execute(tx, &app.settings, self.id, &by).await?;
        Ok((paying(app, &accepted), Point::Accept))
    }
}

/// The answer to an accepted payout.
pub fn paying(app: &App, accepted: &payout::Accepted) -> Answer {
    let d = &accepted.distribution;
    let location = match accepted.operations.as_slice() {
        [only] => location(&only.id),
        many => {
            let batch = many.iter().find_map(|op| op.batch_id.clone()).unwrap_or_default();
            format!("/blockchain/operations?batch_id={batch}")
        }
    };
    let operations: Vec<_> = accepted.operations.iter().map(|op| operation::short(app, op)).collect();
    let body = json!(ExecutedDistribution { id: d.id.clone(), status: d.status, version: d.version, operations });
    Answer { status: 202, location: Some(location), body: body.to_string() }
}
