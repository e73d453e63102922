//! `POST /v1/auth/register`: an investor, or an issuer whose organisation an operator has yet to approve.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::db::Tx;
use muniment_domain::email_link::Purpose;
use muniment_domain::point::Point;
use muniment_domain::user::{self, Role, Roles, Status};
use muniment_domain::{email_link, investor, offering};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::config::RegistrationPrivacy;
use super::me::Person;
use super::password::ANSWERED_AFTER;
use crate::app::App;
use crate::body::Input;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::investor::profile::check_country;
use crate::password;

const NAME_CHARACTERS_MAX: usize = 120;
const EMAIL_CHARACTERS_MAX: usize = 254;

/// What somebody new says.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    email: String,
    #[schema(min_length = 12, max_length = 128)]
    password: String,
    #[schema(max_length = 120)]
    name: String,
    #[serde(default)]
    account_type: AccountType,
    #[schema(pattern = "^[A-Z]{2}$")]
    country: Option<String>,
    /// An issuer's, and only an issuer's.
    organization_name: Option<String>,
    accept_terms_version: Option<String>,
}

/// As what somebody comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountType {
    /// To subscribe.
    #[default]
    Investor,
    /// To offer.
    Issuer,
}

/// Who registered.
#[derive(Serialize, ToSchema)]
pub struct Registered {
    #[serde(flatten)]
    person: Person,
    investor_id: Option<String>,
    accepted_terms_version: Option<String>,
}

/// That a registration was heard; whether there was an account is for the owner of the address.
#[derive(Serialize, ToSchema)]
pub struct Heard {
    #[schema(example = "check_your_mail")]
    status: &'static str,
}

/// Registers, and gives no token: the person logs in next.
///
/// Where `auth.registration_privacy` is `strict` every registration is answered by the same 202, after the same time, whether the address is
/// free or taken: its owner gets a mail, and logs in once the address is proved. Otherwise by 201, or 409 where it is taken.
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
        email_link::tell_owner(&mut tx, &owner).await?;
        tx.commit(Point::Account).await?;
    }
    Ok(())
}

async fn create(app: &App, body: &Registration, hash: &str) -> Result<Registered> {
    let mut tx = app.db.begin().await?;
    let role = if body.account_type == AccountType::Issuer { Role::Issuer } else { Role::Investor };
    let issuer_id = match &body.organization_name {
        Some(name) if role == Role::Issuer => {
            let id = tx.new_id("iss");
            offering::insert_pending_issuer(&mut tx, &id, name).await?;
            Some(id)
        }
        _ => None,
    };
    let (roles, password_hash) = (Roles::only(role), Some(hash));
    let (email, name, issuer_id) = (body.email.as_str(), body.name.trim(), issuer_id.as_deref());
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

async fn insert_investor(tx: &mut Tx, user_id: &str, body: &Registration) -> Result<String> {
    let id = tx.new_id("inv");
    // ZZ is the code that the standard leaves to its users: not told yet.
    let country = body.country.as_deref().unwrap_or("ZZ");
    investor::register(tx, &id, user_id, body.name.trim(), country).await?;
    Ok(id)
}

fn check(body: &Registration) -> Result<()> {
    check_email("/email", &body.email)?;
    check_name("/name", &body.name)?;
    password::check("/password", &body.password, &body.email)?;
    check_country("/country", body.country.as_deref())?;
    let sound = |version: &String| {
        (1..=NAME_CHARACTERS_MAX).contains(&version.trim().chars().count()) && !version.chars().any(char::is_control)
    };
    if body.accept_terms_version.as_ref().is_some_and(|version| !sound(version)) {
        let detail = format!("A version has 1 to {NAME_CHARACTERS_MAX} characters.");
        return Err(Problem::field("/accept_terms_version", "length_out_of_range", detail));
    }
    match (&body.organization_name, body.account_type) {
        (None, AccountType::Issuer) => {
            Err(Problem::field("/organization_name", "required", "An issuer says the name of its organisation."))
        }
        (Some(_), AccountType::Investor) => {
            Err(Problem::field("/organization_name", "unexpected", "Only an issuer has an organisation."))
        }
        (Some(name), AccountType::Issuer) => check_name("/organization_name", name),
        (None, AccountType::Investor) => Ok(()),
    }
}

/// Refuses what is no name.
pub fn check_name(pointer: &'static str, name: &str) -> Result<()> {
    let length = name.trim().chars().count();
    if (1..=NAME_CHARACTERS_MAX).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::field(pointer, "name_format", format!("A name has 1 to {NAME_CHARACTERS_MAX} characters.")))
}

/// Refuses what can be no address. Whether it is one, only a mail can tell.
pub fn check_email(pointer: &'static str, email: &str) -> Result<()> {
    let sound = email.split_once('@').is_some_and(|(local, domain)| {
        let named =
            !local.is_empty() && domain.split('.').count() > 1 && domain.split('.').all(|part| !part.is_empty());
        named && !domain.contains('@') && !email.chars().any(|c| c.is_whitespace() || c.is_control())
    });
    if sound && email.len() <= EMAIL_CHARACTERS_MAX {
        return Ok(());
    }
    Err(Problem::field(pointer, "email_format", "An e-mail address is expected."))
}
