//! Refresh tokens: each is used once. One that comes again after its successor is somebody else's, and ends the session for both.
//!
//! A token is computed from its session and its generation, so none is stored, and every one that we ever gave is known as ours.

use axum::Json;
use axum::extract::State;
use chrono::Duration;
use muniment_domain::id::SessionId;
use muniment_domain::point::Point;
use muniment_domain::session::{self, Lifetime, Session};
use muniment_domain::user::{self, Status};
use muniment_domain::{Error, event};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::session::{Tokens, answer};
use crate::app::App;
use crate::code::Code;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};

const PREFIX: &str = "rt_";
const PURPOSE: &str = "refresh";
/// How often a request that lost a race looks again.
const TRIES: usize = 3;

/// The refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// The refresh token.
    #[schema(max_length = 256)]
    refresh_token: String,
}

/// The valid refresh token of a session.
pub fn token(app: &App, session: &Session) -> String {
    let generation = session.generation.to_string();
    let code = app.auth.secrets.text_mac(PURPOSE, &[session.id.as_bytes(), generation.as_bytes()]);
    format!("{PREFIX}{}.{generation}.{code}", session.id)
}

fn read(app: &App, token: &str) -> Option<(SessionId, i64)> {
    let [session_id, generation, code] = token.strip_prefix(PREFIX)?.split('.').collect::<Vec<_>>().try_into().ok()?;
    let sound = app.auth.secrets.is_text_mac(code, PURPOSE, &[session_id.as_bytes(), generation.as_bytes()]);
    sound.then(|| Some((session_id.into(), generation.parse().ok()?)))?
}

/// Get new tokens for a session.
///
/// Each refresh token works once.
#[utoipa::path(
    post,
    path = "/v1/auth/refresh",
    request_body = Refresh,
    responses((status = 200, body = Tokens)),
    extensions(("x-codes" = json!(["refresh_token_invalid", "refresh_token_reused", "account_disabled"]))),
)]
pub async fn refresh(State(app): State<App>, Input(body): Input<Refresh>) -> Result<Json<Tokens>> {
    let (session_id, generation) = read(&app, &body.refresh_token).ok_or_else(invalid)?;
    for _ in 0..TRIES {
        match turn(&app, &session_id, generation).await {
            // Another request turned it meanwhile: what it left is read again.
            Err(Turned::Error(Error::Stale { .. })) => {}
            Err(Turned::Error(error)) => return Err(error.into()),
            Err(Turned::Problem(problem)) => return Err(problem),
            Ok(answer) => return Ok(Json(answer)),
        }
    }
    Err(Problem::unavailable("a session that is turned all the time"))
}

enum Turned {
    Error(Error),
    Problem(Problem),
}

impl From<Error> for Turned {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Problem> for Turned {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

async fn turn(app: &App, session_id: &SessionId, generation: i64) -> Result<Tokens, Turned> {
    let mut tx = app.db.begin().await?;
    let now = tx.now();
    let found = session::find(&mut tx, session_id).await.map_err(|error| match error {
        Error::Refused { .. } => Turned::Problem(invalid()),
        other => Turned::Error(other),
    })?;
    if !found.is_live(now) {
        return Err(invalid().into());
    }
    let person = user::find(&mut tx, &found.user_id).await?;
    if person.status != Status::Active {
        return Err(Problem::new(Code::AccountDisabled, "The account is disabled.").into());
    }
    if generation == found.generation {
        let idle = Lifetime::of(person.roles.is_staff()).idle;
        let turned = session::rotate(&mut tx, &found, idle).await?;
        tx.commit(Point::Account).await?;
        return Ok(answer(app, &turned, &person)?);
    }
    // Two tabs of one portal ask at the same moment: the second one gets what the first one got.
    let grace = Duration::seconds(app.auth.config.refresh_grace_seconds);
    if generation + 1 == found.generation && now < found.rotated_at + grace {
        return Ok(answer(app, &found, &person)?);
    }
    session::revoke(&mut tx, &found, "refresh_token_reused").await?;
    let data = json!({ "user_id": found.user_id });
    event::write(&mut tx, "session.reuse_detected", "session", &found.id, found.generation, data).await?;
    tx.commit(Point::Account).await?;
    tracing::warn!(user.id = %found.user_id, session.id = %found.id, "a refresh token was used twice: the session was ended");
    let detail = "The refresh token was already used, so its session was ended. Log in again.";
    Err(Problem::new(Code::RefreshTokenReused, detail)
        .with_authenticate("Bearer error=\"invalid_token\"".to_owned())
        .into())
}

fn invalid() -> Problem {
    let problem = Problem::new(
        Code::RefreshTokenInvalid,
        "The refresh token is unknown, or its session has ended. Log in again.",
    );
    problem.with_authenticate("Bearer error=\"invalid_token\"".to_owned())
}
