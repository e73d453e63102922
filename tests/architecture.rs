//! Layout rules: which crate may depend on which, and which crate alone may use a word.
//!
//! A new dependency or exception is a change to one of the tables below, and is argued there.

use std::collections::BTreeMap;

use crate::source::{Source, everything, manifests, must_be_clean, rust};

/// Allowed dependencies between crates. Programs around the four crates may use more.
const ARROWS: &[(&str, &[&str])] = &[
    ("muniment-domain", &[]),
    ("muniment-activities", &[]),
    ("muniment-workflows", &["muniment-activities", "muniment-domain"]),
    ("muniment-api", &["muniment-workflows", "muniment-activities", "muniment-domain", "muniment-devchain"]),
    ("muniment-devchain", &[]),
    ("muniment-tests", EVERYONE),
    ("muniment-model", &[]),
    // It boots installations with the same library as the tests.
    (
        "muniment-bench",
        &["muniment-domain", "muniment-activities", "muniment-workflows", "muniment-devchain", "muniment-tests"],
    ),
];

const EVERYONE: &[&str] =
    &["muniment-domain", "muniment-activities", "muniment-workflows", "muniment-api", "muniment-devchain"];

/// Dependencies that only some crates may use; a trailing star stands for a family. Tests and bench may use all.
const ONLY: &[(&str, &[&str])] = &[
    // The devchain has a JSON-RPC server of its own and shares nothing with the REST API.
    ("askama", &["muniment-api"]),
    ("axum*", &["muniment-api", "muniment-devchain"]),
    ("apalis*", &["muniment-workflows"]),
    ("backoff", &["muniment-workflows"]),
    // The queue inserts wakes in the domain's transaction, so it names the transaction's type.
    ("sqlx*", &["muniment-domain", "muniment-workflows"]),
    ("alloy", &["muniment-activities", "muniment-devchain"]),
    ("alloy-signer*", &["muniment-activities"]),
    ("alloy-provider", &["muniment-activities"]),
    ("clap", &["muniment-api"]),
    ("reqwest", &["muniment-activities"]),
    ("ring", &["muniment-api"]),
    ("rustls", &["muniment-activities"]),
    // The devchain recovers senders with it.
    ("secp256k1", &["muniment-activities", "muniment-devchain"]),
    ("zxcvbn", &["muniment-api"]),
    ("revm*", &["muniment-devchain"]),
];

/// Words that only one place may use in code, with the reason.
const WORDS: &[(&str, &[&str], &str)] = &[
    ("sqlx::query", &["domain/src/", "workflows/src/engine/queue"], "only the domain holds SQL"),
    ("domain::sql", &["domain/src/", "workflows/src/engine/queue"], "only the domain holds SQL"),
    ("ExponentialBackoff", &["workflows/src/engine/backoff"], "backoff is a calculator in one file"),
    ("nonce too low", &["activities/src/rpc/classify", "ops/devchain/src/"], "RPC text is read in one file"),
    ("replacement transaction underpriced", &["activities/src/rpc/classify", "ops/devchain/src/"], "as above"),
    ("eth_sendRawTransaction", &["activities/src/", "ops/devchain/src/"], "only activities speaks to a node"),
    ("PrivateKeySigner", &["activities/src/", "ops/devchain/"], "only activities holds a key"),
    ("SecretKey", &["activities/src/signer/"], "only the signer does, behind the policy gate"),
];

/// Programs around the four crates, which may use every word.
const AROUND: &[&str] = &["tests/", "ops/bench/"];

type Manifests = BTreeMap<String, toml::Table>;

/// Returns every dependency of a package, of all kinds and targets.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut names = Vec::new();
    let mut tables = vec![manifest];
    let targets = manifest.get("target").and_then(|targets| targets.as_table());
    tables.extend(targets.into_iter().flat_map(|targets| targets.values().filter_map(|target| target.as_table())));
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(list) = table.get(kind).and_then(|list| list.as_table()) else { continue };
            // A renamed dependency counts under its real name.
            let real = |(name, entry): (&String, &toml::Value)| {
                entry.get("package").and_then(|package| package.as_str()).unwrap_or(name).to_owned()
            };
            names.extend(list.iter().map(real));
        }
    }
    names
}

fn wrong_arrows(manifests: &Manifests) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, manifest) in manifests {
        let Some((_, allowed)) = ARROWS.iter().find(|(member, _)| member == name) else {
            findings.push(format!("{name} is a new crate: give it its arrows here"));
            continue;
        };
        let ours = dependencies(manifest).into_iter().filter(|dependency| dependency.starts_with("muniment-"));
        let wrong = ours.filter(|dependency| !allowed.contains(&dependency.as_str()));
        findings.extend(wrong.map(|dependency| format!("{name} may not know {dependency}")));
    }
    findings
}

fn misplaced_dependencies(manifests: &Manifests) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, manifest) in
        manifests.iter().filter(|(name, _)| !["muniment-tests", "muniment-bench"].contains(&name.as_str()))
    {
        for dependency in dependencies(manifest) {
            let belongs = |pattern: &str| match pattern.strip_suffix('*') {
                Some(family) => dependency.starts_with(family),
                None => dependency == pattern,
            };
            let wrong = ONLY.iter().filter(|(pattern, owners)| belongs(pattern) && !owners.contains(&name.as_str()));
            findings.extend(wrong.map(|(_, owners)| format!("{name} names {dependency}, which is for {owners:?}")));
        }
    }
    findings
}

fn without_the_common_lints(manifests: &Manifests) -> Vec<String> {
    let shares = |manifest: &toml::Table| {
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(|workspace| workspace.as_bool()) == Some(true)
    };
    let without = manifests.iter().filter(|(_, manifest)| !shares(manifest));
    without.map(|(name, _)| format!("{name} has no `lints.workspace = true`")).collect()
}

fn misplaced_words(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    let inner = |source: &&Source| {
        source.path.contains("/src/") && !AROUND.iter().any(|around| source.path.starts_with(around))
    };
    for source in sources.iter().filter(inner) {
        for (word, places, why) in WORDS {
            if places.iter().any(|place| source.path.starts_with(place)) {
                continue;
            }
            let lines = source.code().filter(|(_, line)| line.contains(word));
            findings.extend(lines.map(|(at, _)| format!("{}:{at}: `{word}`: {why}", source.path)));
        }
    }
    findings
}

/// A string that begins like an SQL statement, outside the domain.
fn misplaced_sql(sources: &[Source]) -> Vec<String> {
    const STATEMENTS: &[(&str, &str)] =
        &[("\"select ", " from "), ("\"insert into ", ""), ("\"update ", " set "), ("\"delete from ", "")];
    let mut findings = Vec::new();
    // The queue deletes from its own tables, which are not the domain's.
    let may = ["domain/", "workflows/src/engine/queue", "tests/", "ops/bench/"];
    for source in sources.iter().filter(|source| !may.iter().any(|place| source.path.starts_with(place))) {
        for (at, line) in source.code() {
            let line = line.to_lowercase();
            if STATEMENTS.iter().any(|(start, then)| line.contains(start) && line.contains(then)) {
                findings.push(format!("{}:{at}: SQL outside the domain", source.path));
            }
        }
    }
    findings
}

/// Finds top-level folders that ARCHITECTURE.md does not explain.
fn folders_without_a_word(folders: &[String], documents: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md"] {
        let Some(source) = documents.iter().find(|source| source.path == document) else {
            findings.push(format!("{document} is missing"));
            continue;
        };
        let unsaid = folders.iter().filter(|folder| !source.text.contains(&format!("{folder}/")));
        findings.extend(unsaid.map(|folder| format!("{document} says nothing about {folder}/")));
    }
    findings
}

fn folders(sources: &[Source]) -> Vec<String> {
    let tops = sources.iter().filter_map(|source| source.path.split_once('/')).map(|(top, _)| top.to_owned());
    let mut folders: Vec<_> = tops.filter(|top| !top.starts_with('.')).collect();
    folders.dedup();
    folders
}

#[test]
fn arrows_point_one_way() {
    must_be_clean("wrong arrows", &wrong_arrows(&manifests()));
}

#[test]
fn a_dependency_is_named_by_its_owner_alone() {
    must_be_clean("misplaced dependencies", &misplaced_dependencies(&manifests()));
}

#[test]
fn every_crate_shares_the_lints() {
    must_be_clean("without the common lints", &without_the_common_lints(&manifests()));
}

#[test]
fn keys_rpc_and_sql_stay_in_their_crates() {
    must_be_clean("misplaced words", &misplaced_words(&rust()));
    must_be_clean("misplaced SQL", &misplaced_sql(&rust()));
}

#[test]
fn every_top_level_folder_is_explained() {
    let sources = everything();
    must_be_clean("documents", &folders_without_a_word(&folders(&sources), &sources));
}

#[test]
fn these_checks_can_fail() {
    let bad = |text: &str| Manifests::from([("muniment-domain".to_owned(), text.parse().expect("a manifest"))]);
    assert_eq!(wrong_arrows(&bad("[dependencies]\nmuniment-api.workspace = true")).len(), 1);
    assert_eq!(wrong_arrows(&bad("[dependencies]\nx = { package = \"muniment-api\", path = \"x\" }")).len(), 1);
    let stranger = Manifests::from([("muniment-stranger".to_owned(), toml::Table::new())]);
    assert_eq!(wrong_arrows(&stranger).len(), 1);
    assert_eq!(misplaced_dependencies(&bad("[dependencies]\napalis-core = \"1\"\nsqlx = \"1\"")).len(), 1);
    assert_eq!(misplaced_dependencies(&bad("[target.'cfg(unix)'.dev-dependencies]\naxum = \"1\"")).len(), 1);
    assert_eq!(without_the_common_lints(&bad("[lints]\nworkspace = false")).len(), 1);
    let source = Source::new("api/src/mint.rs", "// sqlx::query\nsqlx::query(\"SELECT 1 FROM x\")");
    assert_eq!(misplaced_words(&[source]).len(), 1);
    let source = Source::new("api/src/mint.rs", "f(\"update x set y\"); g(\"update failed\")\n\"delete from y\"");
    assert_eq!(misplaced_sql(&[source]).len(), 2);
    let readme = Source::new("README.md", "domain/ holds the state");
    assert_eq!(folders_without_a_word(&["domain".to_owned(), "api".to_owned()], &[readme]).len(), 2);
}
