//! The moves of an offering, each a `POST` on its path.

use axum::extract::Path;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::offering::{Offering, Scope};
use muniment_workflows::offering;
use muniment_workflows::offering::{Ended, Request};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::{Full, tag_of};
use super::terms::Terms;
use super::write::{Change, answer, unnamed};
use super::{Audience, checked, running};
use crate::act::{check_reason, moves};
use crate::app::App;
use crate::approval;
use crate::error::{Problem, Result};
use crate::idempotency::{self, IdempotencyKey};
use crate::principal::Principal;
use crate::submission::{Intent, Submission};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Submit,
    Approve,
    RequestChanges,
    Publish,
    Pause,
    Resume,
    Close,
    Cancel,
    Archive,
    MaterialChange,
}

impl Act {
    /// Whether it stands in the history why.
    const fn needs_reason(self) -> bool {
        matches!(self, Self::Pause | Self::Cancel | Self::MaterialChange)
    }
}

/// The body of all of them: a move says little more than its path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    reason: Option<String>,
    comment: Option<String>,
    changes: Option<Terms>,
    #[serde(skip)]
    asked: Option<Asked>,
}

/// What the moves take that say nothing besides their path.
#[derive(ToSchema)]
#[schema(as = OfferingMoved)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// What they take that may be said why.
#[derive(ToSchema)]
#[schema(as = OfferingRemark)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Body`")]
pub struct Remark {
    #[schema(nullable = false, min_length = 1, max_length = 500)]
    reason: Option<String>,
}

/// What they take that must be said why.
#[derive(ToSchema)]
#[schema(as = OfferingWhy)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Body`")]
pub struct Why {
    /// It stands in the history.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// What has to be changed.
#[derive(ToSchema)]
#[schema(as = OfferingWish)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Body`")]
pub struct Wish {
    #[schema(min_length = 1, max_length = 500)]
    comment: String,
}

/// New terms of what runs, and why.
#[derive(ToSchema)]
#[schema(as = OfferingMaterialChange)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Body`")]
pub struct NewTerms {
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    changes: Change,
}

#[derive(Debug)]
struct Asked {
    act: Act,
    id: String,
    scope: Scope,
    audience: Audience,
    chain_id: Option<i64>,
}

async fn act(
    app: &App,
    act: Act,
    id: Path<String>,
    by: &Principal,
    mut submission: Submission<Body>,
) -> Result<Response> {
    let (id, body) = (checked(id)?, &mut submission.body);
    if act == Act::RequestChanges && body.comment.as_ref().is_none_or(|comment| comment.trim().is_empty()) {
        return Err(Problem::field("/comment", "required", "Say what has to be changed."));
    }
    if act.needs_reason() && body.reason.is_none() {
        return Err(Problem::field("/reason", "required", "Say why: it stands in the history."));
    }
    if act == Act::MaterialChange && body.changes.is_none() {
        return Err(Problem::field("/changes", "required", "Say what changes."));
    }
    let unknown = [
        ("/comment", act != Act::RequestChanges && body.comment.is_some()),
        ("/reason", matches!(act, Act::Submit | Act::Approve | Act::RequestChanges) && body.reason.is_some()),
        ("/changes", act != Act::MaterialChange && body.changes.is_some()),
    ];
    if let Some((pointer, _)) = unknown.iter().find(|(_, is_there)| *is_there) {
        return Err(Problem::field(*pointer, "unknown_field", "This move does not take it."));
    }
    let chain_id = match &body.changes {
        Some(terms) => terms.chain_id(app)?,
        None => None,
    };
    let audience = if by.is_staff() { Audience::Staff } else { Audience::Org };
    body.asked = Some(Asked { act, id, scope: running(by), audience, chain_id });
    idempotency::once(app, &submission).await
}

moves! {
    /// Asks for the operator's word.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/submit",
        request_body = Nothing,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    submit = Submit;
    /// Allows it, by another person than the one who submitted it.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/approve",
        request_body = Nothing,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
    )]
    approve = Approve;
    /// Gives it back to be changed.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/request-changes",
        request_body = Wish,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    request_changes = RequestChanges;
    /// Lets it take subscriptions.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/publish",
        request_body = Remark,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    publish = Publish;
    /// Takes none for now.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/pause",
        request_body = Why,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    pause = Pause;
    /// Takes them again.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/resume",
        request_body = Remark,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    resume = Resume;
    /// Ends it.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/close",
        request_body = Remark,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    close = Close;
    /// Calls it off, or asks for the second person that this takes: 202.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/cancel",
        request_body = Why,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag"))), (status = 202, body = approval::Asked)),
        extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
    )]
    cancel = Cancel;
    /// Puts it away.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/archive",
        request_body = Remark,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    archive = Archive;
    /// Changes what subscribers agreed to; they are asked again.
    #[utoipa::path(
        post,
        path = "/v1/offerings/{id}/material-change",
        request_body = NewTerms,
        params(IdempotencyKey),
        responses((status = 200, body = Full, headers(("ETag")))),
        extensions(("x-codes" = json!(["invalid_state"]))),
    )]
    material_change = MaterialChange;
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        self.reason.as_deref().map_or(Ok(()), check_reason)?;
        self.comment.as_deref().map_or(Ok(()), |comment| match check_reason(comment) {
            Ok(()) => Ok(()),
            Err(_) => Err(Problem::field("/comment", "length_out_of_range", "A comment has 1 to 500 characters.")),
        })?;
        match &self.changes {
            Some(terms) if terms.issuer_id.is_some() => {
                Err(Problem::field("/changes/issuer_id", "unexpected", "An offering stays with its organisation."))
            }
            Some(terms) => terms.check(),
            None => Ok(()),
        }
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some(asked) = &self.asked else { return Err(unnamed()) };
        let (id, scope, reason) = (asked.id.as_str(), &asked.scope, self.reason.as_deref().unwrap_or_default());
        let moved = match asked.act {
            Act::Submit => offering::submit(tx, scope, id, &by).await?,
            Act::Approve => offering::approve(tx, id, &by).await?,
            Act::RequestChanges => {
                offering::request_changes(tx, id, self.comment.as_deref().unwrap_or_default(), &by).await?
            }
            Act::Publish => offering::publish(tx, scope, id, &by).await?,
            Act::Pause => offering::pause(tx, scope, id, reason, &by).await?,
            Act::Resume => offering::resume(tx, scope, id, &by).await?,
            Act::Close => offering::close(tx, scope, id, self.reason.as_deref(), &by).await?,
            Act::Archive => offering::archive(tx, scope, id, &by).await?,
            Act::Cancel => {
                let request = Request { offering_id: asked.id.clone(), reason: reason.to_owned() };
                match offering::cancel(tx, &app.settings, scope, request, &by).await? {
                    Ended::Cancelled(o) => *o,
                    Ended::Asked(asked) => return Ok(approval::waiting(&asked)),
                }
            }
            Act::MaterialChange => {
                let terms = self.changes.clone().unwrap_or_default();
                let apply = |o: &mut Offering| terms.apply(asked.chain_id, o);
                offering::material_change(tx, scope, id, apply, reason, &by).await?
            }
        };
        answer(app, tx, &moved, asked.audience, 200).await
    }

    fn etag(answer: &Answer) -> Option<String> {
        tag_of(answer)
    }
}
