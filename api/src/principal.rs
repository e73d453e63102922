//! Who calls: the bearer key of a request and the person behind it.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use muniment_domain::user::{self, Role};

use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::permission::{Access, Permission};

/// The caller, as the key's row says now: a revoked key or a changed role bites at once.
#[derive(Clone, Debug)]
pub struct Principal(pub user::Principal);

impl Principal {
    /// Whether this person belongs to the platform's staff.
    pub const fn is_staff(&self) -> bool {
        matches!(self.0.role, Role::Operator | Role::Admin | Role::Auditor)
    }
}

/// The layer of one route: lets in whom the route's row admits. Without a row nobody is.
pub async fn admit(
    State((app, permission)): State<(App, Option<&'static Permission>)>,
    mut request: Request,
    next: Next,
) -> Response {
    match authenticate(&app, permission, request.headers()).await {
        Ok(principal) => {
            if let Some(principal) = principal {
                request.extensions_mut().insert(principal);
            }
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn authenticate(app: &App, permission: Option<&Permission>, headers: &HeaderMap) -> Result<Option<Principal>> {
    let Some(permission) = permission else { return Err(Problem::bare(Code::RoleForbidden)) };
    let key = match (permission.access, headers.get(header::AUTHORIZATION)) {
        (Access::Open, _) | (Access::Public, None) => return Ok(None),
        (Access::Key { .. }, None) => {
            let problem = Problem::new(Code::TokenMissing, "Send the header Authorization: Bearer <key>.");
            return Err(problem.with_authenticate("Bearer".to_owned()));
        }
        (_, Some(value)) => value.to_str().ok().and_then(bearer).ok_or_else(invalid)?,
    };
    let mut tx = app.db.read().await?;
    let principal = user::by_key(&mut tx, key).await.map_err(|error| match Problem::from(error) {
        refused if refused.code == Code::TokenInvalid => invalid(),
        other => other,
    })?;
    let principal = Principal(principal);
    permission.access.admit(&principal)?;
    Ok(Some(principal))
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, key) = header.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && key.starts_with("rap_")).then_some(key)
}

// One text for unknown, expired and revoked: which of them it is tells a thief something and the owner nothing new.
fn invalid() -> Problem {
    let problem = Problem::new(Code::TokenInvalid, "The bearer token is unknown, expired or revoked.");
    problem.with_authenticate("Bearer error=\"invalid_token\"".to_owned())
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        // The layer has put it there; a handler that asks for one on an open route is a mistake of ours.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::internal("a handler without its principal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_key_is_read_whatever_the_case_of_its_scheme() {
        assert_eq!(bearer("Bearer rap_live_ab"), Some("rap_live_ab"));
        assert_eq!(bearer("bearer  rap_live_ab "), Some("rap_live_ab"));
        for header in ["Basic cmFw", "Bearer", "Bearer ", "rap_live_ab", "Bearer eyJhbGciOi"] {
            assert_eq!(bearer(header), None, "{header}");
        }
    }
}
