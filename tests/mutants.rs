//! The list of mutants beside the engine as it is now: `tests/mutants/run` removes one line after the other, and each must be found.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Mutants that an earlier form of the tests let live.
const ONCE_ALIVE: [&str; 6] = [
    "block_hash_ignored",
    "bump_too_small",
    "unknown_market_gives_up",
    "lane_counter_not_compared",
    "step_guard_dropped",
    "operation_version_dropped",
];
const MUTANTS_MIN: usize = 25;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/mutants"))
}

#[test]
fn every_mutant_finds_its_line_exactly_once() {
    let checked = Command::new(folder().join("run")).arg("--check").output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn the_mutants_that_once_survived_are_on_the_list() {
    let list = std::fs::read_to_string(folder().join("list.txt")).unwrap();
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mutants: Vec<&str> = lines.filter_map(|line| line.split(" | ").next()).collect();
    let names: BTreeSet<&str> = mutants.iter().copied().collect();
    assert!(names.len() == mutants.len() && names.len() >= MUTANTS_MIN, "{} of {}", names.len(), mutants.len());
    for name in ONCE_ALIVE {
        assert!(names.contains(name), "{name}");
    }
}
