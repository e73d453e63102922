//! Every code that an operation or an answer can show has a page in `ops/runbooks`, and every page a code.

use std::collections::BTreeSet;

use crate::source::{Source, rust};

const MODULES: &[&str] = &["workflows/src/", "activities/src/policy.rs", "activities/src/fault.rs", "api/src/code.rs"];

/// Words in the places where codes stand: after `code:`, as the second argument of a refusal, before the colon of a reason, in a table.
fn codes(source: &Source) -> Vec<String> {
    let after = [
        "code: \"",
        "Stage::Preflight, \"",
        "format!(\"",
        "=> \"",
        "= \"",
        "Blocked(\"",
        "Err(\"",
        "-> \"",
        "LANE_FULL: &str = \"",
    ];
    let mut found = Vec::new();
    for line in source.text.lines().take_while(|line| !line.contains("#[cfg(test)]")) {
        for marker in after {
            for (at, _) in line.match_indices(marker) {
                let rest = &line[at + marker.len()..];
                let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                found.push(word);
            }
        }
    }
    found
}

fn pages() -> BTreeSet<String> {
    let folder = std::fs::read_dir(world::repository().join("ops/runbooks")).expect("ops/runbooks is there");
    let names = folder.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "README.md").filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect()
}

#[test]
fn every_code_has_its_page() {
    let pages = pages();
    let sources: Vec<_> = rust().into_iter().filter(|s| MODULES.iter().any(|m| s.path.starts_with(m))).collect();
    let exact =
        |code: &str, path: &str| sources.iter().any(|s| s.path == path && s.text.contains(&format!("\"{code}\"")));
    let api: Vec<_> = sources.iter().find(|s| s.path == "api/src/code.rs").map(codes).unwrap_or_default();
    let spoken: BTreeSet<String> = sources.iter().flat_map(codes).collect();
    for code in api.iter().filter(|c| exact(c, "api/src/code.rs")) {
        assert!(pages.contains(code), "ops/runbooks/{code}.md is missing");
    }
    for path in ["activities/src/policy.rs", "activities/src/fault.rs"] {
        for code in spoken.iter().filter(|c| exact(c, path)) {
            assert!(pages.contains(code), "ops/runbooks/{code}.md is missing ({path})");
        }
    }
    for source in sources.iter().filter(|s| s.path.starts_with("workflows/")) {
        for line in source.text.lines().filter(|l| l.contains("code: \"") || l.contains("Failure::refuse(Stage::")) {
            for code in codes(&Source { path: source.path.clone(), text: line.to_owned() }) {
                assert!(
                    code.is_empty() || pages.contains(&code),
                    "ops/runbooks/{code}.md is missing ({})",
                    source.path
                );
            }
        }
    }
}

#[test]
fn every_page_belongs_to_a_code() {
    let text: String = rust().into_iter().filter(|s| !s.path.starts_with("tests/")).map(|s| s.text).collect();
    for page in pages() {
        let lane = page.strip_prefix("lane_").is_some_and(|mode| text.contains(&format!("\"{mode}\"")));
        let known = text.contains(&format!("\"{page}\"")) || text.contains(&format!("\"{page}: ")) || lane;
        assert!(known, "ops/runbooks/{page}.md describes a code that nothing shows");
    }
}
