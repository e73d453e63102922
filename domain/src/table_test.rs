//! What the tests of every table of states ask of it.

use std::fmt::Display;

/// Every move that a table allows, in the order of its words.
pub fn cells<S: Copy, M: Copy>(from: &[S], by: &[M], next: impl Fn(S, M) -> Option<S>) -> Vec<(S, M, S)> {
    let next = &next;
    from.iter().flat_map(|from| by.iter().filter_map(move |by| next(*from, *by).map(|to| (*from, *by, to)))).collect()
}

/// The CHECK of a column must list the same words as its enum, in the same order.
pub fn assert_checked(migration: &str, column: &str, words: &[impl Display]) {
    let flat = migration.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    let check = format!("check ({column} in ({words}))");
    assert!(flat.contains(&check), "no migration says {check}");
}
