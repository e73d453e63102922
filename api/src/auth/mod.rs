//! Logging in and staying so: passwords, second factors, sessions and their tokens.

pub mod config;
pub mod email;
pub mod login;
pub mod me;
pub mod password;
pub mod refresh;
pub mod register;
pub mod second_factor;
pub mod session;
pub mod step_up;
mod throttle;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use muniment_activities::config::Profile;
use muniment_domain::clock::Clock;
use muniment_domain::id::Ids;

use self::config::EmailVerification;
use crate::access_token::{AccessTokens, Jwks};
use crate::app::App;
use crate::config::Config;
use crate::failure::Failure;
use crate::password::Passwords;
use crate::secrets::Secrets;

/// What logging in needs besides the database.
pub struct Auth {
    /// Its limits.
    pub config: config::Auth,
    /// What every token is computed from.
    pub secrets: Arc<Secrets>,
    /// The access tokens.
    pub tokens: AccessTokens,
    /// The hashes.
    pub passwords: Passwords,
    /// Whether an address must be proved before anything is done that others rely on.
    pub needs_proved_email: bool,
}

impl Auth {
    /// Reads the secrets, or makes them.
    pub fn new(config: &Config, clock: &Clock, ids: &Ids) -> Result<Self, Failure> {
        let secrets = Arc::new(Secrets::open(&config.auth.key_file, clock, || ids.bytes())?);
        let tokens = AccessTokens::new(secrets.clone(), &config.auth.issuer, config.auth.access_seconds);
        let passwords = Passwords::new(&config.auth, ids.bytes())?;
        let needs_proved_email = match config.auth.email_verification {
            EmailVerification::Profile => config.profile == Profile::Production,
            EmailVerification::Required => true,
            EmailVerification::Optional => false,
        };
        Ok(Self { config: config.auth.clone(), secrets, tokens, passwords, needs_proved_email })
    }
}

/// `GET /.well-known/jwks.json`: the keys that others can check our access tokens by.
#[utoipa::path(
    get,
    path = "/.well-known/jwks.json",
    responses((status = 200, body = Jwks)),
)]
pub async fn jwks(State(app): State<App>) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "public, max-age=300")], Json(app.auth.tokens.jwks()))
}
