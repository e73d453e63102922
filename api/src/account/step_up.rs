//! `POST /v1/auth/step-up`: the user confirms their identity before a sensitive action.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::SessionId;
use muniment_domain::point::Point;
use muniment_domain::{second_factor, session, user};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::second_factor as factor;
use super::throttle::Attempt;
use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::origin::Origin;

/// The proof of identity: the password or the code of the authenticator app.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = IdentityShown)]
pub struct Proof {
    #[schema(max_length = 64, example = "492039")]
    code: Option<String>,
    #[schema(max_length = 128)]
    password: Option<String>,
}

/// The result of a step-up.
#[derive(Serialize, ToSchema)]
pub struct SteppedUp {
    step_up_expires_at: Instant,
}

/// Confirm your identity before a sensitive action.
///
/// Needs the second factor, or the password if there is no second factor.
#[utoipa::path(
    post,
    path = "/v1/auth/step-up",
    request_body = Proof,
    responses((status = 200, body = SteppedUp)),
    extensions(("x-codes" = json!(["invalid_credentials", "mfa_invalid", "login_throttled"]))),
)]
pub async fn step_up(
    State(app): State<App>,
    origin: Origin,
    principal: Principal,
    Input(body): Input<Proof>,
) -> Result<Json<SteppedUp>> {
    let (session_id, user_id) = (principal.session()?.id.clone(), &principal.0.user_id);
    let mut tx = app.db.read().await?;
    let person = user::find(&mut tx, user_id).await?;
    let guarded = second_factor::find(&mut tx, user_id).await?.is_some_and(|factor| factor.confirmed_at.is_some());
    drop(tx);
    let wanted = if guarded { ("/code", body.code) } else { ("/password", body.password) };
    let (pointer, Some(shown)) = wanted else {
        return Err(Problem::field(wanted.0, "required", "Send this field to confirm your identity."));
    };
    let attempt = match guarded {
        true => Attempt::on_code(&app, user_id, &origin).await?,
        false => Attempt::on_password(&app, user_id, &origin).await?,
    };
    let (mut tx, amr) = if pointer == "/code" {
        let mut tx = app.db.begin().await?;
        if !factor::shows(&app, &mut tx, user_id, &shown).await? {
            return Err(factor::wrong());
        }
        (tx, "pwd otp")
    } else {
        let compared = app.auth.passwords.compare(shown, person.password_hash.as_deref());
        if !attempt.judged(&app, compared).await?.right {
            return Err(Problem::new(Code::InvalidCredentials, "The password is wrong."));
        }
        (app.db.begin().await?, "pwd")
    };
    attempt.succeeded(&mut tx).await?;
    let until = note(&app, &mut tx, &session_id, amr).await?;
    tx.commit(Point::Account).await?;
    Ok(Json(SteppedUp { step_up_expires_at: Instant(until) }))
}

/// Notes on the session that the person has just shown this.
pub async fn note(app: &App, tx: &mut Tx, session_id: &SessionId, amr: &str) -> Result<DateTime<Utc>> {
    let until = tx.now() + Duration::seconds(app.auth.config.step_up_seconds);
    session::step_up(tx, session_id, until, amr).await?;
    Ok(until)
}
