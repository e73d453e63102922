//! The moves of a state table, for its tests.

/// All moves that a state table allows, in declaration order.
pub fn cells<S: Copy, M: Copy>(from: &[S], by: &[M], next: impl Fn(S, M) -> Option<S>) -> Vec<(S, M, S)> {
    let next = &next;
    from.iter().flat_map(|from| by.iter().filter_map(move |by| next(*from, *by).map(|to| (*from, *by, to)))).collect()
}
