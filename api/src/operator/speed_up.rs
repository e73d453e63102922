//! `POST /blockchain/operations/{id}/speed-up`.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, operation as operations};
use muniment_workflows::operator::speed_up;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::http::error::{Problem, Result};
use crate::operation;

/// Nodes refuse a replacement that offers less.
const PERCENT_MIN: i64 = 13;
const PERCENT_MAX: i64 = 1_000;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SpeedUp)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The fee increase in percent. The value of the chain's configuration, by default.
    #[schema(minimum = 13, maximum = 1000)]
    bump_percent: Option<i64>,
    #[schema(max_length = 500)]
    reason: Option<String>,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if let Some(reason) = &self.reason {
            check_reason(reason)?;
        }
        match self.bump_percent {
            Some(percent) if percent < PERCENT_MIN => {
                let detail = format!("The increase must be at least {PERCENT_MIN} percent; nodes refuse less.");
                Err(Problem::field("/bump_percent", "below_minimum", detail))
            }
            Some(percent) if percent > PERCENT_MAX => Err(Problem::field(
                "/bump_percent",
                "above_maximum",
                format!("The increase can be at most {PERCENT_MAX} percent."),
            )),
            _ => Ok(()),
        }
    }
}

/// Raise the fee of an operation's transaction.
///
/// Answers 202. A worker signs a transaction with the same nonce and a higher fee, stores it and then sends it.
#[utoipa::path(
    post,
    path = "/blockchain/operations/{id}/speed-up",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["invalid_state", "fee_cap_reached", "unknown_chain", "chain_halted"]))),
)]
pub async fn handle(
    State(app): State<App>,
    Path(id): Path<OperationId>,
    submission: Submission<Body>,
) -> Result<Response> {
    id.check()?;
    idempotency::perform(&app, &submission, &SpeedUp { id: &id, body: &submission.body }).await
}

struct SpeedUp<'a> {
    id: &'a OperationId,
    body: &'a Body,
}

impl Change for SpeedUp<'_> {
    type Decision = ();

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let chain_id = operations::find(tx, self.id).await?.chain_id;
        let unknown = || Error::refused(Code::UnknownChain, format!("The chain {chain_id} is not configured."));
        let config = app.chain(chain_id).ok_or_else(unknown)?;
        let reason = self.body.reason.as_deref().unwrap_or("a higher fee was requested");
        let op = speed_up::ask(tx, config, self.id, self.body.bump_percent, &by.actor, reason).await?;
        Ok((operation::answer(app, &op, 202), Point::Accept))
    }
}
