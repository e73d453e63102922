//! The reading order of the crates: folders import each other in one direction only, and so do most modules within a folder.
//!
//! A knot is a set of modules that import each other in a cycle: nobody can read one of them without the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, must_be_clean, rust};

/// For each crate, the largest knot allowed among its top-level folders and files, and among the modules of one folder. 1 means no knot.
const KNOTS_MAX: &[(&str, usize, usize)] =
    &[("domain", 1, 1), ("activities", 1, 1), ("workflows", 1, 3), ("api", 1, 4)];

/// Names of the modules that each module imports, by path: `payout::split`.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the module of a source file and its crate. Crate roots and unit tests are not modules here.
fn module(path: &str) -> Option<(&str, String)> {
    let (home, inner) = path.split_once("/src/")?;
    let inner = inner.strip_suffix(".rs")?;
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    let is_module = !["lib", "main", "mod"].contains(&inner) && !inner.rsplit('/').any(|name| name.ends_with("tests"));
    is_module.then(|| (home, inner.replace('/', "::")))
}

/// Returns the code of a file without comments, strings and the tests at its end.
fn code(source: &Source) -> String {
    let text = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let lines: Vec<&str> = lines.collect();
    // Every second piece between quotes is a string.
    lines.join("\n").split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Returns every path that begins at a position: `crate::a::{b, c::d}` is two paths.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut rest = text;
    tree(&mut rest)
}

fn tree(rest: &mut &str) -> Vec<Vec<String>> {
    let mut prefix = Vec::new();
    loop {
        *rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            *rest = inner;
            let mut all = Vec::new();
            loop {
                all.extend(tree(rest).into_iter().map(|path| [prefix.clone(), path].concat()));
                *rest = rest.trim_start();
                match rest.strip_prefix(',') {
                    Some(more) => *rest = more,
                    None => break,
                }
            }
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            return all;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 {
            return vec![prefix];
        }
        prefix.push(rest[..end].to_owned());
        *rest = rest[end..].trim_start();
        if let Some(alias) = rest.strip_prefix("as ") {
            *rest = alias.trim_start().trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        }
        match rest.strip_prefix("::") {
            Some(more) => *rest = more,
            None => return vec![prefix],
        }
    }
}

/// Returns the positions where a word is the first segment of a path.
fn begins<'a>(code: &'a str, word: &str) -> Vec<&'a str> {
    let sought = format!("{word}::");
    let starts = code.match_indices(&sought).map(|(at, _)| at);
    let first = |at: &usize| {
        let before = code[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    };
    starts.filter(first).map(|at| &code[at..]).collect()
}

/// Returns what a module imports of its crate, as absolute paths.
fn named(own: &str, code: &str, children: &[&str]) -> Vec<Vec<String>> {
    let own: Vec<String> = own.split("::").map(str::to_owned).collect();
    let mut found = Vec::new();
    for path in begins(code, "crate").into_iter().flat_map(paths) {
        found.push(path[1..].to_vec());
    }
    for path in begins(code, "super").into_iter().flat_map(paths) {
        let up = path.iter().take_while(|segment| *segment == "super").count();
        found.push([&own[..own.len().saturating_sub(up)], &path[up..]].concat());
    }
    for child in children {
        found.extend(begins(code, child).into_iter().flat_map(paths).map(|path| [own.clone(), path].concat()));
    }
    found
}

/// Returns the re-exports, and the code without them. A folder that re-exports its modules' items does not import them.
fn split_re_exports(code: &str) -> (Vec<Vec<String>>, String) {
    let (mut re_exported, mut rest) = (Vec::new(), String::new());
    let mut parts = code.split("pub use ");
    rest.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (statement, after) = part.split_once(';').unwrap_or((part, ""));
        re_exported.extend(paths(statement));
        rest.push_str(after);
    }
    (re_exported, rest)
}

/// Returns the imports of one crate. A re-exported item counts as the module that defines it.
fn imports(crate_name: &str, sources: &[Source]) -> Imports {
    let of_crate = sources.iter().filter_map(|source| Some((module(&source.path)?, source)));
    let modules: BTreeMap<String, (Vec<Vec<String>>, String)> = of_crate
        .filter(|((home, _), _)| *home == crate_name)
        .map(|((_, module), source)| (module, split_re_exports(&code(source))))
        .collect();
    let resolve = |path: &[String]| {
        let length = (1..=path.len()).rev().find(|length| modules.contains_key(&path[..*length].join("::")))?;
        let module = path[..length].join("::");
        let item = path.get(length);
        let offered = modules[&module].0.iter().find(|offered| item.is_some() && offered.last() == item);
        let offered = offered.map(|offered| format!("{module}::{}", offered[0]));
        Some(offered.filter(|offered| modules.contains_key(offered)).unwrap_or(module))
    };
    let mut imports = Imports::new();
    for (own, (_, code)) in &modules {
        let children = modules.keys().filter_map(|m| m.strip_prefix(own.as_str())?.strip_prefix("::"));
        let found = named(own, code, &children.collect::<Vec<_>>());
        let found = found.iter().filter_map(|path| resolve(path)).filter(|module| module != own).collect();
        imports.insert(own.clone(), found);
    }
    imports
}

/// Returns the imports between top-level folders; each module counts as its folder or file.
fn between_folders(imports: &Imports) -> Imports {
    let top = |module: &String| module.split("::").next().unwrap_or_default().to_owned();
    let mut folders = Imports::new();
    for (module, named) in imports {
        let others = named.iter().map(top).filter(|other| *other != top(module));
        folders.entry(top(module)).or_default().extend(others);
    }
    folders
}

/// Returns the imports among the modules of one folder.
fn within(imports: &Imports, folder: &str) -> Imports {
    let inside = |module: &String| module.split("::").next() == Some(folder);
    let own = imports.iter().filter(|(module, _)| inside(module));
    own.map(|(module, named)| (module.clone(), named.iter().filter(|m| inside(m)).cloned().collect())).collect()
}

/// Returns every module that a module reaches through imports.
fn reached<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Returns the largest set of modules that all reach each other.
fn largest_knot(imports: &Imports) -> Vec<String> {
    let all: BTreeMap<&String, BTreeSet<&String>> = imports.keys().map(|m| (m, reached(imports, m))).collect();
    let knot = |module: &String| {
        let mutual = all[module].iter().filter(|other| all.get(**other).is_some_and(|theirs| theirs.contains(module)));
        mutual.map(|other| (*other).clone()).collect::<Vec<_>>()
    };
    imports.keys().map(knot).max_by_key(Vec::len).unwrap_or_default()
}

fn knots(crate_name: &str, (folders_max, modules_max): (usize, usize), sources: &[Source]) -> Vec<String> {
    let imports = imports(crate_name, sources);
    let folders = between_folders(&imports);
    let mut findings = Vec::new();
    let knot = largest_knot(&folders);
    if knot.len() > folders_max {
        findings.push(format!("{crate_name}: {} folders import each other: {}", knot.len(), knot.join(", ")));
    }
    for folder in folders.keys() {
        let knot = largest_knot(&within(&imports, folder));
        if knot.len() > modules_max {
            findings.push(format!(
                "{crate_name}/{folder}: {} modules import each other: {}",
                knot.len(),
                knot.join(", ")
            ));
        }
    }
    findings
}

#[test]
fn folders_import_each_other_in_one_direction() {
    let sources = rust();
    let findings = KNOTS_MAX.iter().flat_map(|(name, folders, modules)| knots(name, (*folders, *modules), &sources));
    must_be_clean("no reading order", &findings.collect::<Vec<_>>());
}

#[test]
fn the_engine_imports_nothing_above_it() {
    let folders = between_folders(&imports("workflows", &rust()));
    let allowed = ["requester", "settings"].map(str::to_owned);
    let wrong: Vec<String> = folders["engine"].iter().filter(|folder| !allowed.contains(folder)).cloned().collect();
    must_be_clean("the engine names what it runs", &wrong);
}

#[test]
fn these_checks_can_fail() {
    let sources = [
        Source::new("x/src/lib.rs", "mod a; mod b; mod c;"),
        Source::new(
            "x/src/a/mod.rs",
            "mod inner;\nfn h() { inner::k() }\npub use inner::{f, g};\nuse crate::{b::{self, Thing}, c as d};",
        ),
        Source::new("x/src/a/inner.rs", "fn f() { super::h() }\n#[cfg(test)]\nmod tests { use crate::c; }"),
        Source::new("x/src/b.rs", "// crate::c\nfn f() { \"crate::c\"; crate::a::f::<u8>() }"),
        Source::new("x/src/c.rs", "use super::b;"),
    ];
    let found = imports("x", &sources);
    let names = |module: &str| found[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(names("a"), ["a::inner", "b", "c"]);
    assert_eq!(names("a::inner"), ["a"]);
    assert_eq!(names("b"), ["a::inner"]);
    assert_eq!(names("c"), ["b"]);
    assert_eq!(largest_knot(&between_folders(&found)), ["a", "b", "c"]);
    assert_eq!(knots("x", (3, 2), &sources).len(), 0);
    assert_eq!(knots("x", (1, 1), &sources).len(), 2);
    assert_eq!(largest_knot(&within(&found, "c")).len(), 0);
}
