//! The pages of the console: one row each. The navigation, the keys and the roles come from here.

use muniment_domain::user::Role;

/// One page.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its address.
    pub path: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The symbol of `pages/icons.html`.
    pub icon: &'static str,
    /// The key that opens it after `g`.
    pub key: char,
    /// The roles that see it. The API decides what they may read and do there.
    pub roles: &'static [Role],
    /// The group in the list.
    pub group: usize,
}

/// Those who act on operations.
pub const OPERATORS: &[Role] = &[Role::Operator, Role::Admin];
/// Those who look after the platform.
pub const STAFF: &[Role] = &[Role::Operator, Role::Admin, Role::Auditor];
/// Staff and the people of issuers.
pub const EVERYBODY: &[Role] = &[Role::Issuer, Role::Operator, Role::Admin, Role::Auditor];

/// The statuses of an identity check that a reviewer decides on next.
pub const REVIEWS: &str = "pending,in_review";

/// Those who see API keys.
const KEEPERS: &[Role] = &[Role::Issuer, Role::Admin, Role::Auditor];

/// Every page, in the order of the list.
pub const ENTRIES: &[Entry] = &[
    Entry { path: "/console", name: "Overview", icon: "grid", key: 'o', roles: EVERYBODY, group: 0 },
    Entry { path: "/console/operations", name: "Operations", icon: "list", key: 'j', roles: STAFF, group: 0 },
    Entry { path: "/console/approvals", name: "Approvals", icon: "two", key: 'a', roles: EVERYBODY, group: 0 },
    Entry { path: "/console/signers", name: "Signers", icon: "key", key: 'n', roles: STAFF, group: 0 },
    Entry { path: "/console/offerings", name: "Offerings", icon: "house", key: 'f', roles: EVERYBODY, group: 1 },
    Entry {
        path: "/console/distributions",
        name: "Distributions",
        icon: "split",
        key: 'y',
        roles: EVERYBODY,
        group: 1,
    },
    Entry { path: "/console/investors", name: "Investors", icon: "id", key: 'k', roles: STAFF, group: 1 },
    Entry { path: "/console/webhooks", name: "Webhooks", icon: "hook", key: 'w', roles: EVERYBODY, group: 2 },
    Entry { path: "/console/reconciliation", name: "Reconciliation", icon: "scale", key: 'r', roles: STAFF, group: 2 },
    Entry { path: "/console/audit", name: "Audit log", icon: "book", key: 'u', roles: STAFF, group: 2 },
    Entry { path: "/console/queue", name: "Queue", icon: "stack", key: 'q', roles: STAFF, group: 2 },
    Entry { path: "/console/users", name: "Users", icon: "person", key: 'p', roles: STAFF, group: 2 },
    Entry { path: "/console/keys", name: "API keys", icon: "key", key: 'i', roles: KEEPERS, group: 2 },
    Entry { path: "/console/settings", name: "Settings", icon: "sliders", key: 's', roles: STAFF, group: 2 },
];
