//! Routes, permission table and document are one list; and the document says nothing that the code does not know.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{document, example, text};
use crate::code::Code;
use crate::permission::PERMISSIONS;
use crate::router::routes;

/// The methods that a path can have, as the document writes them.
const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Routes that are served and not written down yet. Each change that touches one of them writes it down and takes it out here.
const NOT_WRITTEN_DOWN: &[&str] = &[
    "GET /v1/issuers",
    "GET /v1/offerings",
    "GET /v1/offerings/{id}",
    "GET /v1/offerings/{id}/documents",
    "GET /v1/offerings/{id}/timeline",
    "PATCH /v1/offerings/{id}",
    "POST /v1/issuers/{id}/approve",
    "POST /v1/offerings",
    "POST /v1/offerings/{id}/approve",
    "POST /v1/offerings/{id}/archive",
    "POST /v1/offerings/{id}/cancel",
    "POST /v1/offerings/{id}/close",
    "POST /v1/offerings/{id}/documents",
    "POST /v1/offerings/{id}/material-change",
    "POST /v1/offerings/{id}/pause",
    "POST /v1/offerings/{id}/publish",
    "POST /v1/offerings/{id}/request-changes",
    "POST /v1/offerings/{id}/resume",
    "POST /v1/offerings/{id}/submit",
];

fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, methods): (&String, &Value)| {
        let found = METHODS.iter().filter_map(|method| Some((*method, methods.get(method)?.clone())));
        found.map(|(method, operation)| (format!("{} {path}", method.to_uppercase()), operation)).collect::<Vec<_>>()
    };
    paths.iter().flat_map(of).collect()
}

fn walk<'a>(value: &'a Value, see: &mut impl FnMut(&'a str, &'a Value)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            see(name, value);
            walk(value, see);
        }),
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        _ => {}
    }
}

#[test]
fn routes_permissions_and_document_are_one_list() {
    let served: BTreeSet<_> = routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let allowed: BTreeSet<_> = PERMISSIONS.iter().map(|row| format!("{} {}", row.method, row.path)).collect();
    let mut written: BTreeSet<_> = operations(&document()).into_iter().map(|(name, _)| name).collect();
    for name in NOT_WRITTEN_DOWN {
        assert!(written.insert((*name).to_owned()), "{name} is written down: take it out of the list");
    }
    assert_eq!(served, allowed);
    assert_eq!(served.difference(&written).collect::<Vec<_>>(), Vec::<&String>::new(), "write them down");
    assert_eq!(written.difference(&served).collect::<Vec<_>>(), Vec::<&String>::new(), "there is no such route");
}

#[test]
fn the_committed_document_is_that_of_the_code() {
    let written = std::env::temp_dir().join("muniment-openapi.json");
    if include_str!("../../openapi.json") != text() {
        std::fs::write(&written, text()).unwrap();
        panic!("the document has changed: look at {} and commit it as api/openapi.json", written.display());
    }
}

#[test]
fn every_name_that_the_document_uses_is_defined_in_it_once() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        assert!(ids.insert(operation["operationId"].to_string()), "{name}: its name is another's");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name} says nothing of itself");
    }
    walk(&document, &mut |key, value| {
        if key == "$ref" {
            let target = value.as_str().unwrap().trim_start_matches('#');
            assert!(document.pointer(target).is_some(), "{target} is missing");
        }
    });
}

#[test]
fn every_body_has_an_example_in_which_every_text_is_known() {
    let document = document();
    let (mut bodies, mut unknown) = (0, BTreeSet::new());
    for (name, operation) in operations(&document) {
        walk(&operation, &mut |key, value| {
            if key == "application/json" {
                bodies += 1;
                assert!(!value["example"].is_null(), "{name}");
                walk(value, &mut |field, value| {
                    let stands_alone =
                        value.as_array().is_some_and(|items| items.iter().any(|v| v == example::UNKNOWN));
                    if value == example::UNKNOWN || stands_alone {
                        unknown.insert(field.to_owned());
                    }
                });
            }
        });
    }
    assert!(bodies > 20);
    assert!(unknown.is_empty(), "what do these look like? Say it in example.rs: {unknown:?}");
}

#[test]
fn every_code_of_the_table_is_some_answer_and_no_other_is() {
    let document = document();
    let mut said = BTreeSet::new();
    walk(&document["components"]["responses"], &mut |key, value| {
        if key == "enum" {
            said.extend(value.as_array().into_iter().flatten().filter_map(Value::as_str));
        }
    });
    let known: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    // It is answered before a route is found.
    let nowhere = ["method_not_allowed"];
    let silent: Vec<_> = known.difference(&said).filter(|code| !nowhere.contains(*code)).collect();
    assert!(said.is_subset(&known), "{said:?}");
    assert!(silent.is_empty(), "no route says that it answers {silent:?}");
}
