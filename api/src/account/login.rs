//! `POST /v1/auth/login`: a password opens a session, or the second factor is required.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use chrono::{DateTime, Duration};
use muniment_domain::db::Tx;
use muniment_domain::id::UserId;
use muniment_domain::login_attempt::{self, Outcome};
use muniment_domain::point::Point;
use muniment_domain::user::{self, Status, User};
use muniment_domain::{email_link, second_factor};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::device::Device;
use super::throttle::Attempt;
use super::{second_factor as factor, session};
use crate::app::App;
use crate::code::Code;
use crate::config::auth::RegistrationPrivacy;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::origin::Origin;

const MFA_TOKEN_MINUTES: i64 = 5;
const PURPOSE: &str = "second factor";

/// The credentials.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    #[schema(max_length = 254)]
    email: String,
    #[schema(max_length = 128)]
    password: String,
    #[schema(example = "Ada's laptop", max_length = 100)]
    device_name: Option<String>,
}

/// The result of a login.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum LoggedIn {
    /// A session was opened.
    Tokens(Box<session::Tokens>),
    /// The second factor is required.
    SecondFactor(SecondFactorAsked),
}

/// The second factor is required: `POST /v1/auth/mfa/verify`.
#[derive(Serialize, ToSchema)]
pub struct SecondFactorAsked {
    /// Always true.
    #[schema(example = true)]
    mfa_required: bool,
    /// The token for the second factor. It is valid for five minutes.
    mfa_token: String,
    #[schema(example = json!(["totp", "recovery_code"]))]
    methods: [&'static str; 2],
}

/// Log in with e-mail address and password.
///
/// Opens a session, or asks for the second factor. An unknown address and a wrong password get the same answer. The cookie
/// `muniment_device` makes the device known: sent with the next login, it keeps guesses from other devices from making this one wait.
#[utoipa::path(
    post,
    path = "/v1/auth/login",
    request_body = Login,
    responses((status = 200, body = LoggedIn)),
    extensions(("x-codes" = json!(["invalid_credentials", "account_disabled", "login_throttled"]))),
)]
pub async fn login(
    State(app): State<App>,
    origin: Origin,
    device: Device,
    Input(body): Input<Login>,
) -> Result<(HeaderMap, Json<LoggedIn>)> {
    session::check_device(body.device_name.as_deref())?;
    let attempt = Attempt::on_email(&app, &body.email, &origin, &device).await?;
    let known = user::by_email(&mut app.db.read().await?, &body.email).await?;
    let stored = known.as_ref().and_then(|user| user.password_hash.as_deref());
    let verdict = attempt.judged(&app, app.auth.passwords.compare(body.password.clone(), stored)).await?;
    let Some(person) = known.as_ref().filter(|user| verdict.right && is_shown(&app, user)) else {
        refused(&app, known.as_ref(), &origin, &attempt).await?;
        let problem = Problem::new(Code::InvalidCredentials, "The e-mail address or the password is wrong.");
        return Err(problem.with_authenticate("Bearer".to_owned()));
    };
    // Only a correct password shows that the account is disabled.
    if person.status != Status::Active {
        note(&app, Some(&person.id), &origin, Outcome::Refused).await?;
        return Err(Problem::new(Code::AccountDisabled, "The account is disabled."));
    }
    let better = match verdict.outdated {
        true => Some(app.auth.passwords.hash(body.password, app.db.ids().bytes()).await?),
        false => None,
    };
    let mut tx = app.db.begin().await?;
    let person = unchanged(&mut tx, person).await?;
    let person = match better {
        // Under today's settings; the moment of a login is the only one at which the password is known.
        Some(hash) => {
            user::update(&mut tx, &User { password_hash: Some(hash), ..person }, "user.password_rehashed").await?
        }
        None => person,
    };
    attempt.succeeded(&mut tx).await?;
    let factor = second_factor::find(&mut tx, &person.id).await?.filter(|factor| factor.confirmed_at.is_some());
    if factor.is_some() {
        login_attempt::insert(
            &mut tx,
            Some(&person.id),
            &origin.ip.to_string(),
            &origin.user_agent,
            Outcome::MfaRequired,
        )
        .await?;
        tx.commit(Point::Account).await?;
        let (mfa_token, methods) = (mfa_token(&app, &person), ["totp", "recovery_code"]);
        let asked = SecondFactorAsked { mfa_required: true, mfa_token, methods };
        return Ok((HeaderMap::new(), Json(LoggedIn::SecondFactor(asked))));
    }
    let opened = session::open(&mut tx, &person, "pwd", &origin, body.device_name.as_deref()).await?;
    tx.commit(Point::Account).await?;
    let tokens = session::answer(&app, &opened, &person)?;
    Ok((device.header(&app, &person.email), Json(LoggedIn::Tokens(Box::new(tokens)))))
}

/// With private registration, an account whose address is not proved looks absent: by logging in, its maker would learn that the address
/// was free.
fn is_shown(app: &App, user: &User) -> bool {
    app.auth.config.registration_privacy == RegistrationPrivacy::Open || user.email_verified_at.is_some()
}

/// The second factor of a login.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// The token of the login's first half.
    #[schema(max_length = 256)]
    mfa_token: String,
    /// Six digits of the authenticator app, or a recovery code.
    #[schema(max_length = 64, example = "492039")]
    code: String,
    #[schema(example = "Ada's laptop", max_length = 100)]
    device_name: Option<String>,
}

/// Complete a login with the second factor.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/verify",
    request_body = Verification,
    responses((status = 200, body = session::Tokens)),
    extensions(("x-codes" = json!(["mfa_invalid", "invalid_credentials", "account_disabled", "login_throttled"]))),
)]
pub async fn verify_second_factor(
    State(app): State<App>,
    origin: Origin,
    device: Device,
    Input(body): Input<Verification>,
) -> Result<(HeaderMap, Json<session::Tokens>)> {
    session::check_device(body.device_name.as_deref())?;
    let person = mfa_person(&app, &body.mfa_token).await?.ok_or_else(|| {
        Problem::new(Code::MfaInvalid, "The mfa_token is invalid or older than five minutes. Log in again.")
    })?;
    if person.status != Status::Active {
        return Err(Problem::new(Code::AccountDisabled, "The account is disabled."));
    }
    let attempt = Attempt::on_code(&app, &person.id, &origin).await?;
    let mut tx = app.db.begin().await?;
    let person = unchanged(&mut tx, &person).await?;
    if !factor::shows(&app, &mut tx, &person.id, &body.code).await? {
        drop(tx);
        note(&app, Some(&person.id), &origin, Outcome::Refused).await?;
        return Err(factor::wrong());
    }
    attempt.succeeded(&mut tx).await?;
    let opened = session::open(&mut tx, &person, "pwd otp", &origin, body.device_name.as_deref()).await?;
    tx.commit(Point::Account).await?;
    Ok((device.header(&app, &person.email), Json(session::answer(&app, &opened, &person)?)))
}

/// The person as they are now: a password that was changed, or an account that was disabled, while the old one was compared opens nothing.
async fn unchanged(tx: &mut Tx, compared: &User) -> Result<User> {
    // Who ends the sessions of this person waits for this one, or comes before it.
    user::lock_row(tx, &compared.id).await?;
    let person = user::find(tx, &compared.id).await?;
    if person.password_hash == compared.password_hash && person.status == Status::Active {
        return Ok(person);
    }
    Err(Problem::new(Code::InvalidCredentials, "The account was changed at the same time. Log in again."))
}

/// Records a failure. After repeated failures the owner gets a mail.
async fn refused(app: &App, known: Option<&User>, origin: &Origin, attempt: &Attempt) -> Result<()> {
    let mut tx = app.db.begin().await?;
    let user_id = known.map(|user| &user.id);
    login_attempt::insert(&mut tx, user_id, &origin.ip.to_string(), &origin.user_agent, Outcome::Refused).await?;
    if let Some(owner) = known.filter(|user| attempt.is_told() && user.status == Status::Active) {
        email_link::notify_of_failed_logins(&mut tx, &owner.id).await?;
    }
    Ok(tx.commit(Point::Account).await?)
}

async fn note(app: &App, user_id: Option<&UserId>, origin: &Origin, outcome: Outcome) -> Result<()> {
    let mut tx = app.db.begin().await?;
    login_attempt::insert(&mut tx, user_id, &origin.ip.to_string(), &origin.user_agent, outcome).await?;
    Ok(tx.commit(Point::Account).await?)
}

// A signed token that is not stored: it names the user, the password version and the expiry.
fn mfa_token(app: &App, person: &User) -> String {
    let until = (app.db.clock().now() + Duration::minutes(MFA_TOKEN_MINUTES)).timestamp().to_string();
    format!("{}.{until}.{}", person.id, app.auth.secrets.text_mac(PURPOSE, &shown(person, &until)))
}

/// The user who gave the current password.
async fn mfa_person(app: &App, token: &str) -> Result<Option<User>> {
    let Ok([user_id, until, code]) = <[&str; 3]>::try_from(token.split('.').collect::<Vec<_>>()) else {
        return Ok(None);
    };
    let time = until.parse().ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    if time.is_none_or(|time| time <= app.db.clock().now()) {
        return Ok(None);
    }
    match user::find(&mut app.db.read().await?, &user_id.into()).await {
        Ok(person) => Ok(app.auth.secrets.is_text_mac(code, PURPOSE, &shown(&person, until)).then_some(person)),
        Err(error) if error.refusal().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn shown<'a>(person: &'a User, until: &'a str) -> [&'a [u8]; 3] {
    [person.id.as_bytes(), until.as_bytes(), person.password_hash.as_deref().unwrap_or_default().as_bytes()]
}
