//! Sessions: list and end.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use muniment_domain::Error;
use muniment_domain::db::Tx;
use muniment_domain::id::{SessionId, of};
use muniment_domain::login_attempt::{self, Outcome};
use muniment_domain::point::Point;
use muniment_domain::session::{self, Lifetime, New, Session};
use muniment_domain::user::User;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::me::Person;
use super::refresh;
use crate::access::principal::Principal;
use crate::app::App;
use crate::http::body::Optional;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::origin::Origin;
use crate::http::pages::{LIMIT_MAX, List, Page};

const DEVICE_CHARACTERS_MAX: usize = 100;

/// Opens a session for an authenticated user.
pub async fn open(tx: &mut Tx, user: &User, amr: &str, origin: &Origin, device: Option<&str>) -> Result<Session> {
    let (ip, agent) = (origin.ip.to_string(), &origin.user_agent);
    login_attempt::insert(tx, Some(&user.id), &ip, agent, Outcome::Accepted).await?;
    let lifetime = Lifetime::of(user.roles.is_staff());
    let new = New { user_id: &user.id, amr, lifetime, ip: &ip, user_agent: agent, device_name: device };
    let opened = session::insert(tx, &new).await?;
    tracing::info!(user.id = %user.id, session.id = %opened.id, client.address = ip, session.amr = amr, "logged in");
    Ok(opened)
}

/// The tokens of a session and its user.
#[derive(Serialize, ToSchema)]
pub struct Tokens {
    /// The access token.
    access_token: String,
    /// Always `Bearer`.
    #[schema(example = "Bearer")]
    token_type: &'static str,
    /// The lifetime of the access token in seconds.
    expires_in: i64,
    /// The refresh token. It works once; the answer to its use has the next one.
    refresh_token: String,
    /// The lifetime of the refresh token in seconds.
    refresh_expires_in: i64,
    session_id: SessionId,
    /// The user.
    user: Person,
}

/// The tokens of a session.
pub fn answer(app: &App, session: &Session, user: &User) -> Result<Tokens> {
    let now = app.db.clock().now();
    let jti = app.db.ids().new_id::<of::Token>(now);
    let token = app.auth.tokens.sign(session, &user.roles, jti.into(), now.timestamp()).map_err(Problem::internal)?;
    let until = session.idle_expires_at.min(session.absolute_expires_at);
    Ok(Tokens {
        access_token: token,
        token_type: "Bearer",
        expires_in: app.auth.tokens.seconds(),
        refresh_token: refresh::token(app, session),
        refresh_expires_in: (until - now).num_seconds(),
        session_id: session.id.clone(),
        user: Person::of(user),
    })
}

/// Refuses a name of a device that is too long to be one.
pub fn check_device(name: Option<&str>) -> Result<()> {
    match name {
        Some(name) if name.chars().count() > DEVICE_CHARACTERS_MAX => {
            let detail = format!("The device name can have at most {DEVICE_CHARACTERS_MAX} characters.");
            Err(Problem::field("/device_name", "too_long", detail))
        }
        _ => Ok(()),
    }
}

/// The sessions to end.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Logout {
    /// Whether all sessions of the user end.
    all: Option<bool>,
}

/// Log out.
///
/// The tokens of the session stop working at once.
#[utoipa::path(
    post,
    path = "/v1/auth/logout",
    request_body = Option<Logout>,
    responses((status = 204)),
)]
pub async fn logout(
    State(app): State<App>,
    principal: Principal,
    Optional(body): Optional<Logout>,
) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    if body.all == Some(true) {
        session::revoke_all(&mut tx, &principal.0.user_id, None, "logout").await?;
    } else {
        session::revoke(&mut tx, principal.session()?, "logout").await?;
    }
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List your sessions.
///
/// A user has at most ten sessions.
#[utoipa::path(
    get,
    path = "/v1/auth/sessions",
    responses((status = 200, body = List<View>)),
)]
pub async fn list(State(app): State<App>, principal: Principal) -> Result<Json<List<View>>> {
    let current = principal.session()?.id.clone();
    let sessions = session::of_user(&mut app.db.read().await?, &principal.0.user_id).await?;
    let data: Vec<_> = sessions.iter().map(|session| View::of(session, &current)).collect();
    let total = i64::try_from(data.len()).unwrap_or(i64::MAX);
    Ok(Json(Page { number: 1, limit: LIMIT_MAX }.list(data, total)))
}

/// End one of your sessions.
#[utoipa::path(
    delete,
    path = "/v1/auth/sessions/{id}",
    responses((status = 204)),
)]
pub async fn end(
    State(app): State<App>,
    Path(session_id): Path<SessionId>,
    principal: Principal,
) -> Result<StatusCode> {
    session_id.check()?;
    let mut tx = app.db.begin().await?;
    let found = session::find(&mut tx, &session_id).await?;
    if found.user_id != principal.0.user_id {
        return Err(
            Error::refused(muniment_domain::Code::NotFound, format!("There is no session {session_id}.")).into()
        );
    }
    session::revoke(&mut tx, &found, "ended_by_owner").await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End all your other sessions.
#[utoipa::path(
    delete,
    path = "/v1/auth/sessions",
    responses((status = 204)),
)]
pub async fn end_others(State(app): State<App>, principal: Principal) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    session::revoke_all(&mut tx, &principal.0.user_id, Some(&principal.session()?.id), "ended_by_owner").await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A session.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct View {
    id: SessionId,
    /// Whether this is the session of the request.
    current: bool,
    #[schema(example = "Ada's laptop")]
    device_name: Option<String>,
    ip: String,
    user_agent: String,
    /// The authentication methods of the login: `pwd`, `otp`.
    #[schema(example = json!(["pwd", "otp"]))]
    amr: Vec<String>,
    auth_time: Instant,
    created_at: Instant,
    last_used_at: Instant,
    expires_at: Instant,
    step_up_expires_at: Option<Instant>,
}

impl View {
    /// The session as the session `current` sees it.
    pub fn of(session: &Session, current: &str) -> Self {
        Self {
            id: session.id.clone(),
            current: session.id == current,
            device_name: session.device_name.clone(),
            ip: session.ip.clone(),
            user_agent: session.user_agent.clone(),
            amr: session.amr.split(' ').map(str::to_owned).collect(),
            auth_time: Instant(session.auth_time),
            created_at: Instant(session.created_at),
            last_used_at: Instant(session.last_used_at),
            expires_at: Instant(session.idle_expires_at.min(session.absolute_expires_at)),
            step_up_expires_at: session.step_up_until.map(Instant),
        }
    }
}
