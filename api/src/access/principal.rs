//! The caller: the bearer token of a request, and its user or API key.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use muniment_domain::principal;
use muniment_domain::session::Session;

use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::origin::{self, Origin};

const KEY_PREFIX: &str = "rap_";

/// The caller, as the rows say now: a revoked key, an ended session or a changed role bites at once.
#[derive(Clone, Debug)]
pub struct Principal(pub principal::Principal);

/// Marks a read of a page with the person whose session the page itself has just read. Only this process can mark one.
#[derive(Clone, Debug)]
pub struct Known(pub Principal);

impl Principal {
    /// Whether this person belongs to the platform's staff.
    pub fn is_staff(&self) -> bool {
        self.0.roles.is_staff()
    }

    /// Whether they must set up a second factor before anything else: staff can move other people's money.
    pub fn must_enrol(&self, app: &App) -> bool {
        let lacks = self.0.session().is_some_and(|session| !session.has_second_factor());
        app.auth.config.staff_second_factor && self.is_staff() && lacks
    }

    /// Who the request counts for: the API key, or the user.
    pub fn caller(&self) -> &str {
        self.0.key().map_or(&self.0.user_id, |key| &key.id)
    }

    /// The session; 403 for a key, which has none.
    pub fn session(&self) -> Result<&Session> {
        self.0.session().ok_or_else(|| Problem::new(Code::RoleForbidden, "API keys cannot do this. Log in as a user."))
    }

    /// Requires a proved e-mail address. Staff proved theirs with the invitation.
    pub fn email_proved(&self) -> Result<()> {
        if self.0.email_verified || self.is_staff() {
            return Ok(());
        }
        let detail = "Verify your e-mail address with the link in the mail first. POST /v1/auth/verify-email/resend sends it again.";
        Err(Problem::new(Code::EmailNotVerified, detail))
    }

    /// Demands that the person has just shown again who they are.
    pub fn stepped_up(&self, app: &App) -> Result<()> {
        if self.0.is_stepped_up(app.db.clock().now()) {
            return Ok(());
        }
        Err(Problem::new(
            Code::StepUpRequired,
            "Confirm your identity with POST /v1/auth/step-up, then repeat the request within five minutes.",
        ))
    }
}

/// The caller behind a bearer token.
pub async fn authenticate(app: &App, token: &str, origin: &Origin) -> Result<Principal> {
    if token.starts_with(KEY_PREFIX) {
        let mut tx = app.db.read().await?;
        let known = principal::by_key(&mut tx, token).await.map_err(challenged)?;
        let allowed = known.key().map_or("", |key| key.allowed_cidrs.as_str());
        if !allowed.is_empty() && !allowed.split(' ').any(|network| origin::is_within(origin.ip, network) == Some(true))
        {
            return Err(Problem::new(Code::IpNotAllowed, format!("The API key is not allowed from {}.", origin.ip)));
        }
        return Ok(Principal(known));
    }
    let claims = app.auth.tokens.read(token).map_err(invalid)?;
    let mut tx = app.db.read().await?;
    let known = principal::by_session(&mut tx, &claims.sid.as_str().into()).await.map_err(challenged)?;
    if known.user_id != *claims.sub {
        return Err(invalid(Code::TokenInvalid));
    }
    Ok(Principal(known))
}

/// The token of an Authorization header.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The problem of a request without a token.
pub fn missing() -> Problem {
    let problem = Problem::new(Code::TokenMissing, "Send the header Authorization: Bearer <access token or API key>.");
    problem.with_authenticate("Bearer".to_owned())
}

// One text for unknown, expired and revoked keys: which of them it is tells a thief something and the owner nothing new.
pub fn invalid(code: Code) -> Problem {
    let detail = match code {
        Code::TokenExpired => "The access token has expired. Get a new one with POST /v1/auth/refresh.",
        _ => "The bearer token is unknown, expired or revoked.",
    };
    Problem::new(code, detail).with_authenticate(challenge(code))
}

fn challenge(code: Code) -> String {
    format!("Bearer error=\"invalid_token\", error_description=\"{}\"", code.title())
}

fn challenged(error: muniment_domain::Error) -> Problem {
    let problem = Problem::from(error);
    match problem.code.status() {
        401 => {
            let challenge = challenge(problem.code);
            problem.with_authenticate(challenge)
        }
        _ => problem,
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        // The layer has put it there; a handler that asks for one on an open route is a mistake of ours.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::internal("the handler has no principal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_scheme_is_case_insensitive() {
        assert_eq!(bearer("Bearer rap_live_ab"), Some("rap_live_ab"));
        assert_eq!(bearer("bearer  eyJhbGciOi "), Some("eyJhbGciOi"));
        for header in ["Basic cmFw", "Bearer", "Bearer ", "rap_live_ab"] {
            assert_eq!(bearer(header), None, "{header}");
        }
    }
}
