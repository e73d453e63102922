//! Second factors: codes of an authenticator app, and recovery codes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use muniment_domain::db::Tx;
use muniment_domain::id::UserId;
use muniment_domain::point::Point;
use muniment_domain::second_factor::{self, SecondFactor};
use muniment_domain::{Error, session, user};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::step_up;
use super::throttle::Attempt;
use crate::access::principal::Principal;
use crate::app::App;
use crate::auth::totp;
use crate::code::Code;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::origin::Origin;

const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 10;
const PURPOSE: &str = "recovery code";
/// The length that RFC 4226 asks for.
const SECRET_BYTES: usize = 20;

/// Whether a code is the app's of now, or a recovery code; either is used up by it.
pub async fn shows(app: &App, tx: &mut Tx, user_id: &UserId, code: &str) -> Result<bool> {
    let Some(factor) = second_factor::find(tx, user_id).await?.filter(|factor| factor.confirmed_at.is_some()) else {
        return Ok(false);
    };
    if code.len() != 6 {
        for mac in recovery_macs(app, user_id, code) {
            if second_factor::use_recovery_code(tx, user_id, &mac).await? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    takes(app, tx, &factor, code).await
}

async fn takes(app: &App, tx: &mut Tx, factor: &SecondFactor, code: &str) -> Result<bool> {
    let secret = app.auth.secrets.unseal(&factor.user_id, &factor.secret_sealed);
    let secret = secret.ok_or_else(|| Problem::internal("a second factor was encrypted with another secret"))?;
    let Some(step) = totp::step_of(&secret, code, tx.now().timestamp(), factor.last_step) else { return Ok(false) };
    match second_factor::take_step(tx, &factor.user_id, step).await {
        Ok(()) => Ok(true),
        // If two requests use one code at the same time, one succeeds.
        Err(Error::Stale { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The problem of a code that does not fit.
pub fn wrong() -> Problem {
    Problem::new(Code::MfaInvalid, "The code is wrong or already used. Wait for the next one.")
}

/// The code as its row may have it, of today first: the codes are kept for longer than a secret is in use.
fn recovery_macs(app: &App, user_id: &UserId, code: &str) -> Vec<String> {
    let code: String = code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    app.auth.secrets.text_macs(PURPOSE, &[user_id.as_bytes(), code.as_bytes()])
}

/// The secret for an authenticator app.
#[derive(Serialize, ToSchema)]
pub struct Secret {
    /// The secret, in base32.
    #[schema(example = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")]
    secret: String,
    /// The URI for the authenticator app.
    #[schema(
        example = "otpauth://totp/Muniment:ada@investor.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Muniment"
    )]
    otpauth_uri: String,
}

/// Create a secret for an authenticator app.
///
/// It is not used until it is confirmed.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/totp",
    responses((status = 200, body = Secret)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn enrol(State(app): State<App>, principal: Principal) -> Result<Json<Secret>> {
    let user_id = &principal.0.user_id;
    let secret: Vec<u8> =
        [app.db.ids().bytes(), app.db.ids().bytes()].concat().into_iter().take(SECRET_BYTES).collect();
    let sealed = app.seal(user_id, &secret)?;
    let mut tx = app.db.begin().await?;
    second_factor::enrol(&mut tx, user_id, &sealed).await.map_err(|error| match error {
        Error::Stale { .. } => Problem::new(Code::InvalidState, "A second factor is already set up. Remove it first."),
        other => other.into(),
    })?;
    tx.commit(Point::Account).await?;
    let text = totp::base32(&secret);
    let account = principal.0.email.replace('%', "%25").replace(':', "%3A").replace('?', "%3F").replace('#', "%23");
    let uri =
        format!("otpauth://totp/Muniment:{account}?secret={text}&issuer=Muniment&algorithm=SHA1&digits=6&period=30");
    Ok(Json(Secret { secret: text, otpauth_uri: uri }))
}

/// The code of the authenticator app.
#[derive(Deserialize, ToSchema)]
#[schema(as = FactorShown)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    #[schema(max_length = 64, example = "492039")]
    code: String,
}

/// Confirm the second factor.
///
/// From then on every login asks for it. Other sessions without the second factor end.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/totp/confirm",
    request_body = Proof,
    responses((status = 204)),
    extensions(("x-codes" = json!(["mfa_invalid", "invalid_state", "login_throttled"]))),
)]
pub async fn confirm(
    State(app): State<App>,
    origin: Origin,
    principal: Principal,
    Input(body): Input<Proof>,
) -> Result<StatusCode> {
    let session_id = principal.session()?.id.clone();
    let user_id = &principal.0.user_id;
    let attempt = Attempt::on_code(&app, user_id, &origin).await?;
    let mut tx = app.db.begin().await?;
    // A login without it that is under way ends first, and then its session.
    user::lock_row(&mut tx, user_id).await?;
    let factor = second_factor::find(&mut tx, user_id).await?.filter(|factor| factor.confirmed_at.is_none());
    let factor = factor.ok_or_else(|| {
        Problem::new(Code::InvalidState, "There is no second factor to confirm. Start with POST /v1/auth/mfa/totp.")
    })?;
    if !takes(&app, &mut tx, &factor, &body.code).await? {
        return Err(wrong());
    }
    attempt.succeeded(&mut tx).await?;
    second_factor::confirm(&mut tx, &factor).await?;
    step_up::note(&app, &mut tx, &session_id, "pwd otp").await?;
    session::revoke_all(&mut tx, user_id, Some(&session_id), "second_factor_added").await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove the second factor.
#[utoipa::path(
    delete,
    path = "/v1/auth/mfa/totp",
    responses((status = 204)),
)]
pub async fn remove(State(app): State<App>, principal: Principal) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let Some(factor) = second_factor::find(&mut tx, &principal.0.user_id).await? else {
        return Ok(StatusCode::NO_CONTENT);
    };
    second_factor::remove(&mut tx, &principal.0.user_id).await?;
    if factor.confirmed_at.is_some() {
        let (session_id, now) = (&principal.session()?.id, tx.now());
        // The session continues with the password only, and so without the rights of staff.
        session::step_up(&mut tx, session_id, now, "pwd").await?;
        session::revoke_all(&mut tx, &principal.0.user_id, Some(session_id), "second_factor_removed").await?;
    }
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Recovery codes for a lost authenticator app.
#[derive(Serialize, ToSchema)]
pub struct RecoveryCodes {
    /// The recovery codes.
    #[schema(example = json!(["K3PXPJBS-WY3DPEHP"]))]
    recovery_codes: Vec<String>,
}

/// Create new recovery codes.
///
/// Shows ten new codes once. The old codes stop working.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/recovery-codes",
    responses((status = 200, body = RecoveryCodes)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn recovery_codes(State(app): State<App>, principal: Principal) -> Result<Json<RecoveryCodes>> {
    let user_id = &principal.0.user_id;
    let code = || {
        let text = totp::base32(&app.db.ids().bytes()[16 - RECOVERY_BYTES..]);
        format!("{}-{}", &text[..8], &text[8..])
    };
    let codes: Vec<_> = std::iter::repeat_with(code).take(RECOVERY_CODES).collect();
    let macs: Vec<_> = codes.iter().filter_map(|code| recovery_macs(&app, user_id, code).into_iter().next()).collect();
    let mut tx = app.db.begin().await?;
    let factor = second_factor::find(&mut tx, user_id).await?.filter(|factor| factor.confirmed_at.is_some());
    if factor.is_none() {
        return Err(Problem::new(Code::InvalidState, "The account has no second factor."));
    }
    second_factor::set_recovery_codes(&mut tx, user_id, &macs).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(RecoveryCodes { recovery_codes: codes }))
}
