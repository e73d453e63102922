//! Unit tests of `state.rs`.

use super::*;
use crate::state_table_test::cells;

#[test]
fn the_state_table_allows_exactly_these_moves() {
    use {Move as M, Status as S};
    let allowed = cells(S::ALL, M::ALL, S::next);
    let wanted = [
        (S::Draft, M::Snapshot, S::Snapshotting),
        (S::Draft, M::Cancel, S::Cancelled),
        (S::Snapshotting, M::StoreSnapshot, S::Snapshotted),
        (S::Snapshotting, M::Cancel, S::Cancelled),
        (S::Snapshotted, M::Calculate, S::Calculated),
        (S::Snapshotted, M::Cancel, S::Cancelled),
        (S::Calculated, M::RequestApproval, S::AwaitingApproval),
        (S::Calculated, M::Approve, S::Approved),
        (S::Calculated, M::Cancel, S::Cancelled),
        (S::AwaitingApproval, M::Approve, S::Approved),
        (S::AwaitingApproval, M::Revise, S::Calculated),
        (S::AwaitingApproval, M::Cancel, S::Cancelled),
        (S::Approved, M::Revise, S::Calculated),
        (S::Approved, M::Execute, S::Executing),
        (S::Approved, M::Cancel, S::Cancelled),
        (S::Executing, M::Complete, S::Completed),
        (S::Executing, M::CompletePartly, S::PartiallyCompleted),
        (S::PartiallyCompleted, M::Complete, S::Completed),
        (S::PartiallyCompleted, M::Resume, S::Executing),
    ];
    assert_eq!(allowed, wanted);
}
