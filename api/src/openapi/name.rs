//! The names of operations, as generators of clients need them: `offerings.subscribe`, `offerings.documents.list`.
//!
//! A name is made of the words of the path, behind the tag where the path does not begin with it. A list is `list`, one of it `get`, a new
//! one `create`; `update`, `replace` and `delete` are the other methods. A path that is a verb is the name of its POST.

use serde_json::{Value, json};

/// Gives every operation its name.
pub fn give(document: &mut Value) {
    let Some(paths) = document["paths"].as_object() else { return };
    let mut names = Vec::new();
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or_default();
            let mut words = words(path, tag);
            words.extend(verb(document, path, method).map(str::to_owned));
            names.push((path.clone(), method.clone(), words.join(".")));
        }
    }
    for (path, method, name) in names {
        document["paths"][path][method]["operationId"] = json!(name);
    }
}

/// The words of a path without its parameters.
fn words(path: &str, tag: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
    let words: Vec<_> = parts.filter(|part| *part != "v1").map(camel).collect();
    let tag = camel(tag);
    match words.iter().position(|word| *word == tag) {
        Some(at) => words[at..].to_vec(),
        None => [vec![tag], words].concat(),
    }
}

fn camel(text: &str) -> String {
    let mut words = text.split(['-', '.']).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1);
        name + &head.to_uppercase() + tail
    })
}

/// The verb of a method. A POST to a path that is a verb itself has no other.
fn verb(document: &Value, path: &str, method: &str) -> Option<&'static str> {
    let under = |other: &String| other.strip_prefix(path).is_some_and(|rest| rest.starts_with("/{"));
    let is_list = document["paths"].as_object().is_some_and(|paths| paths.keys().any(under));
    let operations = &document["paths"][path];
    match method {
        "get" if path.ends_with('}') => Some("get"),
        "get" if is_list || answers_list(document, &operations["get"]) => Some("list"),
        "get" => Some("get"),
        "post" if is_list || operations.get("get").is_some() => Some("create"),
        "post" => None,
        "put" => Some("replace"),
        "patch" => Some("update"),
        "delete" if is_list => Some("deleteAll"),
        _ => Some("delete"),
    }
}

/// Whether an operation answers with a list.
fn answers_list(document: &Value, operation: &Value) -> bool {
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
    let name = schema.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    document["components"]["schemas"][name]["properties"]["data"]["type"] == "array"
}
