//! `POST /v1/auth/login`: a password opens a session, or asks for the second factor.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Duration};
use muniment_domain::login_attempt::{self, Outcome};
use muniment_domain::point::Point;
use muniment_domain::second_factor;
use muniment_domain::user::{self, Status, User};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::throttle::Attempt;
use super::{second_factor as factor, session};
use crate::app::App;
use crate::body::Input;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::origin::Origin;

const MFA_TOKEN_MINUTES: i64 = 5;
const PURPOSE: &str = "second factor";

/// What a person types in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    email: String,
    password: String,
    #[schema(example = "Ada's laptop", max_length = 100)]
    device_name: Option<String>,
}

/// What a right password gives.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum LoggedIn {
    /// A session.
    Tokens(Box<session::Tokens>),
    /// A question.
    SecondFactor(SecondFactorAsked),
}

/// That a second factor is to be shown, at `POST /v1/auth/mfa/verify`.
#[derive(Serialize, ToSchema)]
pub struct SecondFactorAsked {
    #[schema(example = true)]
    mfa_required: bool,
    /// Good for five minutes.
    mfa_token: String,
    #[schema(example = json!(["totp", "recovery_code"]))]
    methods: [&'static str; 2],
}

/// Opens a session, or asks for the second factor.
///
/// Answers an unknown address and a wrong password by the same text, after the same work.
#[utoipa::path(
    post,
    path = "/v1/auth/login",
    request_body = Login,
    responses((status = 200, body = LoggedIn)),
    extensions(("x-codes" = json!(["invalid_credentials", "account_disabled", "login_throttled"]))),
)]
pub async fn login(State(app): State<App>, origin: Origin, Input(body): Input<Login>) -> Result<Json<LoggedIn>> {
    session::check_device(body.device_name.as_deref())?;
    let attempt = Attempt::on_email(&app, &body.email, &origin).await?;
    let known = user::by_email(&mut app.db.read().await?, &body.email).await?;
    let stored = known.as_ref().and_then(|user| user.password_hash.as_deref());
    let verdict = app.auth.passwords.compare(body.password.clone(), stored).await?;
    let Some(person) = known.as_ref().filter(|_| verdict.right) else {
        let known = known.as_ref().map(|user| user.id.as_str());
        note(&app, known, &origin, Outcome::Refused).await?;
        let problem = Problem::new(Code::InvalidCredentials, "The e-mail address or the password is wrong.");
        return Err(problem.with_authenticate("Bearer".to_owned()));
    };
    // Only whoever knows the password learns that the account is disabled.
    if person.status != Status::Active {
        note(&app, Some(&person.id), &origin, Outcome::Refused).await?;
        return Err(Problem::new(Code::AccountDisabled, "The account is disabled."));
    }
    let person = if verdict.outdated { rehash(&app, person, body.password).await? } else { person.clone() };
    let mut tx = app.db.begin().await?;
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
        let (mfa_token, methods) = (mfa_token(&app, &person.id), ["totp", "recovery_code"]);
        return Ok(Json(LoggedIn::SecondFactor(SecondFactorAsked { mfa_required: true, mfa_token, methods })));
    }
    let opened = session::open(&mut tx, &person, "pwd", &origin, body.device_name.as_deref()).await?;
    tx.commit(Point::Account).await?;
    let tokens = session::answer(&app, &opened, &person)?;
    Ok(Json(LoggedIn::Tokens(Box::new(tokens))))
}

/// The second half of a login.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    mfa_token: String,
    /// Six digits of the app, or a recovery code.
    #[schema(example = "492039")]
    code: String,
    #[schema(example = "Ada's laptop", max_length = 100)]
    device_name: Option<String>,
}

/// `POST /v1/auth/mfa/verify`: the second factor opens the session.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/verify",
    request_body = Verification,
    responses((status = 200, body = session::Tokens)),
    extensions(("x-codes" = json!(["mfa_invalid", "account_disabled", "login_throttled"]))),
)]
pub async fn verify_second_factor(
    State(app): State<App>,
    origin: Origin,
    Input(body): Input<Verification>,
) -> Result<Json<session::Tokens>> {
    session::check_device(body.device_name.as_deref())?;
    let user_id = mfa_user(&app, &body.mfa_token).ok_or_else(|| {
        Problem::new(Code::MfaInvalid, "The mfa_token is not valid, or its five minutes are over. Log in again.")
    })?;
    let attempt = Attempt::on_user(&app, &user_id, &origin).await?;
    let mut tx = app.db.begin().await?;
    let person = user::find(&mut tx, &user_id).await?;
    if person.status != Status::Active {
        return Err(Problem::new(Code::AccountDisabled, "The account is disabled."));
    }
    if !factor::shows(&app, &mut tx, &user_id, &body.code).await? {
        drop(tx);
        note(&app, Some(&user_id), &origin, Outcome::Refused).await?;
        return Err(factor::wrong());
    }
    attempt.succeeded(&mut tx).await?;
    let opened = session::open(&mut tx, &person, "pwd otp", &origin, body.device_name.as_deref()).await?;
    tx.commit(Point::Account).await?;
    session::answer(&app, &opened, &person).map(Json)
}

/// Stores the password under today's settings; the moment of a login is the only one at which it is known.
async fn rehash(app: &App, person: &User, password: String) -> Result<User> {
    let hash = app.auth.passwords.hash(password, app.db.ids().bytes()).await?;
    let mut tx = app.db.begin().await?;
    let person =
        user::update(&mut tx, &User { password_hash: Some(hash), ..person.clone() }, "user.password_rehashed").await?;
    tx.commit(Point::Account).await?;
    Ok(person)
}

async fn note(app: &App, user_id: Option<&str>, origin: &Origin, outcome: Outcome) -> Result<()> {
    let mut tx = app.db.begin().await?;
    login_attempt::insert(&mut tx, user_id, &origin.ip.to_string(), &origin.user_agent, outcome).await?;
    Ok(tx.commit(Point::Account).await?)
}

// Not stored: it says who showed the right password, until when, and that we say so.
fn mfa_token(app: &App, user_id: &str) -> String {
    let until = (app.db.clock().now() + Duration::minutes(MFA_TOKEN_MINUTES)).timestamp().to_string();
    let code = app.auth.secrets.text_mac(PURPOSE, &[user_id.as_bytes(), until.as_bytes()]);
    format!("{user_id}.{until}.{code}")
}

fn mfa_user(app: &App, token: &str) -> Option<String> {
    let [user_id, until, code] = token.split('.').collect::<Vec<_>>().try_into().ok()?;
    let sound = app.auth.secrets.is_text_mac(code, PURPOSE, &[user_id.as_bytes(), until.as_bytes()]);
    let until = DateTime::from_timestamp(until.parse().ok()?, 0)?;
    (sound && until > app.db.clock().now()).then(|| user_id.to_owned())
}
