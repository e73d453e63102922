//! `POST /blockchain/operations/{id}/cancel`.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::Operation;
use muniment_domain::point::Point;
use muniment_workflows::approval::action::Action;
use muniment_workflows::operator::{abandon, cancel};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::operator::reconcile::Queued;
use crate::{approval, operation};

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CancelOperation)]
#[serde(deny_unknown_fields)]
pub struct Body {
    mode: Mode,
    #[schema(max_length = 500)]
    reason: String,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = CancelMode)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// End an operation of which nothing was signed.
    Unsent,
    /// Use its nonce for an empty transfer.
    Noop,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)
    }
}

/// Cancel an operation.
///
/// Answers 202. An unsent operation ends at once, or after a second person approves if it was retried before. To cancel a nonce, a worker
/// sends an empty transfer with the same nonce; the chain decides which transaction is included.
#[utoipa::path(
    post,
    path = "/blockchain/operations/{id}/cancel",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Queued)),
    extensions(("x-codes" = json!(["invalid_state", "nonce_still_open", "operation_in_progress", "chain_unavailable", "chain_halted", "unknown_chain"]))),
)]
pub async fn handle(
    State(app): State<App>,
    Path(id): Path<OperationId>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    id.check()?;
    let reason = submission.body.reason.as_str();
    match submission.body.mode {
        Mode::Unsent => {
            let unsent = CancelUnsent { id: &id, reason, is_person: principal.0.is_person() };
            idempotency::perform(&app, &submission, &unsent).await
        }
        Mode::Noop => idempotency::perform(&app, &submission, &CancelNonce { id: &id, reason }).await,
    }
}

struct CancelUnsent<'a> {
    id: &'a OperationId,
    reason: &'a str,
    is_person: bool,
}

impl Change for CancelUnsent<'_> {
    type Decision = Operation;

    async fn decide(&self, app: &App) -> Result<Operation> {
        let op = cancel::decide_unsent(&app.desk, self.id).await?;
        if cancel::takes_two(&op) && !self.is_person {
            return Err(Problem::new(
                Code::RoleForbidden,
                "API keys cannot cancel an operation that was retried. Log in as a user.",
            ));
        }
        Ok(op)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        op: Operation,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        if cancel::takes_two(&op) {
            let (operation_id, reason) = (op.id, self.reason.to_owned());
            let request = abandon::Request { operation_id, reason, missing: Vec::new(), unsent: true };
            return Ok((approval::ask(app, tx, Action::Abandon(request), &by).await?, Point::Accept));
        }
        let op = cancel::apply_unsent(tx, op, &by.actor, self.reason).await?;
        Ok((operation::answer(app, &op, 202), Point::Cancel))
    }
}

struct CancelNonce<'a> {
    id: &'a OperationId,
    reason: &'a str,
}

impl Change for CancelNonce<'_> {
    type Decision = ();

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let op = cancel::ask_noop(tx, self.id, &by.actor, self.reason).await?;
        Ok((operation::answer(app, &op, 202), Point::Accept))
    }
}
