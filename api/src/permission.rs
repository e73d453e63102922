//! Who may call what: one row for each route, read by the router and by a test. A route without a row answers nobody.

use axum::http::Method;
use muniment_domain::user::{Role, Roles};

use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::principal::Principal;

/// What a caller must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, and nothing is looked at.
    Open,
    /// Nothing: here one gets a token. What is sent in the body decides.
    Door,
    /// Nothing; a token that is shown must be valid and may see more.
    Public,
    /// A session of somebody with one of these roles. No key, whatever its scopes.
    Person {
        /// Whose.
        roles: &'static [Role],
    },
    /// A session of somebody with one of these roles, or such a person's key with this scope.
    Caller {
        /// Whose.
        roles: &'static [Role],
        /// What a key needs besides.
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
    /// Whether the person must just have shown again who they are.
    pub step_up: bool,
}

const READERS: &[Role] = &[Role::Operator, Role::Admin, Role::Auditor];
const INVESTORS_TOO: &[Role] = &[Role::Investor, Role::Operator, Role::Admin, Role::Auditor];
const ISSUERS_TOO: &[Role] = &[Role::Issuer, Role::Operator, Role::Admin, Role::Auditor];
const ALL_BUT_AUDITORS: &[Role] = &[Role::Investor, Role::Issuer, Role::Operator, Role::Admin];
const OPERATORS: &[Role] = &[Role::Operator, Role::Admin];
const ORGANISERS: &[Role] = &[Role::Issuer, Role::Operator, Role::Admin];

const STAFF: Access = Access::Person { roles: READERS };
const ADMIN: Access = Access::Person { roles: &[Role::Admin] };
const KEYS: Access = Access::Person { roles: &[Role::Issuer, Role::Admin] };
const KEY_LIST: Access = Access::Person { roles: &[Role::Issuer, Role::Admin, Role::Auditor] };
const OWN: Access = Access::Person { roles: Role::ALL };
const OWN_READ: Access = Access::Caller { roles: Role::ALL, scope: "me:read" };
/// Everybody is told of what is theirs.
const TOLD: Access = Access::Caller { roles: Role::ALL, scope: "webhooks:write" };
const TELLING: Access = Access::Caller { roles: ALL_BUT_AUDITORS, scope: "webhooks:write" };
const AUDIT: Access = Access::Caller { roles: READERS, scope: "audit:read" };
const OFFERING_LIST: Access = Access::Caller { roles: Role::ALL, scope: "offerings:read" };
const OFFERINGS: Access = Access::Caller { roles: ISSUERS_TOO, scope: "offerings:read" };
const OFFERING: Access = Access::Caller { roles: ORGANISERS, scope: "offerings:write" };
/// What an issuer asks for and a key never does: a second person decides it.
const OFFERING_END: Access = Access::Person { roles: ORGANISERS };
const ARCHIVE: Access = Access::Caller { roles: OPERATORS, scope: "offerings:write" };
/// Staff sees what waits, an issuer what he asked for himself. A key neither reads nor decides.
const APPROVALS: Access = Access::Person { roles: ISSUERS_TOO };
const OWN_APPROVAL: Access = Access::Person { roles: ORGANISERS };
/// Staff sees every organisation, its people see theirs; a key does neither, and lets nobody in.
const ORGANISATION: Access = Access::Person { roles: ISSUERS_TOO };
const MEMBERS: Access = Access::Person { roles: ORGANISERS };
const OPERATIONS: Access = Access::Caller { roles: READERS, scope: "ops:read" };
const EXECUTION: Access = Access::Caller { roles: OPERATORS, scope: "ops:write" };
/// What takes a person's own word, never a key's: money, what two people do, and what somebody else asked for.
const PERSON: Access = Access::Person { roles: OPERATORS };
const FREEZE: Access = Access::Caller { roles: OPERATORS, scope: "ops:freeze" };
const DISTRIBUTIONS: Access = Access::Caller { roles: READERS, scope: "distributions:read" };
const OWN_DISTRIBUTIONS: Access = Access::Caller { roles: INVOLVED, scope: "distributions:read" };
const ORG_DISTRIBUTIONS: Access = Access::Caller { roles: ISSUERS_TOO, scope: "distributions:read" };
const DISTRIBUTING: Access = Access::Caller { roles: ORGANISERS, scope: "distributions:write" };
const AUDITING: Access = Access::Caller { roles: OPERATORS, scope: "distributions:write" };

const INVOLVED: &[Role] = &[Role::Investor, Role::Issuer, Role::Operator, Role::Admin, Role::Auditor];
const SUBSCRIPTIONS: Access = Access::Caller { roles: INVOLVED, scope: "subscriptions:read" };
const SUBSCRIBING: Access = Access::Caller { roles: &[Role::Investor, Role::Operator], scope: "subscriptions:write" };
const WITHDRAWING: Access =
    Access::Caller { roles: &[Role::Investor, Role::Operator, Role::Admin], scope: "subscriptions:write" };
const OWN_SUBSCRIPTIONS: Access = Access::Caller { roles: &[Role::Investor], scope: "subscriptions:write" };
const TAKING: Access = Access::Caller { roles: &[Role::Issuer, Role::Operator, Role::Admin], scope: "payments:write" };
const PAYMENTS: Access = Access::Caller { roles: OPERATORS, scope: "payments:write" };
const INVESTOR: Access = Access::Person { roles: &[Role::Investor] };
const INVESTORS: Access = Access::Caller { roles: READERS, scope: "investors:read" };
const OWN_INVESTOR: Access = Access::Caller { roles: INVESTORS_TOO, scope: "investors:read" };
const TOKENS: Access = Access::Caller { roles: Role::ALL, scope: "offerings:read" };
const IDENTITIES: Access = Access::Caller { roles: OPERATORS, scope: "kyc:write" };

const fn row(method: &'static str, path: &'static str, access: Access) -> Permission {
    Permission { method, path, access, step_up: false }
}

/// The row of what nobody does on a machine that somebody else left open.
const fn fresh_row(method: &'static str, path: &'static str, access: Access) -> Permission {
    Permission { method, path, access, step_up: true }
}

/// The table.
pub const PERMISSIONS: &[Permission] = &[
    row("GET", "/healthz", Access::Open),
    row("GET", "/readyz", Access::Open),
    row("GET", "/version", Access::Open),
    row("GET", "/openapi.json", Access::Public),
    row("GET", "/docs", Access::Public),
    row("GET", "/docs/page.css", Access::Public),
    row("GET", "/docs/page.js", Access::Public),
    row("GET", "/.well-known/jwks.json", Access::Open),
    row("POST", "/v1/auth/register", Access::Door),
    row("POST", "/v1/auth/login", Access::Door),
    row("POST", "/v1/auth/mfa/verify", Access::Door),
    row("POST", "/v1/auth/refresh", Access::Door),
    row("POST", "/v1/auth/password/forgot", Access::Door),
    row("POST", "/v1/auth/password/reset", Access::Door),
    row("POST", "/v1/auth/verify-email", Access::Door),
    row("POST", "/v1/auth/verify-email/resend", OWN),
    row("GET", "/v1/csrf-token", OWN),
    row("POST", "/v1/auth/logout", OWN),
    row("GET", "/v1/auth/me", OWN_READ),
    row("PATCH", "/v1/auth/me", OWN),
    row("GET", "/v1/auth/sessions", OWN),
    row("DELETE", "/v1/auth/sessions", OWN),
    row("DELETE", "/v1/auth/sessions/{id}", OWN),
    row("POST", "/v1/auth/password/change", OWN),
    fresh_row("POST", "/v1/auth/mfa/totp", OWN),
    fresh_row("DELETE", "/v1/auth/mfa/totp", OWN),
    row("POST", "/v1/auth/mfa/totp/confirm", OWN),
    fresh_row("POST", "/v1/auth/mfa/recovery-codes", OWN),
    row("POST", "/v1/auth/step-up", OWN),
    row("GET", "/v1/api-keys", KEY_LIST),
    fresh_row("POST", "/v1/api-keys", KEYS),
    fresh_row("POST", "/v1/api-keys/{id}/rotate", KEYS),
    row("DELETE", "/v1/api-keys/{id}", KEYS),
    row("GET", "/v1/users", STAFF),
    fresh_row("POST", "/v1/users", ADMIN),
    fresh_row("PATCH", "/v1/users/{id}/roles", ADMIN),
    row("POST", "/v1/users/{id}/invitation", ADMIN),
    row("POST", "/v1/users/{id}/disable", ADMIN),
    row("POST", "/v1/users/{id}/enable", ADMIN),
    row("POST", "/v1/users/{id}/revoke-sessions", ADMIN),
    row("GET", "/v1/reports/cap-table", AUDIT),
    row("GET", "/v1/reports/distributions", AUDIT),
    row("GET", "/v1/reports/transactions", AUDIT),
    row("GET", "/v1/reports/tax", AUDIT),
    row("GET", "/v1/policies", STAFF),
    fresh_row("PUT", "/v1/policies", ADMIN),
    row("GET", "/v1/audit-log", AUDIT),
    row("GET", "/v1/audit-log/verify", AUDIT),
    row("GET", "/v1/audit-log/{line}/proof", AUDIT),
    row("GET", "/v1/offerings", OFFERING_LIST),
    row("POST", "/v1/offerings", OFFERING),
    row("GET", "/v1/webhooks/event-types", Access::Public),
    row("GET", "/v1/webhooks/endpoints", TOLD),
    row("POST", "/v1/webhooks/endpoints", TELLING),
    row("GET", "/v1/webhooks/endpoints/{id}", TOLD),
    row("PATCH", "/v1/webhooks/endpoints/{id}", TELLING),
    row("DELETE", "/v1/webhooks/endpoints/{id}", TELLING),
    row("POST", "/v1/webhooks/endpoints/{id}/rotate-secret", TELLING),
    row("GET", "/v1/events", TOLD),
    row("GET", "/v1/events/{id}", TOLD),
    row("GET", "/v1/offerings/{id}", Access::Public),
    row("PATCH", "/v1/offerings/{id}", OFFERING),
    row("POST", "/v1/offerings/{id}/submit", OFFERING),
    row("POST", "/v1/offerings/{id}/approve", PERSON),
    row("POST", "/v1/offerings/{id}/request-changes", PERSON),
    row("POST", "/v1/offerings/{id}/publish", OFFERING),
    row("POST", "/v1/offerings/{id}/pause", OFFERING),
    row("POST", "/v1/offerings/{id}/resume", OFFERING),
    row("POST", "/v1/offerings/{id}/close", OFFERING),
    row("POST", "/v1/offerings/{id}/cancel", OFFERING_END),
    row("POST", "/v1/offerings/{id}/archive", ARCHIVE),
    row("POST", "/v1/offerings/{id}/material-change", OFFERING),
    row("GET", "/v1/offerings/{id}/documents", Access::Public),
    row("POST", "/v1/offerings/{id}/documents", OFFERING),
    row("GET", "/v1/offerings/{id}/timeline", OFFERINGS),
    row("GET", "/v1/issuers", STAFF),
    row("GET", "/v1/issuers/{id}", ORGANISATION),
    row("POST", "/v1/issuers/{id}/approve", PERSON),
    row("POST", "/v1/issuers/{id}/suspend", PERSON),
    row("POST", "/v1/issuers/{id}/reinstate", PERSON),
    row("GET", "/v1/issuers/{id}/members", ORGANISATION),
    fresh_row("POST", "/v1/issuers/{id}/members", MEMBERS),
    fresh_row("DELETE", "/v1/issuers/{id}/members/{user_id}", MEMBERS),
    row("GET", "/v1/offerings/{id}/subscriptions", OFFERINGS),
    row("GET", "/v1/offerings/{id}/holders", OFFERINGS),
    row("POST", "/v1/offerings/{id}/subscribe", SUBSCRIBING),
    row("GET", "/v1/subscriptions", SUBSCRIPTIONS),
    row("GET", "/v1/subscriptions/{id}", SUBSCRIPTIONS),
    row("PATCH", "/v1/subscriptions/{id}", OWN_SUBSCRIPTIONS),
    row("POST", "/v1/subscriptions/{id}/cancel", WITHDRAWING),
    row("POST", "/v1/subscriptions/{id}/reconfirm", OWN_SUBSCRIPTIONS),
    row("POST", "/v1/subscriptions/{id}/payments", PAYMENTS),
    row("POST", "/v1/subscriptions/{id}/accept", TAKING),
    row("POST", "/v1/subscriptions/{id}/reject", TAKING),
    row("POST", "/v1/subscriptions/{id}/refund", PAYMENTS),
    row("GET", "/v1/offerings/{id}/token", Access::Public),
    row("GET", "/v1/offerings/{id}/token/can-transfer", TOKENS),
    row("GET", "/v1/offerings/{id}/token/balances/{address}", TOKENS),
    row("GET", "/v1/offerings/{id}/token/partitions/{partition}/restriction", Access::Public),
    row("GET", "/v1/offerings/{id}/token/frozen/{address}", TOKENS),
    row("GET", "/v1/investor/profile", INVESTOR),
    row("PATCH", "/v1/investor/profile", INVESTOR),
    row("POST", "/v1/investor/kyc", INVESTOR),
    row("GET", "/v1/investor/export", INVESTOR),
    row("GET", "/v1/investor/wallets", INVESTOR),
    row("POST", "/v1/investor/wallets", INVESTOR),
    row("POST", "/v1/investor/wallets/{id}/verify", INVESTOR),
    row("POST", "/v1/investor/wallets/{id}/default", INVESTOR),
    row("DELETE", "/v1/investor/wallets/{id}", INVESTOR),
    row("GET", "/v1/investors", INVESTORS),
    row("GET", "/v1/investors/{id}", INVESTORS),
    row("GET", "/v1/investors/{id}/portfolio", OWN_INVESTOR),
    row("POST", "/v1/investors/{id}/kyc/decision", IDENTITIES),
    row("POST", "/v1/investors/{id}/accreditation", IDENTITIES),
    row("POST", "/v1/investors/{id}/tax", PERSON),
    row("GET", "/v1/investors/{id}/documents", INVESTORS),
    row("POST", "/v1/investors/{id}/documents", PERSON),
    row("POST", "/v1/investors/{id}/suspend", IDENTITIES),
    row("POST", "/v1/investors/{id}/reinstate", IDENTITIES),
    fresh_row("POST", "/v1/investors/{id}/erase", PERSON),
    row("GET", "/v1/distributions", OWN_DISTRIBUTIONS),
    row("GET", "/v1/distributions/{id}", OWN_DISTRIBUTIONS),
    row("GET", "/v1/distributions/{id}/entitlements", ORG_DISTRIBUTIONS),
    row("GET", "/v1/distributions/{id}/report", DISTRIBUTIONS),
    row("POST", "/v1/distributions", DISTRIBUTING),
    row("POST", "/v1/distributions/{id}/snapshot", DISTRIBUTING),
    row("POST", "/v1/distributions/{id}/calculate", DISTRIBUTING),
    row("POST", "/v1/distributions/{id}/submit", DISTRIBUTING),
    row("POST", "/v1/distributions/{id}/execute", PERSON),
    row("POST", "/v1/distributions/{id}/cancel", DISTRIBUTING),
    row("POST", "/v1/distributions/{id}/reclaim", PERSON),
    row("POST", "/v1/distributions/{id}/reissue", PERSON),
    row("POST", "/v1/distributions/{id}/declare-audit", AUDITING),
    row("POST", "/v1/distributions/{id}/entitlements/{entitlement_id}/hold", PERSON),
    row("POST", "/v1/distributions/{id}/entitlements/{entitlement_id}/release", PERSON),
    row("POST", "/v1/distributions/{id}/entitlements/{entitlement_id}/exclude", PERSON),
    row("POST", "/v1/distributions/{id}/entitlements/{entitlement_id}/reissue", PERSON),
    row("GET", "/v1/approvals", APPROVALS),
    row("GET", "/v1/approvals/{id}", APPROVALS),
    fresh_row("POST", "/v1/approvals/{id}/approve", PERSON),
    fresh_row("POST", "/v1/approvals/{id}/api-key", ADMIN),
    row("POST", "/v1/approvals/{id}/reject", PERSON),
    row("POST", "/v1/approvals/{id}/cancel", OWN_APPROVAL),
    row("POST", "/blockchain/deploy-token", EXECUTION),
    row("POST", "/blockchain/trigger-mint", EXECUTION),
    row("POST", "/blockchain/freeze", FREEZE),
    row("POST", "/blockchain/unfreeze", PERSON),
    row("POST", "/blockchain/lock", PERSON),
    row("POST", "/blockchain/unlock", PERSON),
    row("POST", "/blockchain/restrict", PERSON),
    row("POST", "/blockchain/unrestrict", PERSON),
    fresh_row("POST", "/blockchain/force-transfer", PERSON),
    fresh_row("POST", "/blockchain/recover", PERSON),
    row("GET", "/blockchain/operations", OPERATIONS),
    row("GET", "/blockchain/operations/stats", OPERATIONS),
    row("GET", "/blockchain/operations/{id}", OPERATIONS),
    row("POST", "/blockchain/operations/bulk-retry", EXECUTION),
    row("POST", "/blockchain/operations/{id}/retry", EXECUTION),
    row("POST", "/blockchain/operations/{id}/reconcile", PERSON),
    row("POST", "/blockchain/operations/{id}/speed-up", EXECUTION),
    row("POST", "/blockchain/operations/{id}/cancel", EXECUTION),
    row("GET", "/blockchain/signers", OPERATIONS),
    row("POST", "/blockchain/signers/{id}/pause", EXECUTION),
    row("POST", "/blockchain/signers/{id}/resume", EXECUTION),
    row("GET", "/blockchain/reconciliation-runs", OPERATIONS),
    row("POST", "/blockchain/reconciliation-runs", EXECUTION),
    row("GET", "/blockchain/reconciliation-runs/{id}", OPERATIONS),
];

/// Every scope that a key may be given.
pub const SCOPES: &[&str] = &[
    "audit:read",
    "distributions:read",
    "distributions:write",
    "investors:read",
    "kyc:write",
    "me:read",
    "offerings:read",
    "offerings:write",
    "ops:freeze",
    "ops:read",
    "ops:write",
    "payments:write",
    "subscriptions:read",
    "subscriptions:write",
    "webhooks:write",
];

/// The row of a route.
pub fn of(method: &Method, path: &str) -> Option<&'static Permission> {
    PERMISSIONS.iter().find(|p| p.method == method.as_str() && p.path == path)
}

impl Permission {
    /// Whether passwords can be guessed or mails be caused here. The other doors ask for a token, a link or a code that cannot be guessed.
    pub fn takes_guesses(&self) -> bool {
        matches!(self.path, "/v1/auth/login" | "/v1/auth/register" | "/v1/auth/password/forgot")
    }

    /// Whether it is kept who has read this: everything that is known of a person.
    pub fn is_kept(&self) -> bool {
        self.method == "GET"
            && matches!(self.path, "/v1/investors/{id}" | "/v1/investors/{id}/documents" | "/v1/investor/export")
    }

    /// Whether an investor reads here what is theirs, and nothing that is counted over all investors.
    pub fn is_of_ones_own(&self) -> bool {
        let starts =
            ["/v1/subscriptions", "/v1/distributions", "/v1/investor/", "/v1/webhooks/endpoints", "/v1/events"];
        let own =
            starts.iter().any(|start| self.path.starts_with(start)) || self.path == "/v1/investors/{id}/portfolio";
        self.method == "GET" && own
    }

    /// Whether the configuration lets everybody in: it can open the list of what is offered, and nothing else.
    pub fn is_opened(&self, app: &App) -> bool {
        app.public_offering_list && (self.method, self.path) == ("GET", "/v1/offerings")
    }

    /// Whether this caller acts here for an organisation: a change that the person may not ask for but as an issuer. Who logs in and out acts
    /// for nobody else.
    pub fn acts_for_organisation(&self, principal: &Principal) -> bool {
        let (Access::Person { roles } | Access::Caller { roles, .. }) = self.access else { return false };
        let otherwise = principal.0.roles.list().iter().any(|role| *role != Role::Issuer && roles.contains(role));
        self.method != "GET" && !self.is_about_oneself() && principal.0.has_role(Role::Issuer) && !otherwise
    }

    /// Whether it is about how the caller comes in, and nothing else.
    fn is_about_oneself(&self) -> bool {
        self.path.starts_with("/v1/auth/") || self.path == "/v1/csrf-token"
    }

    /// Whether a known caller may pass.
    pub fn admit(&self, app: &App, principal: &Principal) -> Result<()> {
        let (roles, scope) = match self.access {
            Access::Open | Access::Door | Access::Public => return Ok(()),
            Access::Person { roles } => (roles, None),
            Access::Caller { roles, scope } => (roles, Some(scope)),
        };
        if !principal.0.roles.any_of(roles) {
            return Err(Problem::new(Code::RoleForbidden, format!("The role {} may not do this.", principal.0.roles)));
        }
        if !principal.0.is_person() && scope.is_none() {
            return Err(Problem::new(Code::RoleForbidden, "A person may do this, an API key may not."));
        }
        if let Some(scope) = scope.filter(|scope| !principal.0.has_scope(scope)) {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            let problem = Problem::new(Code::ScopeInsufficient, format!("The key needs the scope {scope}."));
            return Err(problem.with_authenticate(challenge));
        }
        // Whoever can move other people's money shows two things; until then only the second one can be added.
        let lacks = principal.0.session().is_some_and(|session| !session.has_second_factor());
        if app.auth.config.staff_second_factor && principal.is_staff() && lacks && !self.is_about_oneself() {
            let detail =
                "Staff needs a second factor: add one by POST /v1/auth/mfa/totp, and show it by POST /v1/auth/step-up.";
            return Err(Problem::new(Code::StepUpRequired, detail));
        }
        if self.step_up {
            principal.stepped_up(app)?;
        }
        Ok(())
    }
}

/// The scopes that somebody with these roles may give to a key: those of the rows that the roles open.
pub fn scopes_of(roles: &Roles) -> Vec<&'static str> {
    let opens = |scope: &&&str| {
        PERMISSIONS.iter().any(|p| {
            matches!(p.access, Access::Caller { roles: of, scope: needed }
                if needed == **scope && roles.any_of(of))
        })
    };
    SCOPES.iter().filter(opens).copied().collect()
}
