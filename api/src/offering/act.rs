//! The actions on an offering, each a `POST` on its path.

use axum::extract::{Path, State};
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::idempotency::Answer;
use muniment_domain::offering::{Offering, Scope};
use muniment_domain::point::Point;
use muniment_workflows::offering::{self, CancelResult, Request};
use muniment_workflows::requester::Requester;

use super::body::{Empty, MaterialChange, OptionalReason, RequestedChanges, RequiredReason};
use super::record::{Full, tag_of};
use super::terms::Terms;
use super::write::answer;
use super::{Audience, checked, running};
use crate::access::principal::Principal;
use crate::app::App;
use crate::approval;
use crate::change::Change;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::Submission;
use crate::http::error::Result;

/// A move of an offering with what its body says.
enum Move {
    Submit,
    Approve,
    RequestChanges { comment: String },
    Publish,
    Pause { reason: String },
    Resume,
    Reopen,
    Close { reason: Option<String> },
    Cancel { reason: String },
    Archive,
    MaterialChange { reason: String, changes: Box<Terms>, chain_id: Option<i64> },
}

/// A move of one offering by one caller.
struct OfferingMove {
    id: OfferingId,
    scope: Scope,
    audience: Audience,
    kind: Move,
}

/// Makes this move.
async fn act<T: Sync>(
    app: &App,
    id: Path<OfferingId>,
    by: &Principal,
    submission: &Submission<T>,
    kind: impl FnOnce(&T) -> Move,
) -> Result<Response> {
    let audience = if by.is_staff() { Audience::Staff } else { Audience::Org };
    let change = OfferingMove { id: checked(id)?, scope: running(by), audience, kind: kind(&submission.body) };
    idempotency::perform(app, submission, &change).await
}

/// Submit an offering for review.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/submit",
    request_body = Empty,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn submit(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<Empty>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Move::Submit).await
}

/// Approve an offering.
///
/// The approver must be another person than the one who submitted it.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/approve",
    request_body = Empty,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn approve(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<Empty>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Move::Approve).await
}

/// Return an offering to its issuer for changes.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/request-changes",
    request_body = RequestedChanges,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn request_changes(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<RequestedChanges>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Move::RequestChanges { comment: body.comment.clone() }).await
}

/// Publish an offering.
///
/// From its opening time it takes subscriptions.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/publish",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn publish(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Move::Publish).await
}

/// Pause an offering.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/pause",
    request_body = RequiredReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn pause(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<RequiredReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Move::Pause { reason: body.reason.clone() }).await
}

/// Resume a paused offering.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/resume",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn resume(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Move::Resume).await
}

/// Open an offering again that closed by its hard cap.
///
/// Only before its end, when a subscription has ended and so left room, and while nothing is minted.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/reopen",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn reopen(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Move::Reopen).await
}

/// Close an offering.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/close",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn close(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Move::Close { reason: body.reason.clone() }).await
}

/// Cancel an offering.
///
/// Answers 202 with an approval if a second person must decide.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/cancel",
    request_body = RequiredReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag"))), (status = 202, body = approval::Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn cancel(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<RequiredReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |body| Move::Cancel { reason: body.reason.clone() }).await
}

/// Archive an offering.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/archive",
    request_body = OptionalReason,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn archive(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<OptionalReason>,
) -> Result<Response> {
    act(&app, id, &principal, &submission, |_| Move::Archive).await
}

/// Change terms that subscribers agreed to.
///
/// Subscribers must confirm the new terms.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/material-change",
    request_body = MaterialChange,
    params(IdempotencyKey),
    responses((status = 200, body = Full, headers(("ETag")))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn material_change(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    submission: Submission<MaterialChange>,
) -> Result<Response> {
    let chain_id = submission.body.changes.chain_id(&app)?;
    let kind = |body: &MaterialChange| {
        let (reason, changes) = (body.reason.clone(), Box::new(body.changes.clone()));
        Move::MaterialChange { reason, changes, chain_id }
    };
    act(&app, id, &principal, &submission, kind).await
}

impl Change for OfferingMove {
    type Decision = ();
    const DECIDES: bool = false;

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let (id, scope) = (&self.id, &self.scope);
        let moved = match &self.kind {
            Move::Submit => offering::submit(tx, scope, id, &by).await?,
            Move::Approve => offering::approve(tx, id, &by).await?,
            Move::RequestChanges { comment } => offering::request_changes(tx, id, comment, &by).await?,
            Move::Publish => offering::publish(tx, scope, id, &by).await?,
            Move::Pause { reason } => offering::pause(tx, scope, id, reason, &by).await?,
            Move::Resume => offering::resume(tx, scope, id, &by).await?,
            Move::Reopen => offering::reopen(tx, scope, id, &by).await?,
            Move::Close { reason } => offering::close(tx, scope, id, reason.as_deref(), &by).await?,
            Move::Archive => offering::archive(tx, scope, id, &by).await?,
            Move::Cancel { reason } => {
                let request = Request { offering_id: id.to_owned(), reason: reason.clone() };
                match offering::cancel(tx, &app.settings, scope, request, &by).await? {
                    CancelResult::Cancelled(offering) => *offering,
                    CancelResult::AwaitsApproval(approval) => return Ok((approval::waiting(&approval), Point::Accept)),
                }
            }
            Move::MaterialChange { reason, changes, chain_id } => {
                let terms = changes.clone();
                let apply = |offering: &mut Offering| terms.apply(*chain_id, offering);
                offering::material_change(tx, scope, id, apply, reason, &by).await?
            }
        };
        Ok((answer(app, tx, &moved, self.audience, 200).await?, Point::Accept))
    }

    fn etag(answer: &Answer) -> Option<String> {
        tag_of(answer)
    }
}
