//! CSRF tokens: bound to the session, so they outlive its access tokens and end with it.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::id::SessionId;
use muniment_domain::principal;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::secrets::Secrets;

const HEADER: &str = "x-csrf-token";
const PURPOSE: &str = "csrf";
const VERSION: u8 = 1;
// Version, expiry, nonce; the code follows.
const HEAD_BYTES: usize = 1 + 8 + 16;

/// A CSRF token.
#[derive(Serialize, ToSchema)]
pub struct CsrfToken {
    /// The value for the header `X-CSRF-Token`.
    #[serde(rename = "csrfToken")]
    #[schema(example = "AQAAAABnPmTjb3JyZWN0IGhvcnNlIGJhdHRlcnk")]
    token: String,
    expires_at: Instant,
}

/// Get a CSRF token.
///
/// A session sends it as `X-CSRF-Token` with every change.
#[utoipa::path(
    get,
    path = "/v1/csrf-token",
    responses((status = 200, body = CsrfToken)),
)]
pub async fn token(State(app): State<App>, principal: Principal) -> Result<Json<CsrfToken>> {
    let session_id = principal.session()?.id.clone();
    let expires_at = app.db.clock().now() + Duration::seconds(app.auth.config.csrf_seconds);
    let token = issue(&app.auth.secrets, &session_id, expires_at, app.db.ids().bytes());
    Ok(Json(CsrfToken { token, expires_at: Instant(expires_at) }))
}

/// A token of a session, good until `expires_at`.
pub fn issue(secrets: &Secrets, session_id: &SessionId, expires_at: DateTime<Utc>, nonce: [u8; 16]) -> String {
    let mut token = vec![VERSION];
    token.extend(expires_at.timestamp().to_be_bytes());
    token.extend(nonce);
    token.extend(secrets.mac(PURPOSE, &[&token, session_id.as_bytes()]));
    BASE64.encode(token)
}

/// Demands the token of the caller's session on a change. A key needs none: no browser sends it by itself; but one that is sent must fit.
pub fn check(app: &App, principal: &principal::Principal, headers: &HeaderMap) -> Result<()> {
    let Some(given) = headers.get(HEADER) else {
        if !principal.is_person() {
            return Ok(());
        }
        let detail = "Get a token with GET /v1/csrf-token and send it in the header X-CSRF-Token.";
        return Err(Problem::new(Code::CsrfTokenMissing, detail));
    };
    let session_id = principal.session().map(|session| session.id.clone()).unwrap_or_default();
    verify(&app.auth.secrets, given.as_bytes(), &session_id, app.db.clock().now()).map_err(|code| {
        Problem::new(
            code,
            "The CSRF token does not belong to this session or has expired. Get a new one with GET /v1/csrf-token.",
        )
    })
}

/// Whether the token belongs to this session and is valid now.
pub fn verify(secrets: &Secrets, given: &[u8], session_id: &SessionId, now: DateTime<Utc>) -> Result<(), Code> {
    let token = BASE64.decode(given).map_err(|_| Code::CsrfTokenInvalid)?;
    let (head, code) = token.split_at_checked(HEAD_BYTES).ok_or(Code::CsrfTokenInvalid)?;
    if head[0] != VERSION || !secrets.is_mac(code, PURPOSE, &[head, session_id.as_bytes()]) {
        return Err(Code::CsrfTokenInvalid);
    }
    let expiry = head[1..9].try_into().map(i64::from_be_bytes).map_err(|_| Code::CsrfTokenInvalid)?;
    if expiry > now.timestamp() { Ok(()) } else { Err(Code::CsrfTokenExpired) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::tests::fresh;

    #[test]
    fn csrf_token_is_bound_to_session_and_hour() {
        let (secrets, now) = (fresh(), DateTime::UNIX_EPOCH + Duration::days(20_000));
        let token = issue(&secrets, &"ses_1".into(), now + Duration::hours(1), [3; 16]);
        let judged = |token: &str, session: &str, minutes| {
            verify(&secrets, token.as_bytes(), &session.into(), now + Duration::minutes(minutes))
        };
        assert_eq!(judged(&token, "ses_1", 59), Ok(()));
        assert_eq!(judged(&token, "ses_1", 60), Err(Code::CsrfTokenExpired));
        assert_eq!(judged(&token, "ses_2", 0), Err(Code::CsrfTokenInvalid));
        // A changed expiry invalidates the code.
        let mut later = BASE64.decode(&token).unwrap();
        later[1] = 1;
        for forged in
            [BASE64.encode(later), token[..20].to_owned(), String::new(), "*".to_owned(), token.clone() + "AA"]
        {
            assert_eq!(judged(&forged, "ses_1", 0), Err(Code::CsrfTokenInvalid), "{forged}");
        }
    }
}
