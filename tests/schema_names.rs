//! Schema names in the OpenAPI document are unique: of two schemas with one name only one would be in it, and responses of
//! the other would not match the document.

use std::collections::BTreeMap;

use muniment_domain::schema;

use crate::source::{Source, must_be_clean, rust};

/// Returns the word after the last occurrence of a text in a line.
fn word_after<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let rest = line.split(before).nth(1)?;
    rest.split(|c: char| !c.is_alphanumeric()).next().filter(|word| !word.is_empty())
}

/// Returns the schemas that a file of the API defines, under their own names or renamed.
fn written(source: &Source) -> Vec<String> {
    let (mut names, mut renamed, mut derived) = (Vec::new(), None, false);
    for (_, line) in source.code() {
        derived |= line.contains("derive(") && line.contains("ToSchema");
        renamed = word_after(line, "schema(as = ").map(str::to_owned).or(renamed);
        let declared = word_after(line, "struct ").or_else(|| word_after(line, "enum ")).filter(|_| derived);
        if let Some(name) = declared {
            names.push(renamed.take().unwrap_or_else(|| name.to_owned()));
            derived = false;
        }
    }
    names
}

/// Returns the enums of a domain file, under their names in the document.
fn words(source: &Source) -> Vec<String> {
    let module = source.path.trim_start_matches("domain/src/").trim_end_matches(".rs").trim_end_matches("/mod");
    let module = format!("muniment_domain::{}", module.replace('/', "::"));
    let mut lists = source.text.split("words! {").skip(1);
    let named = lists.by_ref().filter_map(|list| {
        let line = list.lines().find(|line| !line.trim().is_empty() && !line.trim().starts_with(['/', '#']))?;
        Some(schema::name(&module, line.split_whitespace().next()?))
    });
    named.collect()
}

fn taken_twice(sources: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for source in sources {
        let names = match source.path.split_once("/src/") {
            Some(("api", _)) => written(source),
            Some(("domain", _)) => words(source),
            _ => Vec::new(),
        };
        names.into_iter().for_each(|name| places.entry(name).or_default().push(&source.path));
    }
    assert!(places.len() > 1 || sources.len() < 3, "nothing was found");
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    twice.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

#[test]
fn schema_names_are_unique() {
    must_be_clean("names that are taken twice", &taken_twice(&rust()));
}

#[test]
fn this_check_can_fail() {
    let list = Source::new(
        "domain/src/investor/mod.rs",
        "crate::words! {\n    /// What.\n    Accreditation {\n        A = \"a\",\n",
    );
    let object = "#[derive(Serialize, ToSchema)]\n#[schema(as = InvestorAccreditation)]\nstruct Accredited {";
    let object = Source::new("api/src/investor/record.rs", object);
    assert_eq!(taken_twice(&[list, object]).len(), 1);
    let plain = |path: &str| Source::new(path, "#[derive(ToSchema)]\npub enum Shown {");
    assert_eq!(taken_twice(&[plain("api/src/a.rs"), plain("api/src/b.rs")]).len(), 1);
}
