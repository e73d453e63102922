//! `POST /blockchain/operations/{id}/retry`.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::{Error, operation as operations};
use muniment_workflows::operator::retry::{self, Decision, RetryOutcome};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::http::error::{Problem, Result};
use crate::operation;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Retry)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(max_length = 500)]
    reason: String,
    /// The maximum fee per gas, in wei. The market price, by default.
    #[schema(pattern = "^[0-9]{1,38}$")]
    max_fee_per_gas: Option<String>,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)?;
        let detail = "The fee must be a whole number of wei in a string.";
        match self.fee() {
            Some(Err(_) | Ok(0)) => Err(Problem::field("/max_fee_per_gas", "fee_format", detail)),
            _ => Ok(()),
        }
    }
}

impl Body {
    fn fee(&self) -> Option<std::result::Result<u128, std::num::ParseIntError>> {
        self.max_fee_per_gas.as_deref().map(str::parse)
    }
}

/// Retry an operation.
///
/// The retry check comes first. Answers 202 when the operation is under way again, or 200 when the chain shows that it was already executed
/// and it is now confirmed.
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
    Path(id): Path<OperationId>,
    submission: Submission<Body>,
) -> Result<Response> {
    id.check()?;
    let max_fee_per_gas = submission.body.fee().and_then(std::result::Result::ok);
    idempotency::perform(&app, &submission, &Retry { id: &id, reason: &submission.body.reason, max_fee_per_gas }).await
}

/// The act.
pub struct Retry<'a> {
    /// The operation.
    pub id: &'a OperationId,
    /// The reason.
    pub reason: &'a str,
    /// The maximum fee per gas, in wei.
    pub max_fee_per_gas: Option<u128>,
}

impl Change for Retry<'_> {
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
        if let Some(fee) = self.max_fee_per_gas {
            let chain_id = operations::find(tx, self.id).await?.chain_id;
            let cap = app.chain(chain_id).map_or(0, muniment_activities::config::ChainConfig::max_fee_per_gas_cap);
            if fee > cap {
                let detail = format!("The fee can be at most {cap} wei (max_fee_per_gas_gwei_cap of the chain).");
                return Err(Error::field("/max_fee_per_gas", "above_maximum", detail));
            }
        }
        let status = match retry::apply(tx, decision, &by.actor, self.reason, self.max_fee_per_gas).await? {
            RetryOutcome::Confirmed => 200,
            RetryOutcome::SameNonce | RetryOutcome::NewCycle => 202,
        };
        Ok((operation::answer(app, &operations::find(tx, self.id).await?, status), point))
    }
}
