//! What is promised of `state.rs`.

use super::*;

#[test]
fn every_cell_of_the_table_is_as_it_was_designed() {
    use {Move as M, Status as S};
    let allowed: Vec<_> = S::ALL
        .iter()
        .flat_map(|from| M::ALL.iter().filter_map(|by| from.next(*by).map(|to| (*from, *by, to))))
        .collect();
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

#[test]
fn the_migration_checks_the_same_words() {
    let migration = include_str!("../../../../migrations/0014_distribution.sql");
    let flat: String = migration.split_whitespace().collect::<Vec<_>>().join(" ");
    let listed = |words: Vec<&str>| words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(", ");
    let statuses = listed(Status::ALL.iter().map(|s| s.as_str()).collect());
    let reasons = listed(HoldReason::ALL.iter().map(|s| s.as_str()).collect());
    assert!(flat.contains(&format!("check (status in ({statuses}))")), "the CHECK differs from Status");
    assert!(flat.contains(&format!("check (hold_reason in ({reasons}))")), "the CHECK differs from HoldReason");
}
