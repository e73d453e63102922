//! Unit tests of `state.rs`.

use super::*;
use crate::state_table_test::cells;

#[test]
fn the_state_table_allows_exactly_these_moves() {
    use {Move as M, Status as S};
    let allowed = cells(S::ALL, M::ALL, S::next);
    let wanted = [
        (S::Calculated, M::Hold, S::Held),
        (S::Calculated, M::Exclude, S::Excluded),
        (S::Calculated, M::Queue, S::Queued),
        (S::Held, M::Release, S::Calculated),
        (S::Held, M::Exclude, S::Excluded),
        (S::Held, M::Queue, S::Queued),
        (S::Queued, M::Hold, S::Held),
        (S::Queued, M::Pay, S::Paid),
        (S::Queued, M::Withhold, S::Held),
        (S::Queued, M::Fail, S::Failed),
        (S::Failed, M::Exclude, S::Excluded),
        (S::Failed, M::Queue, S::Queued),
    ];
    assert_eq!(allowed, wanted);
}
