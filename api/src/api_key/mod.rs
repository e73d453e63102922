//! `/v1/api-keys`: keys that act for their owner, never with more rights than the owner.

mod check;
mod record;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::api_key::{self, ApiKey, New, Scope};
use muniment_domain::db::Tx;
use muniment_domain::id::{ApiKeyId, ApprovalId};
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::user::{self, Role};
use muniment_domain::{Code, Error};
use muniment_workflows::approval::action::Action;
use muniment_workflows::requester::Requester;
use muniment_workflows::staff::api_key::{Request, collect};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use self::check::{check, check_rights};
use self::record::{Made, View, item};
use crate::access::permission::{ADMIN, KEY_LIST, KEYS};
use crate::access::principal::Principal;
use crate::access::route::{Route, route};
use crate::app::App;
use crate::approval::{self, Asked};
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{Between, List, Page, Paging};

/// The endpoints of API keys.
pub fn routes() -> Vec<Route> {
    vec![
        route!(take, ADMIN).step_up().answers_secret().audits_refusals(),
        route!(list, KEY_LIST),
        route!(create, KEYS).proved_email().step_up().answers_secret(),
        route!(rotate, KEYS).proved_email().step_up().answers_secret(),
        route!(revoke, KEYS),
    ]
}

const DAYS_DEFAULT: i64 = 365;
/// How many keys of one person may be in use.
const KEYS_MAX: i64 = 20;
/// The default overlap of a rotation.
pub const OVERLAP_HOURS_DEFAULT: i64 = 24;
const OVERLAP_HOURS_MAX: i64 = 72;

/// The API key to create.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WantedApiKey)]
#[serde(deny_unknown_fields)]
pub struct NewKeyRequest {
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    #[schema(min_items = 1)]
    scopes: Vec<String>,
    /// When the key expires, at most 730 days from now. 365 days from now, by default.
    expires_at: Option<Instant>,
    #[serde(default)]
    #[schema(max_items = 20)]
    allowed_cidrs: Vec<String>,
    /// Requests per minute. Only staff may exceed the platform's limit for keys.
    #[schema(minimum = 1, maximum = 100000)]
    rate_limit: Option<i64>,
    #[serde(skip)]
    of_platform: bool,
}

/// Create an API key.
///
/// The key is shown only in this answer. A person may have at most twenty active keys. Only staff may set a rate limit above the
/// platform's. A platform key needs another admin's approval: the answer is 202, and the requester then collects the key with `POST
/// /v1/approvals/{id}/api-key`.
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    request_body = NewKeyRequest,
    params(IdempotencyKey),
    responses((status = 201, body = Made), (status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn create(
    State(app): State<App>,
    principal: Principal,
    mut submission: Submission<NewKeyRequest>,
) -> Result<Response> {
    submission.body.of_platform = principal.is_staff();
    let now = app.db.clock().now();
    let rights = check_rights(&submission.body, &principal.0.roles, &app);
    let checked = Problem::all([check(&submission.body, now), rights]);
    idempotency::once_checked(&app, &submission, checked).await
}

impl Form for NewKeyRequest {
    // The checks need the roles of the caller, so `create` makes them all at once.
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for NewKeyRequest {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        api_key::check_limit(tx, &by.user_id(), KEYS_MAX).await?;
        // The owner's row is locked by now. A change of roles before is seen here, and a later one finds the new key and revokes it.
        if user::find(tx, &by.user_id()).await?.roles.is_staff() != self.of_platform {
            let detail = "Your roles have changed. Log in again, then create the key.";
            return Err(Error::refused(Code::InvalidState, detail));
        }
        let mut scopes = self.scopes.clone();
        scopes.sort_unstable();
        let expires_at = self.expires_at.map_or(tx.now() + Duration::days(DAYS_DEFAULT), |at| at.0);
        if self.of_platform {
            let action = Action::CreateApiKey(Request {
                user_id: by.user_id(),
                name: self.name.trim().to_owned(),
                scopes,
                allowed_cidrs: self.allowed_cidrs.clone(),
                per_minute: self.rate_limit,
                expires_at,
            });
            return approval::ask(app, tx, action, &by).await;
        }
        let new = New {
            user_id: &by.user_id(),
            name: self.name.trim(),
            scopes: &scopes.join(" "),
            allowed_cidrs: &self.allowed_cidrs.join(" "),
            per_minute: self.rate_limit,
            expires_at,
            approval_id: None,
            secret: secret(app),
        };
        let (id, key) = api_key::insert(tx, &new).await?;
        made(tx, &id, key).await
    }
}

/// The request body. It has no fields.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TakenApiKey)]
#[serde(deny_unknown_fields)]
pub struct Taking {
    #[serde(skip)]
    approval_id: ApprovalId,
}

/// Collect an approved platform API key.
///
/// Only the requester can collect it, and only once. The key is shown only in this answer.
#[utoipa::path(
    post,
    path = "/v1/approvals/{id}/api-key",
    request_body = Taking,
    params(IdempotencyKey),
    responses((status = 201, body = Made)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn take(
    State(app): State<App>,
    Path(approval_id): Path<ApprovalId>,
    submission: Submission<Taking>,
) -> Result<Response> {
    idempotency::once_for(&app, approval_id, submission, |body, id| body.approval_id = id).await
}

impl Form for Taking {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Taking {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let (id, key) = collect(tx, &self.approval_id, KEYS_MAX, secret(app), &by).await?;
        made(tx, &id, key).await
    }
}

async fn made(tx: &mut Tx, id: &ApiKeyId, key: String) -> muniment_domain::Result<Answer> {
    let made = Made { shown: item(&api_key::find(tx, id, Scope::All).await?), key };
    Ok(Answer { status: 201, location: Some("/v1/api-keys".to_owned()), body: json!(made).to_string() })
}

/// List API keys.
///
/// Members see the keys of their issuer. Admins and auditors see all keys.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    params(Between, Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<List<View>>> {
    let (page, parameters) = Page::read(&uri, &["created_from", "created_to"])?;
    let created = parameters.created()?;
    let mut tx = app.db.read().await?;
    let (rows, total) = api_key::page(&mut tx, seen(&principal), created, page.limit, page.offset()).await?;
    Ok(Json(page.list(rows.iter().map(item), total)))
}

/// The replacement of an API key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// How many hours the old key keeps working, 24 by default.
    #[schema(minimum = 0, maximum = 72)]
    overlap_hours: Option<i64>,
    /// The id from the path.
    #[serde(skip)]
    #[schema(ignore)]
    id: ApiKeyId,
}

/// Replace an API key.
///
/// The new key has the same rights, and the lifetime of the old one; a platform key keeps its end. The old key works until the overlap ends. A repeated request with the same Idempotency-Key returns the
/// same new key.
#[utoipa::path(
    post,
    path = "/v1/api-keys/{id}/rotate",
    request_body = Option<Rotation>,
    params(IdempotencyKey),
    responses((status = 201, body = Made)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn rotate(
    State(app): State<App>,
    Path(id): Path<ApiKeyId>,
    submission: Submission<Rotation>,
) -> Result<Response> {
    idempotency::once_for(&app, id, submission, |body, id| body.id = id).await
}

impl Form for Rotation {
    const MAY_BE_EMPTY: bool = true;

    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_overlap(self.overlap_hours)
    }
}

impl ChangeRequest for Rotation {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        // A change of roles that revokes the owner's keys comes before this or finds the new key.
        user::lock_row(tx, &by.user_id()).await?;
        // Only the owner of the old key gets the new secret; admins can only revoke keys of others.
        let old = live(tx, &self.id, &by.actor).await?;
        let staff = user::find(tx, &by.user_id()).await?.roles.is_staff();
        let new = New {
            user_id: &old.user_id,
            name: &old.name,
            scopes: &old.scopes,
            allowed_cidrs: &old.allowed_cidrs,
            per_minute: old.per_minute,
            // Two admins agreed on the end of a platform key; one alone does not move it.
            expires_at: if staff { old.expires_at } else { tx.now() + (old.expires_at - old.created_at) },
            approval_id: None,
            secret: secret(app),
        };
        let (id, key) = api_key::insert(tx, &new).await?;
        let until = tx.now() + Duration::hours(self.overlap_hours.unwrap_or(OVERLAP_HOURS_DEFAULT));
        api_key::replace(tx, &old, &id, until).await?;
        made(tx, &id, key).await
    }
}

/// Refuses an exchange that takes too long.
pub fn check_overlap(hours: Option<i64>) -> Result<()> {
    if hours.is_some_and(|hours| !(0..=OVERLAP_HOURS_MAX).contains(&hours)) {
        let detail = format!("The overlap must be 0 to {OVERLAP_HOURS_MAX} hours.");
        return Err(Problem::field("/overlap_hours", "out_of_range", detail));
    }
    Ok(())
}

/// Revoke an API key.
///
/// The key stops working at once. Everybody who sees the key may revoke it.
#[utoipa::path(
    delete,
    path = "/v1/api-keys/{id}",
    responses((status = 204)),
)]
pub async fn revoke(State(app): State<App>, Path(id): Path<ApiKeyId>, principal: Principal) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let found = api_key::find(&mut tx, &id, seen(&principal)).await?;
    api_key::revoke(&mut tx, &found).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An admin and an auditor see all keys, and the people of an organisation each other's.
fn seen(principal: &Principal) -> Scope<'_> {
    match &principal.0.issuer_id {
        _ if principal.0.roles.any_of(&[Role::Admin, Role::Auditor]) => Scope::All,
        Some(issuer_id) if principal.0.has_role(Role::Issuer) => Scope::Issuer(issuer_id),
        _ => Scope::Own(&principal.0.user_id),
    }
}

async fn live(tx: &mut Tx, id: &ApiKeyId, owner: &str) -> muniment_domain::Result<ApiKey> {
    let found = api_key::find(tx, id, Scope::Own(owner)).await?;
    if found.revoked_at.is_some() || found.expires_at <= tx.now() || found.replaced_by.is_some() {
        let detail = format!("The API key {id} was revoked, replaced or has expired. Create a new one.");
        return Err(Error::refused(Code::InvalidState, detail));
    }
    Ok(found)
}

fn secret(app: &App) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&app.db.ids().bytes());
    bytes[16..].copy_from_slice(&app.db.ids().bytes());
    bytes
}
