//! The repository as text, for the tests that read it.

use std::collections::BTreeMap;
use std::path::Path;

/// One file, by its path from the root.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// Built, fetched or generated files: no style rule applies to them.
const SKIP: &[&str] = &["target", "data", "contracts/out", "contracts/cache", "contracts/artifacts"];

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The folder of the file's crate.
    pub fn home(&self) -> &str {
        let depth = if self.path.starts_with("ops/") { 2 } else { 1 };
        let end = self.path.match_indices('/').nth(depth - 1).map_or(0, |(at, _)| at);
        &self.path[..end]
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// Numbered lines that are neither comments nor unit tests.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]");
        lines.map(|(at, line)| (at + 1, line)).filter(|(_, line)| !is_comment(line))
    }
}

pub fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Every text file of the repository, in order.
pub fn everything() -> Vec<Source> {
    let mut found = Vec::new();
    walk(&world::repository(), "", &mut found);
    assert!(found.len() > 50, "the repository was not found");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Every Rust file.
pub fn rust() -> Vec<Source> {
    everything().into_iter().filter(|source| source.has_extension(&["rs"])).collect()
}

/// The manifests of the members, by package name.
pub fn manifests() -> BTreeMap<String, toml::Table> {
    let read = |path: &str| -> toml::Table {
        let text = std::fs::read_to_string(world::repository().join(path)).expect(path);
        text.parse().expect(path)
    };
    let members = read("Cargo.toml")["workspace"]["members"].as_array().expect("members are a list").clone();
    let manifests = members.iter().map(|member| {
        let manifest = read(&format!("{}/Cargo.toml", member.as_str().expect("a member is a path")));
        (manifest["package"]["name"].as_str().expect("a package has a name").to_owned(), manifest)
    });
    manifests.collect()
}

fn walk(root: &Path, folder: &str, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(root.join(folder)).expect("a folder can be read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let hidden = name.starts_with('.') && name != ".ci" && name != ".config";
        if hidden || name == "node_modules" || SKIP.contains(&path.as_str()) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(root, &path, found),
            // Files that are not text have no style.
            Ok(kind) if kind.is_file() => {
                if let Ok(text) = std::fs::read_to_string(entry.path()) {
                    found.push(Source { path, text });
                }
            }
            _ => {}
        }
    }
}

/// Fails with every finding at once.
pub fn must_be_clean(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}
