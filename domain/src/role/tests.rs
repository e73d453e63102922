//! Unit tests of `role.rs`.

use super::*;

#[test]
fn conflicting_roles_are_rejected_and_others_are_sorted() {
    assert_eq!("admin operator".parse::<Roles>().unwrap().to_string(), "operator admin");
    assert_eq!("investor issuer investor".parse::<Roles>().unwrap().to_string(), "investor issuer");
    for text in ["auditor admin", "auditor investor", "operator investor", "admin issuer", "", "king"] {
        assert!(text.parse::<Roles>().is_err(), "{text}");
    }
}
