//! `/v1/users`: the users, and the actions of admins on them.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::id::{UserId, of};
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::user::{self, Filter, Role, Roles, Status};
use muniment_domain::{Code, Error};
use muniment_workflows::approval::action::Action;
use muniment_workflows::requester::Requester;
use muniment_workflows::staff::access::{self, Change};
use muniment_workflows::staff::{self, Invite, SetRoles};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::access::permission::{ADMIN, STAFF};
use crate::access::principal::Principal;
use crate::access::route::{Route, route};
use crate::account::me::Person;
use crate::app::App;
use crate::approval;
use crate::approval::Asked;
use crate::change::idempotency::IdempotencyKey;
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, idempotency};
use crate::field::name::{check_email, check_name};
use crate::http::error::{Problem, Result, check_that};
use crate::http::pages::{Between, List, Page, Paging};

/// The endpoints of users.
pub fn routes() -> Vec<Route> {
    vec![
        route!(list, STAFF),
        route!(detail, STAFF),
        route!(invite, ADMIN).step_up(),
        route!(set_roles, ADMIN).step_up(),
        route!(invite_again, ADMIN).step_up(),
        route!(disable, ADMIN).step_up(),
        route!(enable, ADMIN).step_up(),
        route!(revoke_sessions, ADMIN).step_up(),
    ]
}

const REASON_CHARACTERS_MAX: usize = 2_000;

/// List users.
///
/// Auditors see ids, with names and addresses masked.
#[utoipa::path(
    get,
    path = "/v1/users",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "active"), Between, Paging),
    responses((status = 200, body = List<Person>)),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<List<Person>>> {
    let (page, parameters) = Page::read(&uri, &["status", "created_from", "created_to"])?;
    let filter = Filter { statuses: parameters.words("status")?, created: parameters.created()? };
    let (rows, total) = user::page(&mut app.db.read().await?, &filter, page.limit, page.offset()).await?;
    let item = if principal.0.is_masked() { Person::masked } else { Person::of };
    Ok(Json(page.list(rows.iter().map(item), total)))
}

/// Read a user.
///
/// Auditors see the name and the address masked.
#[utoipa::path(
    get,
    path = "/v1/users/{id}",
    responses((status = 200, body = Person)),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<UserId>, principal: Principal) -> Result<Json<Person>> {
    let found = user::find(&mut app.db.read().await?, &id).await?;
    Ok(Json(if principal.0.is_masked() { Person::masked(&found) } else { Person::of(&found) }))
}

/// The staff member to invite.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    #[schema(max_length = 254)]
    email: String,
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    #[schema(min_items = 1)]
    roles: Vec<Role>,
    #[schema(min_length = 1, max_length = 2000)]
    reason: String,
}

/// Request the invitation of a staff member.
///
/// Answers 202. The mail is sent after another admin approves.
#[utoipa::path(
    post,
    path = "/v1/users",
    request_body = Invitation,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["email_taken", "operation_in_progress"]))),
)]
pub async fn invite(State(app): State<App>, submission: Submission<Invitation>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Form for Invitation {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let roles = check_roles(&self.roles).and_then(|roles| {
            check_that(roles.is_staff(), "/roles", "unexpected", "Investors and issuers register themselves.")
        });
        Problem::all([
            check_email("/email", &self.email),
            check_name("/name", &self.name),
            check_reason(&self.reason),
            roles,
        ])
    }
}

impl ChangeRequest for Invitation {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let (user_id, email, name) =
            (tx.new_id::<of::User>(), user::normal_email(&self.email), self.name.trim().to_owned());
        let (roles, reason) = (self.roles.clone(), self.reason.clone());
        let action = Action::Invite(Invite { user_id, email, name, roles, reason });
        approval::ask(app, tx, action, &by).await
    }
}

/// The new roles.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRoles {
    #[schema(min_items = 1)]
    roles: Vec<Role>,
    /// Whether the auditor sees personal data unmasked.
    #[serde(default)]
    pii_read: bool,
    #[schema(min_length = 1, max_length = 2000)]
    reason: String,
    #[serde(skip)]
    user_id: UserId,
}

/// Change the roles of a user.
///
/// Changes of staff roles answer 202, and another admin decides. Other changes take effect at once.
#[utoipa::path(
    patch,
    path = "/v1/users/{id}/roles",
    request_body = NewRoles,
    params(IdempotencyKey),
    responses((status = 200, body = Person), (status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn set_roles(
    State(app): State<App>,
    Path(user_id): Path<UserId>,
    submission: Submission<NewRoles>,
) -> Result<Response> {
    idempotency::once_for(&app, user_id, submission, |body, id| body.user_id = id).await
}

impl Form for NewRoles {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Problem::all([check_reason(&self.reason), check_roles(&self.roles).map(|_| ())])
    }
}

impl ChangeRequest for NewRoles {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let before = user::find(tx, &self.user_id).await?.roles;
        let (user_id, roles, reason) = (self.user_id.clone(), self.roles.clone(), self.reason.clone());
        let wanted = SetRoles { user_id, roles, pii_read: self.pii_read, reason };
        if staff::concerns_staff(&before, &Roles::new(&self.roles)?) {
            return approval::ask(app, tx, Action::SetRoles(wanted), &by).await;
        }
        wanted.execute(tx).await?;
        let person = user::find(tx, &self.user_id).await?;
        Ok(Answer { status: 200, location: None, body: json!(Person::of(&person)).to_string() })
    }
}

fn check_roles(roles: &[Role]) -> Result<Roles> {
    Roles::new(roles).map_err(|error| Problem::field("/roles", "roles_exclusive", error.to_string()))
}

fn check_reason(reason: &str) -> Result<()> {
    if (1..=REASON_CHARACTERS_MAX).contains(&reason.trim().chars().count()) {
        return Ok(());
    }
    Err(Problem::field("/reason", "required", format!("Give a reason of at most {REASON_CHARACTERS_MAX} characters.")))
}

/// Send an invitation again.
///
/// For a user who has not accepted it. The old link stops working.
#[utoipa::path(
    post,
    path = "/v1/users/{id}/invitation",
    responses((status = 202)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn invite_again(State(app): State<App>, Path(user_id): Path<UserId>) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let person = user::find(&mut tx, &user_id).await?;
    if person.status != Status::PendingVerification {
        return Err(Error::refused(Code::InvalidState, "The user has already accepted the invitation.").into());
    }
    email_link::void(&mut tx, &person.id, Purpose::Invitation).await?;
    email_link::insert(&mut tx, &person.id, Purpose::Invitation).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The request body with an optional reason.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessChange {
    /// The reason, which the approval shows.
    #[schema(nullable = false, min_length = 1, max_length = 2000)]
    reason: Option<String>,
    #[serde(skip)]
    user_id: UserId,
    #[serde(skip)]
    change: Change,
}

/// Disable a user.
///
/// The user's sessions and API keys stop working at once. For staff it answers 202, and another admin decides.
#[utoipa::path(
    post,
    path = "/v1/users/{id}/disable",
    request_body = AccessChange,
    params(IdempotencyKey),
    responses((status = 200, body = Person), (status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn disable(
    State(app): State<App>,
    Path(user_id): Path<UserId>,
    submission: Submission<AccessChange>,
) -> Result<Response> {
    change_access(&app, user_id, submission, Change::Disable).await
}

/// Enable a disabled user.
///
/// The user can log in again. Old sessions stay ended. For staff it answers 202, and another admin decides.
#[utoipa::path(
    post,
    path = "/v1/users/{id}/enable",
    request_body = AccessChange,
    params(IdempotencyKey),
    responses((status = 200, body = Person), (status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn enable(
    State(app): State<App>,
    Path(user_id): Path<UserId>,
    submission: Submission<AccessChange>,
) -> Result<Response> {
    change_access(&app, user_id, submission, Change::Enable).await
}

/// End all sessions of a user.
///
/// For staff it answers 202, and another admin decides.
#[utoipa::path(
    post,
    path = "/v1/users/{id}/revoke-sessions",
    request_body = AccessChange,
    params(IdempotencyKey),
    responses((status = 202, body = Asked), (status = 204)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn revoke_sessions(
    State(app): State<App>,
    Path(user_id): Path<UserId>,
    submission: Submission<AccessChange>,
) -> Result<Response> {
    change_access(&app, user_id, submission, Change::RevokeSessions).await
}

async fn change_access(
    app: &App,
    user_id: UserId,
    mut submission: Submission<AccessChange>,
    change: Change,
) -> Result<Response> {
    submission.body.change = change;
    idempotency::once_for(app, user_id, submission, |body, id| body.user_id = id).await
}

impl Form for AccessChange {
    const MAY_BE_EMPTY: bool = true;

    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        self.reason.as_deref().map_or(Ok(()), check_reason)
    }
}

impl ChangeRequest for AccessChange {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        if self.change == Change::Disable && *self.user_id == *by.actor {
            return Err(Error::refused(Code::InvalidState, "You cannot disable yourself."));
        }
        let (user_id, change, reason) = (self.user_id.clone(), self.change, self.reason.clone());
        let wanted = access::Request { user_id, change, reason };
        if user::find(tx, &self.user_id).await?.roles.is_staff() {
            return approval::ask(app, tx, Action::ChangeAccess(wanted), &by).await;
        }
        let person = wanted.execute(tx).await?;
        match change {
            Change::RevokeSessions => Ok(Answer { status: 204, location: None, body: String::new() }),
            _ => Ok(Answer { status: 200, location: None, body: json!(Person::of(&person)).to_string() }),
        }
    }
}
