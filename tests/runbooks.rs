//! The tables of error codes in `api/src/code` match the codes that the engine writes. `api/src/error_page/tests.rs` checks
//! the pages themselves.

use std::collections::BTreeSet;

use crate::source::{Source, rust};

const PROBLEMS: &str = "api/src/code/mod.rs";
const REASONS: &str = "api/src/code/reason.rs";

/// Code that precedes a code written by the engine.
const MARKS: &[&str] =
    &["code: \"", "Stage::Preflight, \"", "Blocked(\"", "Blocked(format!(\"", "Waits(\"", "LANE_FULL: &str = \""];

fn is_engine(source: &Source) -> bool {
    ["workflows/src/", "activities/src/", "domain/src/"].iter().any(|folder| source.path.starts_with(folder))
}

/// Returns the words that follow a mark, in code without its tests.
fn words(source: &Source, marks: &[&str]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for (_, line) in source.code() {
        for mark in marks {
            for (at, _) in line.match_indices(mark) {
                let rest = &line[at + mark.len()..];
                let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                let ends = rest[word.len()..].starts_with(['"', ':']);
                words.extend(Some(word).filter(|word| ends && !word.is_empty()));
            }
        }
    }
    words
}

fn file<'a>(sources: &'a [Source], path: &str) -> &'a Source {
    sources.iter().find(|source| source.path == path).unwrap_or_else(|| panic!("{path} is missing"))
}

/// The codes of both tables: of problems, and of operations.
fn tables(sources: &[Source]) -> (BTreeSet<String>, BTreeSet<String>) {
    let problems = words(file(sources, PROBLEMS), &[" = \""]);
    let reasons = words(file(sources, REASONS), &["BlockedReason \"", "ErrorCode \"", "Snapshot \""]);
    assert!(problems.len() > 60 && reasons.len() > 35, "the tables were not found");
    (problems, reasons)
}

#[test]
fn every_code_of_an_operation_is_in_the_table() {
    let sources = rust();
    let (problems, reasons) = tables(&sources);
    let mut used: BTreeSet<_> = sources.iter().filter(|s| is_engine(s)).flat_map(|s| words(s, MARKS)).collect();
    for path in ["activities/src/fault.rs", "activities/src/signer/policy.rs"] {
        used.extend(words(file(&sources, path), &["=> \""]));
    }
    assert!(used.len() > 20, "the codes of the engine were not found");
    let missing: Vec<_> = used.iter().filter(|code| !problems.contains(*code) && !reasons.contains(*code)).collect();
    assert!(missing.is_empty(), "add a row to {REASONS}: {missing:?}");
}

#[test]
fn every_row_of_the_tables_is_used() {
    let sources = rust();
    let (problems, reasons) = tables(&sources);
    let engine: String = sources.iter().filter(|s| is_engine(s)).map(|s| s.text.as_str()).collect();
    for code in reasons {
        // The mode of a lane follows `lane_`.
        let mode = code.strip_prefix("lane_").is_some_and(|mode| engine.contains(&format!("\"{mode}\"")));
        let is_used = engine.contains(&format!("\"{code}\"")) || engine.contains(&format!("\"{code}: ")) || mode;
        assert!(is_used, "no operation shows {code}: remove its row from {REASONS}");
    }
    let api = sources.iter().filter(|s| s.path.starts_with("api/src/") && s.path != PROBLEMS);
    let api: String = api.map(|s| s.text.as_str()).collect();
    for code in problems {
        let variant: String = code.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let is_used = api.contains(&format!("Code::{variant}")) || engine.contains(&format!("\"{code}\""));
        assert!(is_used, "no answer has the code {code}: remove its row from {PROBLEMS}");
    }
}
