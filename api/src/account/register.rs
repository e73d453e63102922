//! `POST /v1/auth/register`: an investor, or an issuer that an operator must approve.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::db::Tx;
use muniment_domain::email_link::Purpose;
use muniment_domain::id::{InvestorId, UserId, of};
use muniment_domain::point::Point;
use muniment_domain::user::{self, Role, Roles, Status};
use muniment_domain::{email_link, investor, offering};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::me::Person;
use super::password::ANSWERED_AFTER;
use crate::app::App;
use crate::auth::password;
use crate::code::Code;
use crate::config::auth::RegistrationPrivacy;
use crate::field::name::{NAME_CHARACTERS_MAX, check_country, check_email, check_name};
use crate::http::body::Input;
use crate::http::error::{Problem, Result};

/// The data of the new user.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    #[schema(max_length = 254)]
    email: String,
    #[schema(min_length = 12, max_length = 128)]
    password: String,
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    /// The kind of account.
    #[serde(default)]
    account_type: AccountType,
    #[schema(pattern = "^[A-Z]{2}$")]
    country: Option<String>,
    /// The name of the issuer. Required for an issuer, not allowed otherwise.
    #[schema(min_length = 1, max_length = 120)]
    organization_name: Option<String>,
    /// The version of the terms of use that the user accepts.
    #[schema(min_length = 1, max_length = 120)]
    accept_terms_version: Option<String>,
}

/// The kind of account to register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountType {
    /// To subscribe.
    #[default]
    Investor,
    /// To offer.
    Issuer,
}

/// The registered user.
#[derive(Serialize, ToSchema)]
pub struct Registered {
    #[serde(flatten)]
    person: Person,
    investor_id: Option<InvestorId>,
    /// The accepted version of the terms of use.
    accepted_terms_version: Option<String>,
}

/// The confirmation of a registration. It does not show whether the address already had an account.
#[derive(Serialize, ToSchema)]
pub struct Heard {
    #[schema(example = "check_your_mail")]
    status: &'static str,
}

/// Register as an investor or an issuer.
///
/// Does not log in. With `auth.registration_privacy` = `strict`, every registration gets the same 202 and a mail. Otherwise the answer is
/// 201, or 409 if the address has an account.
#[utoipa::path(
    post,
    path = "/v1/auth/register",
    request_body = Registration,
    responses((status = 201, body = Registered), (status = 202, body = Heard)),
    extensions(("x-codes" = json!(["email_taken"]))),
)]
pub async fn register(State(app): State<App>, Input(body): Input<Registration>) -> Result<Response> {
    check(&body)?;
    // Before anything is looked up, so that a taken address takes as long as a free one.
    let hash = app.auth.passwords.hash(body.password.clone(), app.db.ids().bytes()).await?;
    if app.auth.config.registration_privacy == RegistrationPrivacy::Open {
        let answer = create(&app, &body, &hash).await?;
        return Ok((StatusCode::CREATED, [(header::LOCATION, "/v1/auth/me")], Json(answer)).into_response());
    }
    let answer_at = Instant::now() + ANSWERED_AFTER;
    match create(&app, &body, &hash).await {
        Ok(_) => {}
        Err(problem) if problem.code == Code::EmailTaken => tell_owner(&app, &body.email).await?,
        Err(problem) => return Err(problem),
    }
    sleep_until(answer_at).await;
    Ok((StatusCode::ACCEPTED, Json(Heard { status: "check_your_mail" })).into_response())
}

async fn tell_owner(app: &App, email: &str) -> Result<()> {
    let mut tx = app.db.begin().await?;
    if let Some(owner) = user::by_email(&mut tx, email).await?.filter(|owner| owner.status == Status::Active) {
        email_link::notify_owner(&mut tx, &owner).await?;
        tx.commit(Point::Account).await?;
    }
    Ok(())
}

async fn create(app: &App, body: &Registration, hash: &str) -> Result<Registered> {
    let mut tx = app.db.begin().await?;
    let role = if body.account_type == AccountType::Issuer { Role::Issuer } else { Role::Investor };
    let issuer_id = match &body.organization_name {
        Some(name) if role == Role::Issuer => {
            let id = tx.new_id::<of::Issuer>();
            offering::insert_pending_issuer(&mut tx, &id, name).await?;
            Some(id)
        }
        _ => None,
    };
    let (roles, password_hash) = (Roles::only(role), Some(hash));
    let (email, name, issuer_id) = (body.email.as_str(), body.name.trim(), issuer_id.as_ref());
    let new = user::New { email, name, roles, status: Status::Active, password_hash, issuer_id };
    let id = user::create(&mut tx, &new).await?;
    let investor_id = match role {
        Role::Investor => Some(insert_investor(&mut tx, &id, body).await?),
        _ => None,
    };
    if let Some(version) = &body.accept_terms_version {
        user::accept_terms(&mut tx, &id, version.trim()).await?;
    }
    email_link::insert(&mut tx, &id, Purpose::VerifyEmail).await?;
    let person = user::find(&mut tx, &id).await?;
    tx.commit(Point::Account).await?;
    let accepted_terms_version = person.accepted_terms_version.clone();
    Ok(Registered { person: Person::of(&person), investor_id, accepted_terms_version })
}

async fn insert_investor(tx: &mut Tx, user_id: &UserId, body: &Registration) -> Result<InvestorId> {
    let id = tx.new_id::<of::Investor>();
    // ZZ is a user-assigned code of ISO 3166-1: the country is not known yet.
    let country = body.country.as_deref().unwrap_or("ZZ");
    investor::register(tx, &id, user_id, body.name.trim(), country).await?;
    Ok(id)
}

fn check(body: &Registration) -> Result<()> {
    Problem::all([
        check_email("/email", &body.email),
        check_name("/name", &body.name),
        password::check("/password", &body.password, &body.email),
        check_country("/country", body.country.as_deref()),
        check_terms_version(body.accept_terms_version.as_deref()),
        check_organization_name(body),
    ])
}

fn check_terms_version(version: Option<&str>) -> Result<()> {
    let sound = |version: &str| {
        (1..=NAME_CHARACTERS_MAX).contains(&version.trim().chars().count()) && !version.chars().any(char::is_control)
    };
    if version.is_none_or(sound) {
        return Ok(());
    }
    let detail = format!("The version must have 1 to {NAME_CHARACTERS_MAX} characters.");
    Err(Problem::field("/accept_terms_version", "length_out_of_range", detail))
}

fn check_organization_name(body: &Registration) -> Result<()> {
    match (&body.organization_name, body.account_type) {
        (None, AccountType::Issuer) => {
            Err(Problem::field("/organization_name", "required", "The organization name is required for an issuer."))
        }
        (Some(_), AccountType::Investor) => {
            Err(Problem::field("/organization_name", "unexpected", "Only an issuer can have an organization name."))
        }
        (Some(name), AccountType::Issuer) => check_name("/organization_name", name),
        (None, AccountType::Investor) => Ok(()),
    }
}
