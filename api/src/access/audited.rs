//! The audit entry of a request.

use axum::http::request::Parts;
use axum::response::Response;
use muniment_domain::audit::{Act, ActorKind};

use crate::access::principal::Principal;
use crate::access::route::Route;
use crate::app::App;
use crate::code::Code;
use crate::http::error::Problem;
use crate::http::origin::Origin;
use crate::http::request_id::RequestId;

/// Longer texts in a path are the id of nothing.
const ID_CHARACTERS_MAX: usize = 64;

/// The audit entry of a request that may change something or reads personal data. None for other reads.
pub fn of(app: &App, route: &Route, request: &Parts, principal: Option<&Principal>) -> Option<Act> {
    if request.method.is_safe() && !route.audits_reads {
        return None;
    }
    let caller = principal.map(|principal| &principal.0);
    let kind = match caller {
        None => ActorKind::Anonymous,
        Some(caller) if caller.is_person() => ActorKind::Person,
        Some(_) => ActorKind::Key,
    };
    Some(Act {
        actor: caller.map(|caller| caller.user_id.to_string()),
        kind,
        session_id: caller.and_then(|caller| caller.session()).map(|session| session.id.clone()),
        key_id: caller.and_then(|caller| caller.key()).map(|key| key.id.clone()),
        ip: Some(Origin::of(&request.headers, request.extensions.get(), &app.limits.trusted_proxies).ip.to_string()),
        action: format!("{} {}", route.method, route.path),
        object_id: named(&route.path, request.uri.path()).map(str::to_owned),
        request_id: request.extensions.get::<RequestId>().map(|id| id.0.clone()),
    })
}

/// Why a known caller was turned away, if that is worth a line: somebody was not allowed to, or did not show who they are. Of a decision about
/// what another one asked for, every refusal is.
pub fn refusal(route: &Route, answer: &Response) -> Option<Code> {
    // Refusals by a rule are stored answers with their own audit entry.
    let code = answer.extensions().get::<Problem>()?.code;
    let refused = route.audits_refusals && code.status() < 500;
    (refused || matches!(code.status(), 401 | 403)).then_some(code)
}

/// The last id in a path.
fn named<'a>(route: &str, path: &'a str) -> Option<&'a str> {
    let pairs = route.split('/').zip(path.split('/'));
    let id = pairs.filter(|(known, _)| known.starts_with('{')).last().map(|(_, given)| given);
    id.filter(|id| id.len() <= ID_CHARACTERS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_object_is_the_last_id_of_the_path() {
        assert_eq!(named("/v1/api-keys", "/v1/api-keys"), None);
        assert_eq!(named("/v1/users/{id}/disable", "/v1/users/usr_1/disable"), Some("usr_1"));
        let route = "/v1/distributions/{id}/entitlements/{entitlement_id}/hold";
        assert_eq!(named(route, "/v1/distributions/dist_1/entitlements/ent_2/hold"), Some("ent_2"));
        assert_eq!(named("/x/{id}", &format!("/x/{}", "a".repeat(65))), None);
    }
}
