//! Style rules of the repository, as far as a program can check them.

use std::collections::BTreeMap;

use crate::source::{Source, everything, is_comment, must_be_clean, rust};

const FILE_LINES_MAX: usize = 400;
const FILE_LINES_MEDIAN: usize = 110;
const FILE_LINES_NINE_OF_TEN: usize = 250;
const FUNCTION_LINES_MAX: usize = 70;
const COMMENT_PERCENT: std::ops::RangeInclusive<usize> = 6..=20;
/// Below this number of lines a share means nothing.
const COMMENT_LINES_MIN: usize = 150;
const WRITTEN: &[&str] = &["rs", "sol", "sql", "sh", "js", "css", "html", "toml"];

/// Names that say where a thing was put instead of what it is.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "models", "types", "services", "helpers", "misc", "shared"];

/// Split in two, so that this file does not match.
const UNFINISHED: &[(&str, &str)] = &[
    ("to", "do!("),
    ("FIX", "ME"),
    ("TO", "DO"),
    ("XX", "X:"),
    ("#[ign", "ore"),
    ("unimplem", "ented!("),
    ("db", "g!("),
];

/// Paths of one machine, and hosts that only some machines reach.
const LOCAL: &[(&str, &str)] = &[
    ("/wo", "rk/"),
    ("/ro", "ot/"),
    ("/ho", "me/"),
    ("/Us", "ers/"),
    ("registry.npm", "js.org"),
    ("static.crates", ".io"),
    ("files.python", "hosted.org"),
    ("deb.deb", "ian.org"),
];

fn too_long(sources: &[Source]) -> Vec<String> {
    let lines = |source: &Source| source.text.lines().count();
    let long = sources.iter().filter(|source| source.has_extension(WRITTEN) && lines(source) > FILE_LINES_MAX);
    long.map(|source| format!("{}: {} lines, at most {FILE_LINES_MAX}", source.path, lines(source))).collect()
}

fn over_budget(sources: &[Source]) -> Vec<String> {
    let mut lines: Vec<_> = sources.iter().map(|source| source.text.lines().count()).collect();
    lines.sort_unstable();
    let mut findings = Vec::new();
    for (share, budget) in [(50, FILE_LINES_MEDIAN), (90, FILE_LINES_NINE_OF_TEN)] {
        let found = lines[(lines.len() * share / 100).min(lines.len() - 1)];
        if found > budget {
            findings.push(format!("{share} % of the files have up to {found} lines, at most {budget}"));
        }
    }
    findings
}

/// The code is formatted, so a function ends at the first closing brace with the indentation of its `fn`.
fn long_functions(source: &Source) -> Vec<String> {
    let lines: Vec<_> = source.text.lines().collect();
    let mut findings = Vec::new();
    for (start, line) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
        let indent = line.len() - line.trim_start().len();
        let closes = |line: &&str| line.len() - line.trim_start().len() == indent && line.trim_start().starts_with('}');
        let length = match lines[start + 1..].iter().position(closes) {
            Some(more) if !line.trim_end().ends_with([';', '}']) => more + 2,
            _ => 1,
        };
        if length > FUNCTION_LINES_MAX {
            findings.push(format!(
                "{}:{}: a function of {length} lines, at most {FUNCTION_LINES_MAX}",
                source.path,
                start + 1
            ));
        }
    }
    findings
}

fn begins_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "in"].contains(word) || word.ends_with(')')
    });
    words.next() == Some("fn")
}

fn empty_names(source: &Source) -> Vec<String> {
    let parts = source.path.trim_end_matches(".rs").split('/');
    let empty = parts.filter(|part| EMPTY_NAMES.contains(part));
    empty.map(|part| format!("{}: `{part}` says nothing, name it by what it is", source.path)).collect()
}

fn forbidden(source: &Source, words: &[(&str, &str)], why: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        let found =
            words.iter().map(|(head, tail)| format!("{head}{tail}")).filter(|word| line.contains(word.as_str()));
        findings.extend(found.map(|word| format!("{}:{}: `{word}` {why}", source.path, at + 1)));
    }
    findings
}

/// Comments say why. Too few leave code unexplained; too many repeat it.
fn comment_shares(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for source in sources {
        let (comments, all) = crates.entry(source.home()).or_default();
        let written = source.text.lines().filter(|line| !line.trim().is_empty());
        *all += written.clone().count();
        *comments += written.filter(|line| is_comment(line)).count();
    }
    let judged = crates.into_iter().filter(|(_, (_, all))| *all >= COMMENT_LINES_MIN);
    let shares = judged.map(|(name, (comments, all))| (name, comments * 100 / all));
    let wrong = shares.filter(|(_, share)| !COMMENT_PERCENT.contains(share));
    wrong
        .map(|(name, share)| format!("{name}/: {share} % of the lines are comments, {COMMENT_PERCENT:?} wanted"))
        .collect()
}

/// A migration begins with its reason.
fn silent_migrations(sources: &[Source]) -> Vec<String> {
    let migrations =
        sources.iter().filter(|source| source.path.starts_with("migrations/") && source.has_extension(&["sql"]));
    let silent = migrations.filter(|source| !source.text.starts_with("-- "));
    silent.map(|source| format!("{}: its first line must say why", source.path)).collect()
}

#[test]
fn files_and_functions_are_short() {
    must_be_clean("long files", &too_long(&everything()));
    must_be_clean("budget", &over_budget(&rust()));
    must_be_clean("long functions", &rust().iter().flat_map(long_functions).collect::<Vec<_>>());
}

#[test]
fn modules_are_named_by_nouns_that_say_something() {
    must_be_clean("empty names", &rust().iter().flat_map(empty_names).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_unfinished_or_switched_off() {
    let find = |source: &Source| forbidden(source, UNFINISHED, "belongs in an issue");
    must_be_clean("unfinished", &rust().iter().flat_map(find).collect::<Vec<_>>());
}

#[test]
fn nothing_depends_on_one_machine() {
    let find = |source: &Source| forbidden(source, LOCAL, "exists on some machines only");
    let sources = everything();
    // Lock files name package sources in a fixed format.
    let ours = sources.iter().filter(|source| !source.path.ends_with(".lock"));
    must_be_clean("machine paths", &ours.flat_map(find).collect::<Vec<_>>());
}

#[test]
fn comments_are_neither_missing_nor_noise() {
    must_be_clean("comments", &comment_shares(&rust()));
}

#[test]
fn every_migration_says_why() {
    must_be_clean("migrations", &silent_migrations(&everything()));
}

#[test]
fn these_checks_can_fail() {
    let file = |path: &str, text: String| Source { path: path.to_owned(), text };
    assert_eq!(too_long(&[file("a.rs", "x\n".repeat(401))]).len(), 1);
    assert_eq!(over_budget(&[file("a.rs", "x\n".repeat(111))]).len(), 1);
    assert_eq!(over_budget(&[file("a.rs", "x\n".repeat(251))]).len(), 2);
    let function =
        |lines: usize| file("a.rs", format!("  pub(crate) async fn f() {{\n{}  }}\n", "    x();\n".repeat(lines)));
    assert_eq!((long_functions(&function(68)).len(), long_functions(&function(69)).len()), (0, 1));
    let declared = file("a.rs", format!("trait T {{\n    fn f();\n{}}}", "    const X: u8;\n".repeat(90)));
    assert!(long_functions(&declared).is_empty());
    assert_eq!(empty_names(&file("api/src/utils.rs", String::new())).len(), 1);
    assert_eq!(empty_names(&file("api/src/common/mint.rs", String::new())).len(), 1);
    for (head, tail) in UNFINISHED.iter().chain(LOCAL) {
        assert_eq!(forbidden(&file("a.rs", format!("x {head}{tail}")), &[(head, tail)], "no").len(), 1);
    }
    assert_eq!(comment_shares(&[file("api/src/a.rs", "x\n".repeat(200))]).len(), 1);
    assert_eq!(comment_shares(&[file("api/src/a.rs", "x\n// why\n".repeat(100))]).len(), 1);
    assert!(comment_shares(&[file("api/src/a.rs", "x\nx\nx\nx\nx\nx\nx\n// why\n".repeat(30))]).is_empty());
    assert_eq!(silent_migrations(&[file("migrations/1.sql", "create table".to_owned())]).len(), 1);
}
