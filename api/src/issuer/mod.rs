//! `/v1/issuers`: the issuers, their approval and their suspension.

pub mod member;
mod routes;

pub use routes::routes;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::IssuerId;
use muniment_domain::idempotency::Answer;
use muniment_domain::issuer::{self, Filter, Issuer, Status};
use muniment_domain::{Code, Error};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, check_reason};
use crate::http::error::Result;
use crate::http::instant::Instant;
use crate::http::pages::{Between, List, Page, Paging};
use crate::http::version::etag;

/// An issuer.
#[derive(Serialize, ToSchema)]
#[schema(as = Issuer)]
pub struct View {
    id: IssuerId,
    #[schema(example = "Solar Park Alentejo Lda")]
    name: String,
    status: Status,
    /// The reason of the last suspension or reinstatement.
    status_reason: Option<String>,
    version: i64,
    created_at: Instant,
    updated_at: Instant,
}

fn item(issuer: &Issuer) -> View {
    View {
        id: issuer.id.clone(),
        name: issuer.name.clone(),
        status: issuer.status,
        status_reason: issuer.status_reason.clone(),
        version: issuer.version,
        created_at: Instant(issuer.created_at),
        updated_at: Instant(issuer.updated_at),
    }
}

/// List issuers, newest first.
#[utoipa::path(
    get,
    path = "/v1/issuers",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "pending"), Between, Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<List<View>>> {
    let (page, parameters) = Page::read(&uri, &["status", "created_from", "created_to"])?;
    let filter = Filter { statuses: parameters.words("status")?, created: parameters.created()? };
    let (rows, total) = issuer::page(&mut app.db.read().await?, &filter, page.limit, page.offset()).await?;
    Ok(Json(page.list(rows.iter().map(item), total)))
}

/// The organisation with this id, for staff and for its own people. To everybody else there is none.
pub async fn find_own(tx: &mut Tx, principal: &Principal, id: &IssuerId) -> Result<Issuer> {
    id.check()?;
    if !principal.is_staff() && principal.0.issuer_id.as_deref() != Some(id) {
        return Err(Error::refused(Code::NotFound, format!("The issuer {id} was not found.")).into());
    }
    Ok(issuer::find(tx, id).await?)
}

/// Read an issuer.
///
/// For staff and for the issuer's members.
#[utoipa::path(
    get,
    path = "/v1/issuers/{id}",
    responses((status = 200, body = View, headers(("ETag")))),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<IssuerId>, principal: Principal) -> Result<Response> {
    let found = find_own(&mut app.db.read().await?, &principal, &id).await?;
    Ok(([(header::ETAG, etag(found.version))], Json(item(&found))).into_response())
}

/// The request body. It has no fields.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = IssuerApproval)]
#[serde(deny_unknown_fields)]
pub struct Yes {
    #[serde(skip)]
    issuer_id: IssuerId,
}

/// Approve an issuer.
///
/// Its members may then create offerings.
#[utoipa::path(
    post,
    path = "/v1/issuers/{id}/approve",
    request_body = Yes,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn approve(
    State(app): State<App>,
    Path(issuer_id): Path<IssuerId>,
    submission: Submission<Yes>,
) -> Result<Response> {
    idempotency::once_for(&app, issuer_id, submission, |body, id| body.issuer_id = id).await
}

impl Form for Yes {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Yes {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> Result<Answer, Error> {
        let approved = issuer::approve(tx, &self.issuer_id, &by.actor).await?;
        Ok(Answer { status: 200, location: None, body: json!(item(&approved)).to_string() })
    }
}

/// The reason of the suspension or reinstatement.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = IssuerMove)]
#[serde(deny_unknown_fields)]
pub struct Because {
    #[schema(max_length = 500)]
    reason: String,
    #[serde(skip)]
    issuer_id: IssuerId,
    #[serde(skip)]
    suspends: bool,
}

/// Suspend an issuer.
///
/// From then on its members can only read, and its offerings take no subscriptions.
#[utoipa::path(
    post,
    path = "/v1/issuers/{id}/suspend",
    request_body = Because,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn suspend(
    State(app): State<App>,
    Path(issuer_id): Path<IssuerId>,
    mut submission: Submission<Because>,
) -> Result<Response> {
    submission.body.suspends = true;
    idempotency::once_for(&app, issuer_id, submission, |body, id| body.issuer_id = id).await
}

/// End the suspension of an issuer.
#[utoipa::path(
    post,
    path = "/v1/issuers/{id}/reinstate",
    request_body = Because,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn reinstate(
    State(app): State<App>,
    Path(issuer_id): Path<IssuerId>,
    submission: Submission<Because>,
) -> Result<Response> {
    idempotency::once_for(&app, issuer_id, submission, |body, id| body.issuer_id = id).await
}

impl Form for Because {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)
    }
}

impl ChangeRequest for Because {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> Result<Answer, Error> {
        let reason = self.reason.trim();
        let moved = match self.suspends {
            true => issuer::suspend(tx, &self.issuer_id, reason, &by.actor).await?,
            false => issuer::reinstate(tx, &self.issuer_id, reason, &by.actor).await?,
        };
        Ok(Answer { status: 200, location: None, body: json!(item(&moved)).to_string() })
    }
}
