//! `POST /blockchain/operations/{id}/retry`.

use axum::extract::{Path, State};
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::{id, operation as operations};
use muniment_workflows::requester::Requester;
use muniment_workflows::retry::{self, Decision, Retried};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::act::{self, Act, Form, Written};
use crate::app::App;
use crate::error::Result;
use crate::idempotency::IdempotencyKey;
use crate::operation;

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Retry)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(max_length = 500)]
    reason: String,
}

impl Form for Body {
    fn check(&self) -> Result<()> {
        act::check_reason(&self.reason)
    }
}

/// Retries under guard G: 202 when it is under way again, 200 when the chain shows that it was executed and it is confirmed now.
#[utoipa::path(
    post,
    path = "/blockchain/operations/{id}/retry",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = operation::Short), (status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["invalid_state", "nonce_still_open", "partial_effect", "effect_mismatch", "operation_in_progress", "unknown_calls", "chain_halted", "unknown_chain", "chain_unavailable", "token_already_deployed", "wallet_in_use"]))),
)]
pub async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
    Written(submission): Written<Body>,
) -> Result<Response> {
    id::check("op", &id)?;
    act::perform(&app, &submission, &Retry { id: &id, reason: &submission.body.reason }).await
}

/// The act.
pub struct Retry<'a> {
    /// Of which operation.
    pub id: &'a str,
    /// Why.
    pub reason: &'a str,
}

impl Act for Retry<'_> {
    type Decision = Decision;

    async fn decide(&self, app: &App) -> Result<Decision> {
        Ok(retry::decide(&app.desk, self.id).await?)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        decision: Decision,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        let point = decision.point();
        let status = match retry::apply(tx, decision, &by.actor, self.reason).await? {
            Retried::Confirmed => 200,
            Retried::SameNonce | Retried::NewCycle => 202,
        };
        Ok((operation::answer(app, &operations::find(tx, self.id).await?, status), point))
    }
}
