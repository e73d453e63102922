//! What holds of the permission table as a whole.

use muniment_domain::user::{Role, Roles};

use crate::permission::{Access, PERMISSIONS, Permission, SCOPES, scopes_of};
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
fn an_auditor_changes_nothing_but_his_own_account_and_every_scope_is_listed() {
    for permission in PERMISSIONS {
        let own = permission.path.starts_with("/v1/auth/");
        let roles = match permission.access {
            Access::Caller { roles, scope } => {
                assert!(SCOPES.contains(&scope), "{scope}");
                roles
            }
            Access::Person { roles } => roles,
            Access::Open | Access::Door | Access::Public => &[],
        };
        assert!(permission.method == "GET" || own || !roles.contains(&Role::Auditor), "{}", permission.path);
    }
}

#[test]
fn only_a_door_and_nothing_else_is_changed_without_a_token() {
    for permission in PERMISSIONS {
        let free = matches!(permission.access, Access::Open | Access::Public);
        assert!(permission.method == "GET" || !free, "{}", permission.path);
        assert!(permission.access != Access::Door || permission.path.starts_with("/v1/auth/"), "{}", permission.path);
    }
}

#[test]
fn who_must_show_again_who_they_are_is_a_person() {
    let fresh: Vec<_> = PERMISSIONS.iter().filter(|permission| permission.step_up).collect();
    assert!(fresh.len() > 5 && fresh.iter().all(|permission| matches!(permission.access, Access::Person { .. })));
}

#[test]
fn no_scope_of_a_key_opens_what_takes_a_persons_word() {
    let moves = ["execute", "hold", "release", "exclude", "reissue", "unfreeze", "lock", "unlock", "restrict"];
    let rest = ["reclaim", "unrestrict", "force-transfer", "recover", "reconcile"];
    let words = ["approvals/{id}/approve", "approvals/{id}/reject", "approvals/{id}/cancel"];
    for verb in moves.iter().chain(&rest).chain(&words) {
        let named = |p: &&Permission| p.method == "POST" && p.path.ends_with(&format!("/{verb}"));
        let rows: Vec<_> = PERMISSIONS.iter().filter(named).collect();
        assert!(!rows.is_empty(), "{verb} is no route");
        for row in rows {
            assert!(matches!(row.access, Access::Person { .. }), "a key may ask for {}", row.path);
        }
    }
}

#[test]
fn a_key_can_be_given_what_its_owner_may_and_no_more() {
    let investor = scopes_of(&Roles::only(Role::Investor));
    assert!(investor.contains(&"me:read") && !investor.iter().any(|scope| scope.starts_with("ops:")), "{investor:?}");
    assert!(scopes_of(&Roles::only(Role::Operator)).contains(&"ops:write"));
    assert!(!scopes_of(&Roles::only(Role::Auditor)).contains(&"ops:write"));
}
