//! Shared checks for the tests of state tables.

use std::fmt::Display;

/// All moves that a state table allows, in declaration order.
pub fn cells<S: Copy, M: Copy>(from: &[S], by: &[M], next: impl Fn(S, M) -> Option<S>) -> Vec<(S, M, S)> {
    let next = &next;
    from.iter().flat_map(|from| by.iter().filter_map(move |by| next(*from, *by).map(|to| (*from, *by, to)))).collect()
}

/// Checks that the CHECK of a column lists the same words as its enum, in the same order.
pub fn assert_checked(migration: &str, column: &str, words: &[impl Display]) {
    let flat = migration.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    let check = format!("check ({column} in ({words}))");
    assert!(flat.contains(&check), "the migration lacks {check}");
}
