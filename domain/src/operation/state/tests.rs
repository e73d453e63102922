//! What is promised of `state.rs`.

use super::*;

#[test]
fn every_cell_of_the_table_is_as_the_specification_says() {
    let allowed: Vec<_> = Status::ALL
        .iter()
        .flat_map(|from| Move::ALL.iter().filter_map(move |by| from.next(*by).map(|to| (*from, *by, to))))
        .collect();
    use {Move as M, Status as S};
    assert_eq!(
        allowed,
        [
            (S::Pending, M::Sign, S::Submitted),
            (S::Pending, M::Adopt, S::Submitted),
            (S::Pending, M::Fail, S::Failed),
            (S::Pending, M::GiveUp, S::DeadLetter),
            (S::Submitted, M::Confirm, S::Confirmed),
            (S::Submitted, M::Fail, S::Failed),
            (S::Submitted, M::GiveUp, S::DeadLetter),
            (S::Failed, M::Retry, S::Pending),
            (S::Failed, M::MarkConfirmed, S::Confirmed),
            (S::DeadLetter, M::Retry, S::Pending),
            (S::DeadLetter, M::MarkConfirmed, S::Confirmed),
        ]
    );
}

#[test]
fn the_migration_checks_the_same_words() {
    let migration = include_str!("../../../../migrations/0003_operation.sql");
    let words: Vec<_> = Status::ALL.iter().map(|s| format!("'{s}'")).collect();
    assert!(migration.contains(&format!("check (status in ({}))", words.join(", "))), "the CHECK differs from Status");
}

#[test]
fn the_picture_in_the_architecture_is_this_table() {
    let architecture = include_str!("../../../../ARCHITECTURE.md");
    assert!(architecture.contains(&picture()), "ARCHITECTURE.md shows another table; the right one is:\n{}", picture());
}
