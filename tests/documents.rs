//! The documents name files that exist, and ARCHITECTURE.md stays short enough to be read at once.

use std::collections::BTreeSet;

use crate::source::{Source, everything, must_be_clean};

const ARCHITECTURE_LINES_MAX: usize = 250;
/// The changelog names files of the past. The pages of errors and the diagram are generated.
const SKIPPED: &[&str] = &["CHANGELOG.md", "migrations/schema.md"];
const FILE_ENDINGS: &[&str] = &[".rs", ".sql", ".md", ".toml", ".sol"];
const CRATES: &[&str] = &["api", "workflows", "activities", "domain"];

/// The documents that describe the repository.
fn documents(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| {
        let readme = !source.path.contains('/') || source.path.ends_with("/README.md");
        source.has_extension(&["md"]) && readme && !SKIPPED.contains(&source.path.as_str())
    })
}

/// The paths in backticks, without a `::function` behind them. A placeholder or a pattern is not a path.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let paths = quoted.map(|word| word.split_once("::").map_or(word, |(path, _)| path));
    paths.filter(|path| {
        let is_path = path.ends_with('/') || FILE_ENDINGS.iter().any(|ending| path.ends_with(ending));
        path.contains('/') && is_path && !path.starts_with('/') && !path.contains(['<', '*', '{', ' ', ':'])
    })
}

/// Every file and every folder; a folder ends with a slash.
fn existing(sources: &[Source]) -> BTreeSet<&str> {
    let folders = |path| str::match_indices(path, '/').map(move |(at, _)| &path[..=at]);
    sources.iter().flat_map(|source| folders(source.path.as_str()).chain([source.path.as_str()])).collect()
}

/// A path starts at the root, at the document's folder, or at the `src` of that folder. A document of the root may leave out `<crate>/src/`.
fn missing_paths(sources: &[Source]) -> Vec<String> {
    let existing = existing(sources);
    let mut findings = Vec::new();
    for document in documents(sources) {
        let home = document.path.rsplit_once('/').map(|(home, _)| home);
        let homes = home.map_or_else(|| CRATES.to_vec(), |home| vec![home]);
        let exists = |path: &str| {
            let at_home = |home: &&str| {
                existing.contains(format!("{home}/{path}").as_str())
                    || existing.contains(format!("{home}/src/{path}").as_str())
            };
            existing.contains(path) || homes.iter().any(at_home)
        };
        let missing = named_paths(&document.text).filter(|path| !exists(path));
        findings.extend(missing.map(|path| format!("{}: `{path}` does not exist", document.path)));
    }
    findings
}

fn long_architecture(sources: &[Source]) -> Option<String> {
    let text = &sources.iter().find(|source| source.path == "ARCHITECTURE.md")?.text;
    let lines = text.lines().count();
    (lines > ARCHITECTURE_LINES_MAX)
        .then(|| format!("ARCHITECTURE.md: {lines} lines, at most {ARCHITECTURE_LINES_MAX}"))
}

#[test]
fn documents_name_files_that_exist() {
    let sources = everything();
    assert!(documents(&sources).count() > 8, "the documents were not found");
    must_be_clean("paths in documents", &missing_paths(&sources));
}

#[test]
fn architecture_is_short() {
    let sources = everything();
    assert!(sources.iter().any(|source| source.path == "ARCHITECTURE.md"), "ARCHITECTURE.md was not found");
    must_be_clean("the architecture document", &Vec::from_iter(long_architecture(&sources)));
}

#[test]
fn these_checks_can_fail() {
    let mint = || Source::new("workflows/src/token/mint.rs", "");
    let missing = |path: &str, text: &str| missing_paths(&[mint(), Source::new(path, text)]).len();
    assert_eq!(missing("README.md", "`workflows/src/token/` and `workflows/src/token/mint.rs::request`"), 0);
    assert_eq!(missing("README.md", "`token/mint.rs`, `<noun>/mint.rs`, `/errors/` and no/path.rs"), 0);
    assert_eq!(missing("README.md", "`token/mint.rs` and `token/burn.rs`, then `burn/`"), 2);
    assert_eq!(missing("workflows/README.md", "`token/mint.rs` and `src/token/`"), 0);
    assert_eq!(missing("domain/README.md", "`token/mint.rs` and `tokens/`"), 2);
    assert_eq!(missing("CHANGELOG.md", "`token/burn.rs`"), 0);
    let lines = |lines: usize| [Source::new("ARCHITECTURE.md", &"x\n".repeat(lines))];
    assert!(long_architecture(&lines(250)).is_none());
    assert!(long_architecture(&lines(251)).is_some());
}
