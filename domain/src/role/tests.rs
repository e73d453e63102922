//! What is promised of `role.rs`.

use super::*;

#[test]
fn roles_that_exclude_each_other_are_refused_and_the_others_stand_in_order() {
    assert_eq!("admin operator".parse::<Roles>().unwrap().to_string(), "operator admin");
    assert_eq!("investor issuer investor".parse::<Roles>().unwrap().to_string(), "investor issuer");
    for text in ["auditor admin", "auditor investor", "operator investor", "admin issuer", "", "king"] {
        assert!(text.parse::<Roles>().is_err(), "{text}");
    }
}
