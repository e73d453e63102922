//! Compliance: freeze, lock, restrict, pause, force-transfer, redeem and recover. The endpoints differ only in their bodies.

mod body;
mod routes;

pub use routes::routes;

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_workflows::approval::action::Action;
use muniment_workflows::compliance;
use muniment_workflows::requester::Requester;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use self::body::{
    ComplianceBody, ForceTransfer, Freeze, Lock, Pause, Recover, Redeem, Reinstate, ReleaseLock, Restrict, Unfreeze,
    Unlock, Unpause, Unrestrict,
};
use crate::app::App;
use crate::approval::{self, Asked};
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::http::error::Result;
use crate::operation;

impl<T: ComplianceBody + DeserializeOwned + ToSchema + Send + Sync> Form for T {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        ComplianceBody::check(self)
    }
}

impl<T: ComplianceBody + DeserializeOwned + ToSchema + Send + Sync> ChangeRequest for T {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = self.request();
        if request.needs_approval() {
            return approval::ask(app, tx, Action::Compliance(request), &by).await;
        }
        let accepted = compliance::request(tx, &request, &by).await?;
        Ok(operation::accepted(app, &accepted))
    }
}

/// Freeze an address.
///
/// Answers 202 with the operation to follow.
#[utoipa::path(
    post,
    path = "/blockchain/freeze",
    request_body = Freeze,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn freeze(State(app): State<App>, submission: Submission<Freeze>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the unfreezing of an address.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/unfreeze",
    request_body = Unfreeze,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn unfreeze(State(app): State<App>, submission: Submission<Unfreeze>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Lock units of a holder.
///
/// Answers 202 with the operation to follow.
#[utoipa::path(
    post,
    path = "/blockchain/lock",
    request_body = Lock,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn lock(State(app): State<App>, submission: Submission<Lock>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the unlocking of a holder's due locks.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/unlock",
    request_body = Unlock,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn unlock(State(app): State<App>, submission: Submission<Unlock>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Restrict transfers of a partition.
///
/// Answers 202 with the operation to follow.
#[utoipa::path(
    post,
    path = "/blockchain/restrict",
    request_body = Restrict,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn restrict(State(app): State<App>, submission: Submission<Restrict>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the end of a partition's restriction.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/unrestrict",
    request_body = Unrestrict,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn unrestrict(State(app): State<App>, submission: Submission<Unrestrict>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request a forced transfer of units.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/force-transfer",
    request_body = ForceTransfer,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "wallet_required", "unknown_chain", "contract_missing"]))),
)]
pub async fn force_transfer(State(app): State<App>, submission: Submission<ForceTransfer>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the recovery of a lost wallet.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/recover",
    request_body = Recover,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "wallet_in_use", "wallet_required", "unknown_chain", "contract_missing"]))),
)]
pub async fn recover(State(app): State<App>, submission: Submission<Recover>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request that the recovery of a wallet is taken back.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/reinstate",
    request_body = Reinstate,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn reinstate(State(app): State<App>, submission: Submission<Reinstate>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the redemption of a holder's units.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/redeem",
    request_body = Redeem,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn redeem(State(app): State<App>, submission: Submission<Redeem>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the early release of locked units.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/release-lock",
    request_body = ReleaseLock,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn release_lock(State(app): State<App>, submission: Submission<ReleaseLock>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Pause the token of an offering.
///
/// Answers 202 with the operation to follow.
#[utoipa::path(
    post,
    path = "/blockchain/pause",
    request_body = Pause,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn pause(State(app): State<App>, submission: Submission<Pause>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

/// Request the end of a token's pause.
///
/// Answers 202 with the approval that another person decides.
#[utoipa::path(
    post,
    path = "/blockchain/unpause",
    request_body = Unpause,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn unpause(State(app): State<App>, submission: Submission<Unpause>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}
