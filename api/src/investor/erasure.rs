//! `POST /v1/investors/{id}/erase`: erases the personal data of an investor, as far as the law permits.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::idempotency::Answer;
use muniment_workflows::approval::action::Action;
use muniment_workflows::investor::erasure::Request;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::approval::{self, Asked};
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, check_reason};
use crate::http::error::Result;

/// The reason, which stays stored. It must not identify the person.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Erasure)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    #[serde(skip)]
    investor_id: InvestorId,
}

/// Request the erasure of an investor's personal data.
///
/// Answers 202. A second person decides.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/erase",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked, headers(("Location" = String)))),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn erase(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    submission: Submission<Body>,
) -> Result<Response> {
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let wanted = Request { investor_id: self.investor_id.clone(), reason: self.reason.clone() };
        approval::ask(app, tx, Action::EraseInvestor(wanted), &by).await
    }
}
