//! Who may call what: one row for each route, read by the router and by a test. A route without a row answers nobody.

use axum::http::Method;
use muniment_domain::user::Role;

use crate::code::Code;
use crate::error::{Problem, Result};
use crate::principal::Principal;

/// What a caller must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, and nothing is looked at.
    Open,
    /// Nothing; a key that is shown must be valid and may see more.
    Public,
    /// A key with this scope, of somebody with one of these roles.
    Key {
        /// Whose.
        roles: &'static [Role],
        /// With what.
        scope: &'static str,
    },
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Permission {
    /// `GET`, `POST` …
    pub method: &'static str,
    /// The path as the router knows it.
    pub path: &'static str,
    /// Who may.
    pub access: Access,
}

const READERS: &[Role] = &[Role::Operator, Role::Admin, Role::Auditor];
const OPERATORS: &[Role] = &[Role::Operator, Role::Admin];

const OFFERINGS: Access = Access::Key { roles: READERS, scope: "offerings:read" };
const OPERATIONS: Access = Access::Key { roles: READERS, scope: "ops:read" };
const EXECUTION: Access = Access::Key { roles: OPERATORS, scope: "ops:write" };
const FREEZE: Access = Access::Key { roles: OPERATORS, scope: "ops:freeze" };

const fn row(method: &'static str, path: &'static str, access: Access) -> Permission {
    Permission { method, path, access }
}

/// The table.
pub const PERMISSIONS: &[Permission] = &[
    row("GET", "/healthz", Access::Open),
    row("GET", "/readyz", Access::Open),
    row("GET", "/version", Access::Open),
    row("GET", "/v1/offerings/{id}", Access::Public),
    row("GET", "/v1/offerings/{id}/subscriptions", OFFERINGS),
    row("GET", "/v1/offerings/{id}/holders", OFFERINGS),
    row("GET", "/v1/approvals", OPERATIONS),
    row("GET", "/v1/approvals/{id}", OPERATIONS),
    row("POST", "/v1/approvals/{id}/approve", EXECUTION),
    row("POST", "/v1/approvals/{id}/reject", EXECUTION),
    row("POST", "/v1/approvals/{id}/cancel", EXECUTION),
    row("POST", "/blockchain/deploy-token", EXECUTION),
    row("POST", "/blockchain/trigger-mint", EXECUTION),
    row("POST", "/blockchain/freeze", FREEZE),
    row("POST", "/blockchain/unfreeze", EXECUTION),
    row("POST", "/blockchain/lock", EXECUTION),
    row("POST", "/blockchain/unlock", EXECUTION),
    row("POST", "/blockchain/restrict", EXECUTION),
    row("POST", "/blockchain/unrestrict", EXECUTION),
    row("POST", "/blockchain/force-transfer", EXECUTION),
    row("POST", "/blockchain/recover", EXECUTION),
    row("GET", "/blockchain/operations", OPERATIONS),
    row("GET", "/blockchain/operations/stats", OPERATIONS),
    row("GET", "/blockchain/operations/{id}", OPERATIONS),
    row("POST", "/blockchain/operations/bulk-retry", EXECUTION),
    row("POST", "/blockchain/operations/{id}/retry", EXECUTION),
    row("POST", "/blockchain/operations/{id}/reconcile", EXECUTION),
    row("POST", "/blockchain/operations/{id}/speed-up", EXECUTION),
    row("POST", "/blockchain/operations/{id}/cancel", EXECUTION),
    row("GET", "/blockchain/signers", OPERATIONS),
    row("POST", "/blockchain/signers/{id}/pause", EXECUTION),
    row("POST", "/blockchain/signers/{id}/resume", EXECUTION),
];

/// Every scope that a key may be given.
pub const SCOPES: &[&str] = &["offerings:read", "ops:freeze", "ops:read", "ops:write"];

/// The row of a route.
pub fn of(method: &Method, path: &str) -> Option<&'static Permission> {
    PERMISSIONS.iter().find(|p| p.method == method.as_str() && p.path == path)
}

impl Access {
    /// Whether a known caller may pass.
    pub fn admit(self, principal: &Principal) -> Result<()> {
        let Self::Key { roles, scope } = self else { return Ok(()) };
        if !roles.contains(&principal.0.role) {
            let role = principal.0.role;
            return Err(Problem::new(Code::RoleForbidden, format!("The role {role} may not do this.")));
        }
        if !principal.0.has_scope(scope) {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            let problem = Problem::new(Code::ScopeInsufficient, format!("The key needs the scope {scope}."));
            return Err(problem.with_authenticate(challenge));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::routes;

    #[test]
    fn every_route_has_one_row_and_every_row_a_route() {
        let served: Vec<_> = routes().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
        let allowed: Vec<_> = PERMISSIONS.iter().map(|p| format!("{} {}", p.method, p.path)).collect();
        let (mut left, mut right) = (served.clone(), allowed.clone());
        left.sort();
        right.sort();
        assert_eq!(left, right);
        left.dedup();
        assert_eq!(left.len(), served.len(), "a route stands twice");
    }

    #[test]
    fn an_auditor_changes_nothing_and_every_scope_is_listed() {
        for permission in PERMISSIONS {
            if let Access::Key { roles, scope } = permission.access {
                assert!(SCOPES.contains(&scope), "{scope}");
                assert!(permission.method == "GET" || !roles.contains(&Role::Auditor), "{}", permission.path);
            }
        }
    }
}
