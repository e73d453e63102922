//! What happened in a seed, to find the cause of a failure.

use std::sync::{Mutex, PoisonError};

/// How many of the last moves a failure shows.
const SHOWN: usize = 60;

/// The moves of a seed.
#[derive(Default)]
pub struct Trace(Mutex<Vec<String>>);

impl Trace {
    pub fn note(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// The last moves, or all of them.
    pub fn text(&self, all: bool) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = if all { 0 } else { lines.len().saturating_sub(SHOWN) };
        let numbered = lines.iter().enumerate().skip(skipped).map(|(n, line)| format!("{n:>4}  {line}"));
        numbered.collect::<Vec<_>>().join("\n")
    }
}
