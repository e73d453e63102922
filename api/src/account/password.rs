//! New passwords: with the old one, or with the token of a mail.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use muniment_domain::email_link::{self, Purpose};
use muniment_domain::point::Point;
use muniment_domain::user::{self, Status, User};
use muniment_domain::{first_proof, session};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::email;
use super::throttle::{self, Attempt};
use crate::access::principal::Principal;
use crate::app::App;
use crate::auth::password;
use crate::code::Code;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::origin::Origin;

/// The duration of an answer about a forgotten password or a strict registration, so that it does not show whether the account exists.
pub const ANSWERED_AFTER: Duration = Duration::from_millis(250);

/// The current and the new password.
#[derive(Deserialize, ToSchema)]
#[schema(as = ChangeOfPassword)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The current password.
    #[schema(max_length = 128)]
    current_password: String,
    #[schema(min_length = 12, max_length = 128)]
    new_password: String,
}

/// Change your password.
///
/// Ends your other sessions.
#[utoipa::path(
    post,
    path = "/v1/auth/password/change",
    request_body = Change,
    responses((status = 204)),
    extensions(("x-codes" = json!(["invalid_credentials", "login_throttled"]))),
)]
pub async fn change(
    State(app): State<App>,
    origin: Origin,
    principal: Principal,
    Input(body): Input<Change>,
) -> Result<StatusCode> {
    let session_id = principal.session()?.id.clone();
    password::check("/new_password", &body.new_password, &principal.0.email)?;
    let attempt = Attempt::on_password(&app, &principal.0.user_id, &origin).await?;
    let user = user::find(&mut app.db.read().await?, &principal.0.user_id).await?;
    let compared = app.auth.passwords.compare(body.current_password, user.password_hash.as_deref());
    if !attempt.judged(&app, compared).await?.right {
        return Err(Problem::new(Code::InvalidCredentials, "The current password is wrong."));
    }
    let hash = app.auth.passwords.hash(body.new_password, app.db.ids().bytes()).await?;
    let mut tx = app.db.begin().await?;
    // Before the counters, as a login does.
    user::lock_row(&mut tx, &user.id).await?;
    attempt.succeeded(&mut tx).await?;
    email_link::void(&mut tx, &user.id, Purpose::ResetPassword).await?;
    user::update(&mut tx, &User { password_hash: Some(hash), ..user }, "user.password_changed").await?;
    session::revoke_all(&mut tx, &principal.0.user_id, Some(&session_id), "password_changed").await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The account whose password is forgotten.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Forgotten {
    #[schema(max_length = 254)]
    email: String,
}

/// Request a mail to set a new password.
///
/// The answer is the same for every address.
#[utoipa::path(
    post,
    path = "/v1/auth/password/forgot",
    request_body = Forgotten,
    responses((status = 202)),
)]
pub async fn forgot(State(app): State<App>, Input(body): Input<Forgotten>) -> Result<StatusCode> {
    let answer_at = Instant::now() + ANSWERED_AFTER;
    let mut tx = app.db.begin().await?;
    if let Some(user) = user::by_email(&mut tx, &body.email).await?.filter(|user| user.status == Status::Active) {
        email_link::request(&mut tx, &user.id, Purpose::ResetPassword).await?;
        tx.commit(Point::Account).await?;
    } else {
        // The writer of SQLite is one for all: it must not be held while the answer waits.
        drop(tx);
    }
    sleep_until(answer_at).await;
    Ok(StatusCode::ACCEPTED)
}

/// The token of the mail and the new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    #[schema(max_length = 256, example = "lnk_01jc8yq3k5e9v8w2m4n6p7r9st.1f0c")]
    token: String,
    #[schema(min_length = 12, max_length = 128)]
    new_password: String,
}

/// Set a new password with the token of a mail.
///
/// Invited users set their first password here. Ends all sessions of the user. The first proof of an address also removes the second factor,
/// API keys, wallets and webhook endpoints that were made before it.
#[utoipa::path(
    post,
    path = "/v1/auth/password/reset",
    request_body = Reset,
    responses((status = 204)),
    extensions(("x-codes" = json!(["account_disabled"]))),
)]
pub async fn reset(State(app): State<App>, Input(body): Input<Reset>) -> Result<StatusCode> {
    let purposes = [Purpose::ResetPassword, Purpose::Invitation];
    let mut tx = app.db.read().await?;
    let link = email::link(&app, &mut tx, &body.token, &purposes).await?;
    let user = user::find(&mut tx, &link.user_id).await?;
    drop(tx);
    password::check("/new_password", &body.new_password, &user.email)?;
    let hash = app.auth.passwords.hash(body.new_password, app.db.ids().bytes()).await?;
    let mut tx = app.db.begin().await?;
    user::lock_row(&mut tx, &link.user_id).await?;
    email::take(&mut tx, &link).await?;
    for purpose in purposes {
        email_link::void(&mut tx, &link.user_id, purpose).await?;
    }
    let user = user::find(&mut tx, &link.user_id).await?;
    if matches!(user.status, Status::Disabled | Status::Erased) {
        return Err(Problem::new(Code::AccountDisabled, "The account is disabled."));
    }
    // The token proves that the address belongs to the user. An invited person is the first to hold the account.
    if user.email_verified_at.is_none() && link.purpose == Purpose::ResetPassword {
        first_proof::remove_unproved(&mut tx, &user).await?;
    }
    let verified = Some(user.email_verified_at.unwrap_or(tx.now()));
    let user = User { password_hash: Some(hash), status: Status::Active, email_verified_at: verified, ..user };
    user::update(&mut tx, &user, "user.password_changed").await?;
    session::revoke_all(&mut tx, &user.id, None, "password_changed").await?;
    throttle::lift(&app, &mut tx, &user.email).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}
