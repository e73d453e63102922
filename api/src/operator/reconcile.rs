//! `POST /blockchain/operations/{id}/reconcile`: an operator resolves an operation that the engine cannot.

use alloy_primitives::B256;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::idempotency::Answer;
use muniment_domain::operation as operations;
use muniment_domain::point::Point;
use muniment_workflows::approval::action::Action;
use muniment_workflows::operator::abandon::{self, Examined};
use muniment_workflows::operator::close_nonce;
use muniment_workflows::operator::mark_confirmed::{self, Examined as Proved};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::code::Code;
use crate::field::id::location;
use crate::http::error::{Problem, Result};
use crate::operator::retry::Retry;
use crate::{approval, operation};

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Reconcile)]
#[serde(deny_unknown_fields)]
pub struct Body {
    resolution: Resolution,
    /// The transaction that proves the effect. Required for `mark_confirmed`, not allowed otherwise.
    #[schema(pattern = "^0x[0-9a-fA-F]{64}$")]
    tx_hash: Option<String>,
    #[schema(max_length = 500)]
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = ResolutionWanted)]
#[serde(rename_all = "snake_case")]
enum Resolution {
    MarkConfirmed,
    Retry,
    Abandon,
    CloseNonce,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)?;
        match (self.resolution, &self.tx_hash) {
            (Resolution::MarkConfirmed, None) => {
                Err(Problem::field("/tx_hash", "required", "The hash of the transaction is required."))
            }
            (Resolution::MarkConfirmed, Some(text)) if hash(text).is_none() => {
                Err(Problem::field("/tx_hash", "hash_format", "The hash must be 0x and 64 hexadecimal digits."))
            }
            (Resolution::Retry | Resolution::Abandon | Resolution::CloseNonce, Some(_)) => {
                Err(Problem::field("/tx_hash", "unknown_field", "Only mark_confirmed accepts a transaction."))
            }
            _ => Ok(()),
        }
    }
}

fn hash(text: &str) -> Option<B256> {
    text.strip_prefix("0x").filter(|digits| digits.len() == 64)?.parse().ok()
}

/// The operation, or the approval that it waits for.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the document shows both; each is written by its own act")]
pub enum Queued {
    /// The operation continues.
    Operation(Box<operation::Short>),
    /// A second person must approve it.
    Approval(Box<approval::Asked>),
}

/// The operation, with the checks of a confirmation proof.
#[derive(Serialize, ToSchema)]
pub struct Reconciled {
    #[serde(flatten)]
    operation: operation::Short,
    /// The checks with their results.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    checks: Option<Vec<Check>>,
}

/// A check of a confirmation proof.
#[derive(Serialize, ToSchema)]
struct Check {
    #[schema(example = "effect")]
    name: &'static str,
    /// Whether the check passed.
    passed: bool,
    detail: String,
}

/// Resolve an operation: mark it confirmed, retry it, abandon it or close its nonce.
///
/// Marking it confirmed needs a transaction that proves the effect and answers 200. A retry answers 202, or 200 if the operation was
/// already executed. Abandoning answers 200, or 202 with an approval if a second person must decide.
/// `close_nonce` is for a sent operation whose nonce is used on the chain by an unknown transaction. It answers 202 with an approval. The
/// operation then needs a retry, which takes a new nonce, unless the contract had executed it.
#[utoipa::path(
    post,
    path = "/blockchain/operations/{id}/reconcile",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = Reconciled), (status = 202, body = Queued)),
    extensions(("x-codes" = json!(["invalid_state", "nonce_still_open", "partial_effect", "effect_mismatch", "operation_in_progress", "unknown_calls", "chain_halted", "unknown_chain", "chain_unavailable", "reconcile_verification_failed"]))),
)]
pub async fn handle(
    State(app): State<App>,
    Path(id): Path<OperationId>,
    submission: Submission<Body>,
) -> Result<Response> {
    id.check()?;
    let (id, body) = (&id, &submission.body);
    let reason = body.reason.as_str();
    match body.resolution {
        Resolution::Retry => {
            idempotency::perform(&app, &submission, &Retry { id, reason, max_fee_per_gas: None }).await
        }
        Resolution::Abandon => idempotency::perform(&app, &submission, &Abandon { id, reason }).await,
        Resolution::CloseNonce => idempotency::perform(&app, &submission, &CloseNonce { id, reason }).await,
        Resolution::MarkConfirmed => {
            let tx_hash = body.tx_hash.as_deref().and_then(hash).unwrap_or_default();
            idempotency::perform(&app, &submission, &MarkConfirmed { id, reason, tx_hash }).await
        }
    }
}

struct MarkConfirmed<'a> {
    id: &'a OperationId,
    reason: &'a str,
    tx_hash: B256,
}

impl Change for MarkConfirmed<'_> {
    type Decision = Proved;

    async fn decide(&self, app: &App) -> Result<Proved> {
        let examined = mark_confirmed::examine(&app.desk, self.id, self.tx_hash).await?;
        if examined.is_proof() {
            return Ok(examined);
        }
        let failed: Vec<_> = examined.checks.iter().filter(|check| !check.passed).map(|check| check.name).collect();
        let detail = format!("The transaction does not prove the effect: {}.", failed.join(", "));
        Err(Problem::new(Code::ReconcileVerificationFailed, detail).with_checks(json!(examined.checks)))
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        examined: Proved,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        let check = |c: &mark_confirmed::Check| Check { name: c.name, passed: c.passed, detail: c.detail.clone() };
        let checks = Some(examined.checks.iter().map(check).collect());
        mark_confirmed::apply(tx, examined, &by.actor, self.reason).await?;
        let operation = operation::short(app, &operations::find(tx, self.id).await?);
        let body = json!(Reconciled { operation, checks });
        let location = Some(location(self.id));
        Ok((Answer { status: 200, location, body: body.to_string() }, Point::MarkConfirmed))
    }
}

struct Abandon<'a> {
    id: &'a OperationId,
    reason: &'a str,
}

impl Change for Abandon<'_> {
    type Decision = Examined;

    // The check also runs before the request for an approval, so that an impossible abandonment is refused at once.
    async fn decide(&self, app: &App) -> Result<Examined> {
        Ok(abandon::examine(&app.desk, self.id).await?)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        examined: Examined,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        if examined.takes_two() {
            let (operation_id, reason) = (self.id.to_owned(), self.reason.to_owned());
            let request = abandon::Request { operation_id, reason, missing: examined.missing(), unsent: false };
            return Ok((approval::ask(app, tx, Action::Abandon(request), &by).await?, Point::Accept));
        }
        abandon::write(tx, examined, &by.actor, self.reason).await?;
        Ok((operation::answer(app, &operations::find(tx, self.id).await?, 200), Point::Abandon))
    }
}

struct CloseNonce<'a> {
    id: &'a OperationId,
    reason: &'a str,
}

impl Change for CloseNonce<'_> {
    type Decision = close_nonce::Examined;

    async fn decide(&self, app: &App) -> Result<close_nonce::Examined> {
        Ok(close_nonce::examine(&app.desk, self.id).await?)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        examined: close_nonce::Examined,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        let (operation_id, reason) = (self.id.to_owned(), self.reason.to_owned());
        let request = close_nonce::Request { operation_id, nonce: examined.nonce(), reason };
        Ok((approval::ask(app, tx, Action::CloseNonce(request), &by).await?, Point::Accept))
    }
}
