//! Unit tests of `state.rs`.

use super::*;
use crate::state_table_test::cells;

#[test]
fn the_state_table_allows_exactly_these_moves() {
    use {Move as M, Status as S};
    let allowed = cells(S::ALL, M::ALL, S::next);
    let wanted = [
        (S::NotStarted, M::Submit, S::Pending),
        (S::Pending, M::StartReview, S::InReview),
        (S::Pending, M::Approve, S::Approved),
        (S::Pending, M::Reject, S::Rejected),
        (S::Pending, M::NeedsInformation, S::NeedsInformation),
        (S::InReview, M::Approve, S::Approved),
        (S::InReview, M::Reject, S::Rejected),
        (S::InReview, M::NeedsInformation, S::NeedsInformation),
        (S::NeedsInformation, M::Submit, S::Pending),
        (S::Approved, M::Renew, S::Approved),
        (S::Approved, M::Expire, S::Expired),
        (S::Approved, M::Suspend, S::Suspended),
        (S::Rejected, M::Submit, S::Pending),
        (S::Rejected, M::Reset, S::NotStarted),
        (S::Expired, M::Submit, S::Pending),
        (S::Expired, M::Suspend, S::Suspended),
        (S::Suspended, M::Suspend, S::Suspended),
        (S::Suspended, M::Reinstate, S::Approved),
    ];
    assert_eq!(allowed, wanted);
}
