//! A user's own account: registration, login, sessions, password, second factor.

mod device;
pub mod email;
pub mod login;
pub mod me;
pub mod password;
pub mod refresh;
pub mod register;
mod routes;
pub mod second_factor;
pub mod session;
pub mod step_up;
mod throttle;

pub use routes::routes;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::app::App;
use crate::auth::access_token::Jwks;

/// List the public keys of access tokens.
///
/// Others verify the platform's access tokens with these keys.
#[utoipa::path(
    get,
    path = "/.well-known/jwks.json",
    responses((status = 200, body = Jwks)),
)]
pub async fn jwks(State(app): State<App>) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "public, max-age=300")], Json(app.auth.tokens.jwks()))
}
