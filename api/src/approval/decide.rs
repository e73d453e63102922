//! `POST /v1/approvals/{id}/approve`, `/reject` and `/cancel`: the decision about an approval.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::approval::{Approval, Status};
use muniment_domain::db::Tx;
use muniment_domain::id::ApprovalId;
use muniment_domain::idempotency::Answer;
use muniment_domain::user::Roles;
use muniment_domain::{Code, Error};
use muniment_workflows::approval;
use muniment_workflows::approval::Decision;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{Short, short};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::idempotency::IdempotencyKey;
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, idempotency};
use crate::field::id::location;
use crate::http::error::{Problem, Result, check_that};
use crate::http::version::{self, IfMatch};

const COMMENT_CHARACTERS_MAX: usize = 2_000;

/// The path, the headers and the caller of a request.
#[derive(Clone, Debug, Default)]
struct Seen {
    approval_id: ApprovalId,
    version: i64,
    roles: Option<Roles>,
}

impl Seen {
    fn of(approval_id: ApprovalId, IfMatch(version): IfMatch, principal: &Principal) -> Result<Self> {
        approval_id.check()?;
        Ok(Self { approval_id, version, roles: Some(principal.0.roles.clone()) })
    }

    fn decision(&self, by: Requester, comment: Option<&String>) -> muniment_domain::Result<Decision> {
        let (approval_id, version) = (self.approval_id.clone(), self.version);
        // A decision needs a role, and the endpoint admits nobody without one.
        let roles = self
            .roles
            .clone()
            .ok_or_else(|| Error::refused(Code::RoleForbidden, "Only a user can decide an approval."))?;
        Ok(Decision { approval_id, version, by, roles, comment: comment.cloned() })
    }
}

/// The approval of the payload that has this hash.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    #[schema(pattern = "^[0-9a-f]{64}$")]
    payload_sha256: String,
    #[schema(max_length = 2000)]
    comment: Option<String>,
    #[serde(skip)]
    seen: Seen,
}

/// The rejection and its reason.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    #[schema(max_length = 2000)]
    comment: String,
    #[serde(skip)]
    seen: Seen,
}

/// The request body. Nothing is required.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CancelApproval)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    #[schema(max_length = 2000)]
    comment: Option<String>,
    #[serde(skip)]
    seen: Seen,
}

/// Approve a requested action.
///
/// Needs a recent step-up. Answers 202 with the location of the result, or 200 with the reason if the action can no longer be executed. The
/// approver must be another person than the requester. If there is only one admin, an action for two admins can be approved by that admin
/// after `alone_from`; the staff was told by mail.
#[utoipa::path(
    post,
    path = "/v1/approvals/{id}/approve",
    request_body = Approve,
    params(IdempotencyKey, version::Seen),
    responses((status = 200, body = Short), (status = 202, body = Short)),
    extensions(("x-codes" = json!(["self_approval_forbidden", "approval_not_pending", "snapshot_mismatch", "version_conflict", "invalid_state"]))),
)]
pub async fn approve(
    State(app): State<App>,
    Path(id): Path<ApprovalId>,
    principal: Principal,
    version: IfMatch,
    mut submission: Submission<Approve>,
) -> Result<Response> {
    submission.body.seen = Seen::of(id, version, &principal)?;
    idempotency::once(&app, &submission).await
}

/// Reject a requested action.
#[utoipa::path(
    post,
    path = "/v1/approvals/{id}/reject",
    request_body = Reject,
    params(IdempotencyKey, version::Seen),
    responses((status = 200, body = Short)),
    extensions(("x-codes" = json!(["self_approval_forbidden", "approval_not_pending", "version_conflict"]))),
)]
pub async fn reject(
    State(app): State<App>,
    Path(id): Path<ApprovalId>,
    principal: Principal,
    version: IfMatch,
    mut submission: Submission<Reject>,
) -> Result<Response> {
    submission.body.seen = Seen::of(id, version, &principal)?;
    idempotency::once(&app, &submission).await
}

/// Cancel your own request for approval.
#[utoipa::path(
    post,
    path = "/v1/approvals/{id}/cancel",
    request_body = Cancel,
    params(IdempotencyKey, version::Seen),
    responses((status = 200, body = Short)),
    extensions(("x-codes" = json!(["forbidden", "approval_not_pending", "version_conflict"]))),
)]
pub async fn cancel(
    State(app): State<App>,
    Path(id): Path<ApprovalId>,
    principal: Principal,
    version: IfMatch,
    mut submission: Submission<Cancel>,
) -> Result<Response> {
    submission.body.seen = Seen::of(id, version, &principal)?;
    idempotency::once(&app, &submission).await
}

impl Form for Approve {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let hash = &self.payload_sha256;
        let is_hash =
            hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let detail = "The payload hash must have 64 lower-case hexadecimal digits. Read it from the approval.";
        Problem::all([
            check_that(is_hash, "/payload_sha256", "hash_format", detail),
            check_comment(self.comment.as_deref()),
        ])
    }
}

impl ChangeRequest for Approve {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let decision = self.seen.decision(by, self.comment.as_ref())?;
        Ok(answer(&approval::approve(tx, &app.settings, &self.payload_sha256, decision).await?))
    }
}

impl Form for Reject {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if self.comment.trim().is_empty() {
            return Err(Problem::field("/comment", "required", "Give the reason for the rejection."));
        }
        check_comment(Some(&self.comment))
    }
}

impl ChangeRequest for Reject {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        Ok(answer(&approval::reject(tx, self.seen.decision(by, Some(&self.comment))?).await?))
    }
}

impl Form for Cancel {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_comment(self.comment.as_deref())
    }
}

impl ChangeRequest for Cancel {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        Ok(answer(&approval::cancel(tx, self.seen.decision(by, self.comment.as_ref())?).await?))
    }
}

fn check_comment(comment: Option<&str>) -> Result<()> {
    if comment.is_some_and(|text| text.chars().count() > COMMENT_CHARACTERS_MAX) {
        let detail = format!("The comment can have at most {COMMENT_CHARACTERS_MAX} characters.");
        return Err(Problem::field("/comment", "above_maximum", detail));
    }
    Ok(())
}

/// Work that was queued is 202 with the place to watch; a word that ended the approval is 200.
fn answer(a: &Approval) -> Answer {
    let watched = match (&a.operation_id, &a.batch_id) {
        (_, Some(id)) => format!("/blockchain/operations?batch_id={id}"),
        (Some(id), None) => location(id),
        _ => location(&a.id),
    };
    let queued = matches!(a.status, Status::Approved | Status::Executed);
    let (status, location) = if queued { (202, Some(watched)) } else { (200, None) };
    Answer { status, location, body: json!(short(a)).to_string() }
}
