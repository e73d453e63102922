//! Rules that hold for the rows of all endpoints.

use std::collections::BTreeSet;

use axum::http::Method;
use muniment_domain::user::{Role, Roles};
use muniment_domain::{distribution, entitlement, offering, operation, subscription};
use serde_json::{Value, json};

use crate::access::permission::{Access, KEY_ACCESS, SCOPES, scopes_of};
use crate::access::route::Route;
use crate::server::routes::ROUTES;

#[test]
fn every_endpoint_has_one_row_and_every_row_documents_its_endpoint() {
    let names: BTreeSet<_> = ROUTES.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    assert_eq!(names.len(), ROUTES.len(), "an endpoint has two rows");
    assert!(ROUTES.iter().all(|route| route.path.starts_with('/') && route.document.paths.paths.len() == 1));
}

/// Each word of a status leads to a request, for every noun whose refusals name what is allowed.
fn allowed() -> Vec<(&'static str, &'static str)> {
    let mut allowed = Vec::new();
    allowed
        .extend(offering::Status::ALL.iter().flat_map(|status| status.requests()).map(|word| ("/v1/offerings/", word)));
    allowed.extend(
        subscription::Status::ALL.iter().flat_map(|status| status.requests()).map(|word| ("/v1/subscriptions/", word)),
    );
    allowed.extend(
        distribution::Status::ALL.iter().flat_map(|status| status.requests()).map(|word| ("/v1/distributions/", word)),
    );
    allowed.extend(
        entitlement::Status::ALL.iter().flat_map(|status| status.requests()).map(|word| ("/entitlements/", word)),
    );
    let operations = operation::Status::ALL.iter().flat_map(|status| status.requests());
    allowed.extend(operations.map(|word| ("/blockchain/operations/", *word)));
    allowed
}

#[test]
fn every_allowed_request_has_its_endpoint() {
    let allowed = allowed();
    assert!(allowed.len() > 30, "{allowed:?}");
    for (noun, word) in allowed {
        let is_it = |route: &&Route| {
            route.method == Method::POST && route.path.contains(noun) && route.path.ends_with(&format!("/{word}"))
        };
        assert!(ROUTES.iter().any(|route| is_it(&route)), "no endpoint makes {word} of {noun}");
    }
}

#[test]
fn every_scope_is_listed() {
    for route in ROUTES.iter().filter(|route| matches!(route.access, Access::Caller { .. })) {
        assert!(KEY_ACCESS.contains(&route.access), "{} {}", route.method, route.path);
    }
    let used = |access: &&Access| ROUTES.iter().any(|route| route.access == **access);
    assert_eq!(KEY_ACCESS.iter().filter(|access| !used(access)).collect::<Vec<_>>(), Vec::<&Access>::new());
}

/// Fields that hold a secret in clear.
const SECRETS: [&str; 2] = ["\"key\":{", "\"secret\":{"];

#[test]
fn stored_answers_with_secrets_are_encrypted() {
    let mut found = 0;
    for route in ROUTES.iter().filter(|route| route.writes()) {
        let document = json!(route.document);
        let text = document["paths"].to_string();
        let schemas = document["components"]["schemas"].as_object();
        let shown = schemas.into_iter().flatten().filter(|(name, _)| text.contains(&format!("schemas/{name}\"")));
        let holds = |schema: &Value| SECRETS.iter().any(|field| schema.to_string().contains(field));
        let secret = shown.filter(|(_, schema)| holds(schema)).count() > 0;
        if secret && text.contains("Idempotency-Key") {
            assert!(route.answers_secret, "{} {}", route.method, route.path);
            found += 1;
        }
    }
    assert!(found >= 3, "only {found} endpoints answer a secret");
}

#[test]
fn auditor_changes_only_their_own_account() {
    for route in ROUTES.iter() {
        let own = route.path.starts_with("/v1/auth/");
        let roles = match route.access {
            Access::Caller { roles, scope } => {
                assert!(SCOPES.contains(&scope), "{scope}");
                roles
            }
            Access::Person { roles } => roles,
            Access::Open | Access::Door | Access::Public => &[],
        };
        assert!(!route.writes() || own || !roles.contains(&Role::Auditor), "{}", route.path);
    }
}

#[test]
fn only_login_endpoints_change_without_a_token() {
    for route in ROUTES.iter() {
        let free = matches!(route.access, Access::Open | Access::Public);
        assert!(!route.writes() || !free, "{}", route.path);
        assert!(route.access != Access::Door || route.path.starts_with("/v1/auth/"), "{}", route.path);
    }
}

#[test]
fn step_up_is_only_for_persons() {
    let fresh: Vec<_> = ROUTES.iter().filter(|route| route.step_up).collect();
    assert!(fresh.len() > 5 && fresh.iter().all(|route| matches!(route.access, Access::Person { .. })));
}

#[test]
fn actions_for_persons_have_no_scope() {
    let moves = ["execute", "hold", "release", "exclude", "reissue", "unfreeze", "lock", "unlock", "restrict"];
    let rest = ["reclaim", "unrestrict", "force-transfer", "blockchain/recover", "reconcile"];
    let more = ["redeem", "blockchain/reinstate", "release-lock", "blockchain/pause", "unpause"];
    let words = ["approvals/{id}/approve", "approvals/{id}/reject", "approvals/{id}/cancel"];
    for verb in moves.iter().chain(&rest).chain(&more).chain(&words) {
        let named = |route: &&Route| route.method == Method::POST && route.path.ends_with(&format!("/{verb}"));
        let rows: Vec<_> = ROUTES.iter().filter(named).collect();
        assert!(!rows.is_empty(), "{verb} is no route");
        for row in rows {
            assert!(matches!(row.access, Access::Person { .. }), "a key may ask for {}", row.path);
        }
    }
}

#[test]
fn key_scopes_are_limited_to_those_of_the_owner() {
    let investor = scopes_of(&Roles::only(Role::Investor));
    assert!(investor.contains(&"me:read") && !investor.iter().any(|scope| scope.starts_with("ops:")), "{investor:?}");
    assert!(scopes_of(&Roles::only(Role::Operator)).contains(&"ops:write"));
    assert!(!scopes_of(&Roles::only(Role::Auditor)).contains(&"ops:write"));
}
