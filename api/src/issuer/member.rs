//! `/v1/issuers/{id}/members`: the members of an issuer, who invite and remove each other.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{IssuerId, UserId};
use muniment_domain::idempotency::Answer;
use muniment_domain::member as domain;
use muniment_domain::point::Point;
use muniment_domain::user::{Status, User};
use muniment_workflows::requester::Requester;
use muniment_workflows::staff::member;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::name::{check_email, check_name, masked_email, masked_name};
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{List, Page, Paging};
use crate::issuer;

/// A member of an issuer.
#[derive(Serialize, ToSchema)]
#[schema(as = Member)]
pub struct View {
    id: UserId,
    /// The e-mail address. Masked for auditors.
    email: String,
    /// The name. Masked for auditors.
    name: String,
    status: Status,
    created_at: Instant,
}

fn item(user: &User) -> View {
    let (id, email, name) = (user.id.clone(), user.email.clone(), user.name.clone());
    View { id, email, name, status: user.status, created_at: Instant(user.created_at) }
}

/// List the members of an issuer, newest first.
///
/// For staff and for the issuer's members.
#[utoipa::path(
    get,
    path = "/v1/issuers/{id}/members",
    params(Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(
    State(app): State<App>,
    Path(id): Path<IssuerId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<List<View>>> {
    let (page, _) = Page::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    issuer::find_own(&mut tx, &principal, &id).await?;
    let (rows, total) = domain::page(&mut tx, &id, page.limit, page.offset()).await?;
    let masked = principal.0.is_masked();
    let shown = rows.iter().map(|user| match masked {
        true => View { email: masked_email(&user.email), name: masked_name(&user.name), ..item(user) },
        false => item(user),
    });
    Ok(Json(page.list(shown, total)))
}

/// The member to invite.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewMember)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    #[schema(max_length = 254)]
    email: String,
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    #[serde(skip)]
    issuer_id: IssuerId,
}

/// Invite a member to an issuer.
///
/// For members of the issuer, and for admins. Sends a mail. The person sets a password with its link and then acts for the issuer. The issuer must be
/// approved, and may invite so many members in one day as the policy says.
#[utoipa::path(
    post,
    path = "/v1/issuers/{id}/members",
    request_body = Invitation,
    params(IdempotencyKey),
    responses((status = 201, body = View)),
    extensions(("x-codes" = json!(["email_taken", "invalid_state"]))),
)]
pub async fn invite(
    State(app): State<App>,
    Path(id): Path<IssuerId>,
    principal: Principal,
    submission: Submission<Invitation>,
) -> Result<Response> {
    issuer::find_own(&mut app.db.read().await?, &principal, &id).await?;
    idempotency::once_for(&app, id, submission, |body, id| body.issuer_id = id).await
}

impl Form for Invitation {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Problem::all([check_email("/email", &self.email), check_name("/name", &self.name)])
    }
}

impl ChangeRequest for Invitation {
    async fn accept(&self, app: &App, tx: &mut Tx, _: Requester) -> muniment_domain::Result<Answer> {
        let invited = member::invite(tx, &app.settings, &self.issuer_id, &self.email, self.name.trim()).await?;
        let location = Some(format!("/v1/issuers/{}/members", self.issuer_id));
        Ok(Answer { status: 201, location, body: json!(item(&invited)).to_string() })
    }
}

/// Remove a member from an issuer.
///
/// The person's sessions and API keys end at once. The last member cannot be removed.
#[utoipa::path(
    delete,
    path = "/v1/issuers/{id}/members/{user_id}",
    responses((status = 204)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn remove(
    State(app): State<App>,
    Path((id, user_id)): Path<(IssuerId, UserId)>,
    principal: Principal,
) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    issuer::find_own(&mut tx, &principal, &id).await?;
    member::remove(&mut tx, &id, &user_id).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}
