//! Unit tests of `state.rs`.

use super::*;
use crate::state_table_test::cells;

#[test]
fn the_state_table_is_that_of_the_specification() {
    let allowed = cells(Status::ALL, Move::ALL, Status::next);
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
fn the_picture_in_the_architecture_is_this_table() {
    let architecture = include_str!("../../../../ARCHITECTURE.md");
    assert!(
        architecture.contains(&picture()),
        "ARCHITECTURE.md shows a different table; the correct one is:\n{}",
        picture()
    );
}
