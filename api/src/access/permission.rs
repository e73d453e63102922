//! Who may call an endpoint. Each row of `routes()` names one of these.

use muniment_domain::user::{Role, Roles};

/// The access of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, and nothing is looked at.
    Open,
    /// No token: the body has the credentials. Login endpoints use it.
    Door,
    /// Nothing; a token that is shown must be valid and may see more.
    Public,
    /// A session of a user with one of these roles. No API key.
    Person {
        /// The roles.
        roles: &'static [Role],
    },
    /// A session of a user with one of these roles, or such a user's API key with this scope.
    Caller {
        /// The roles.
        roles: &'static [Role],
        /// The scope that an API key needs.
        scope: &'static str,
    },
}

const READERS: &[Role] = &[Role::Operator, Role::Admin, Role::Auditor];
const INVESTORS_TOO: &[Role] = &[Role::Investor, Role::Operator, Role::Admin, Role::Auditor];
const ISSUERS_TOO: &[Role] = &[Role::Issuer, Role::Operator, Role::Admin, Role::Auditor];
const ALL_BUT_AUDITORS: &[Role] = &[Role::Investor, Role::Issuer, Role::Operator, Role::Admin];
const OPERATORS: &[Role] = &[Role::Operator, Role::Admin];
const ORGANISERS: &[Role] = &[Role::Issuer, Role::Operator, Role::Admin];

pub const STAFF: Access = Access::Person { roles: READERS };
pub const ADMIN: Access = Access::Person { roles: &[Role::Admin] };
pub const KEYS: Access = Access::Person { roles: &[Role::Issuer, Role::Admin] };
pub const KEY_LIST: Access = Access::Person { roles: &[Role::Issuer, Role::Admin, Role::Auditor] };
pub const OWN: Access = Access::Person { roles: Role::ALL };
pub const OWN_READ: Access = Access::Caller { roles: Role::ALL, scope: "me:read" };
/// Every user may read their own events.
pub const TOLD: Access = Access::Caller { roles: Role::ALL, scope: "webhooks:write" };
pub const TELLING: Access = Access::Caller { roles: ALL_BUT_AUDITORS, scope: "webhooks:write" };
pub const AUDIT: Access = Access::Caller { roles: READERS, scope: "audit:read" };
pub const OFFERING_LIST: Access = Access::Caller { roles: Role::ALL, scope: "offerings:read" };
pub const OFFERINGS: Access = Access::Caller { roles: ISSUERS_TOO, scope: "offerings:read" };
pub const OFFERING: Access = Access::Caller { roles: ORGANISERS, scope: "offerings:write" };
/// Requests of issuers that a second person decides. Not for API keys.
pub const OFFERING_END: Access = Access::Person { roles: ORGANISERS };
pub const ARCHIVE: Access = Access::Caller { roles: OPERATORS, scope: "offerings:write" };
/// Staff sees what waits, an issuer what he asked for himself. A key neither reads nor decides.
pub const APPROVALS: Access = Access::Person { roles: ISSUERS_TOO };
pub const OWN_APPROVAL: Access = Access::Person { roles: ORGANISERS };
/// Staff see every issuer, members see their own. API keys cannot see or change members.
pub const ORGANISATION: Access = Access::Person { roles: ISSUERS_TOO };
pub const MEMBERS: Access = Access::Person { roles: ORGANISERS };
/// Not for operators: who invites a member could request as that member, and approve as operator. Admins help an issuer whose members left.
pub const INVITING: Access = Access::Person { roles: &[Role::Issuer, Role::Admin] };
pub const OPERATIONS: Access = Access::Caller { roles: READERS, scope: "ops:read" };
pub const EXECUTION: Access = Access::Caller { roles: OPERATORS, scope: "ops:write" };
/// Actions for users only, never API keys: payouts and actions of two people.
pub const PERSON: Access = Access::Person { roles: OPERATORS };
pub const FREEZE: Access = Access::Caller { roles: OPERATORS, scope: "ops:freeze" };
pub const DISTRIBUTIONS: Access = Access::Caller { roles: READERS, scope: "distributions:read" };
pub const OWN_DISTRIBUTIONS: Access = Access::Caller { roles: INVOLVED, scope: "distributions:read" };
pub const ORG_DISTRIBUTIONS: Access = Access::Caller { roles: ISSUERS_TOO, scope: "distributions:read" };
pub const DISTRIBUTING: Access = Access::Caller { roles: ORGANISERS, scope: "distributions:write" };
pub const AUDITING: Access = Access::Caller { roles: OPERATORS, scope: "distributions:write" };

const INVOLVED: &[Role] = &[Role::Investor, Role::Issuer, Role::Operator, Role::Admin, Role::Auditor];
pub const SUBSCRIPTIONS: Access = Access::Caller { roles: INVOLVED, scope: "subscriptions:read" };
pub const SUBSCRIBING: Access =
    Access::Caller { roles: &[Role::Investor, Role::Operator], scope: "subscriptions:write" };
pub const WITHDRAWING: Access =
    Access::Caller { roles: &[Role::Investor, Role::Operator, Role::Admin], scope: "subscriptions:write" };
pub const OWN_SUBSCRIPTIONS: Access = Access::Caller { roles: &[Role::Investor], scope: "subscriptions:write" };
pub const TAKING: Access =
    Access::Caller { roles: &[Role::Issuer, Role::Operator, Role::Admin], scope: "payments:write" };
pub const PAYMENTS: Access = Access::Caller { roles: OPERATORS, scope: "payments:write" };
pub const INVESTOR: Access = Access::Person { roles: &[Role::Investor] };
pub const INVESTORS: Access = Access::Caller { roles: READERS, scope: "investors:read" };
pub const OWN_INVESTOR: Access = Access::Caller { roles: INVESTORS_TOO, scope: "investors:read" };
pub const TOKENS: Access = Access::Caller { roles: Role::ALL, scope: "offerings:read" };
pub const IDENTITIES: Access = Access::Caller { roles: OPERATORS, scope: "kyc:write" };

/// Every access that an API key can have. A test compares it with the rows of all endpoints.
pub const KEY_ACCESS: &[Access] = &[
    OWN_READ,
    TOLD,
    TELLING,
    AUDIT,
    OFFERING_LIST,
    OFFERINGS,
    OFFERING,
    ARCHIVE,
    OPERATIONS,
    EXECUTION,
    FREEZE,
    DISTRIBUTIONS,
    OWN_DISTRIBUTIONS,
    ORG_DISTRIBUTIONS,
    DISTRIBUTING,
    AUDITING,
    SUBSCRIPTIONS,
    SUBSCRIBING,
    WITHDRAWING,
    OWN_SUBSCRIPTIONS,
    TAKING,
    PAYMENTS,
    INVESTORS,
    OWN_INVESTOR,
    TOKENS,
    IDENTITIES,
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

/// The scopes that these roles may give to a key: the scopes of their endpoints.
pub fn scopes_of(roles: &Roles) -> Vec<&'static str> {
    let opens = |scope: &str| {
        KEY_ACCESS.iter().any(|access| {
            matches!(access, Access::Caller { roles: of, scope: needed } if *needed == scope && roles.any_of(of))
        })
    };
    SCOPES.iter().copied().filter(|scope| opens(scope)).collect()
}
