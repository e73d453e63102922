//! What a request is about to do, as its line in the log will say.

use axum::http::request::Parts;
use muniment_domain::audit::{Act, ActorKind};

use crate::app::App;
use crate::origin::Origin;
use crate::permission::Permission;
use crate::principal::Principal;
use crate::request_id::RequestId;

/// Longer texts in a path are the id of nothing.
const ID_CHARACTERS_MAX: usize = 64;

/// The act of a request that may change something; none for one that only reads.
pub fn of(app: &App, permission: &Permission, request: &Parts, principal: Option<&Principal>) -> Option<Act> {
    if request.method.is_safe() {
        return None;
    }
    let caller = principal.map(|principal| &principal.0);
    let kind = match caller {
        None => ActorKind::Anonymous,
        Some(caller) if caller.is_person() => ActorKind::Person,
        Some(_) => ActorKind::Key,
    };
    Some(Act {
        actor: caller.map(|caller| caller.user_id.clone()),
        kind,
        session_id: caller.and_then(|caller| caller.session()).map(|session| session.id.clone()),
        key_id: caller.and_then(|caller| caller.key()).map(|key| key.id.clone()),
        ip: Some(Origin::of(&request.headers, request.extensions.get(), &app.limits.trusted_proxies).ip.to_string()),
        action: format!("{} {}", permission.method, permission.path),
        object_id: named(permission.path, request.uri.path()).map(str::to_owned),
        request_id: request.extensions.get::<RequestId>().map(|id| id.0.clone()),
    })
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
    fn the_last_id_of_a_path_is_what_is_acted_on() {
        assert_eq!(named("/v1/api-keys", "/v1/api-keys"), None);
        assert_eq!(named("/v1/users/{id}/disable", "/v1/users/usr_1/disable"), Some("usr_1"));
        let route = "/v1/distributions/{id}/entitlements/{entitlement_id}/hold";
        assert_eq!(named(route, "/v1/distributions/dist_1/entitlements/ent_2/hold"), Some("ent_2"));
        assert_eq!(named("/x/{id}", &format!("/x/{}", "a".repeat(65))), None);
    }
}
