//! Routes, permission table and document are one list; and the document says nothing that the code does not know.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{document, example, text};
use crate::code::Code;
use crate::server::routes::ROUTES;

/// The methods that a path can have, as the document writes them.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

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
fn every_endpoint_is_documented() {
    let served: BTreeSet<_> = ROUTES.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let written: BTreeSet<_> = operations(&document(&ROUTES)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(served, written);
}

#[test]
fn the_committed_document_is_that_of_the_code() {
    let written = std::env::temp_dir().join("muniment-openapi.json");
    if include_str!("../../openapi.json") != text(&ROUTES) {
        std::fs::write(&written, text(&ROUTES)).unwrap();
        panic!("the document has changed: look at {} and commit it as api/openapi.json", written.display());
    }
}

#[test]
fn every_name_that_the_document_uses_is_defined_in_it_once() {
    let document = document(&ROUTES);
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
fn every_field_has_a_description() {
    let document = document(&ROUTES);
    let mut missing = Vec::new();
    walk(&document["components"]["schemas"], &mut |key, value| {
        if key == "properties" {
            let fields = value.as_object().unwrap().iter();
            // A field that may be null has its description beside the reference.
            let has = |field: &Value| field["description"].is_string() || field["oneOf"].to_string().contains("\"description\"");
            missing.extend(fields.filter(|(_, field)| field.is_object() && !has(field)).map(|(name, _)| name.clone()));
        }
    });
    assert!(missing.is_empty(), "describe them beside the fields: {missing:?}");
}

/// Endpoints that no link of an answer leads to. The `type` of a problem leads to the page of its code.
const LED_TO_BY_NOTHING: [&str; 1] = ["GET /errors/{code}"];

#[test]
fn every_route_of_one_thing_is_led_to_by_an_answer_that_holds_its_id() {
    let document = document(&ROUTES);
    let (mut led_to, mut links) = (BTreeSet::new(), 0);
    for (name, operation) in operations(&document) {
        for response in operation["responses"].as_object().unwrap().values() {
            for reference in response["links"].as_object().into_iter().flatten().map(|(_, link)| &link["$ref"]) {
                let link = document.pointer(reference.as_str().unwrap().trim_start_matches('#')).unwrap();
                for expression in link["parameters"].as_object().unwrap().values().filter_map(Value::as_str) {
                    let Some(pointer) = expression.strip_prefix("$response.body#") else { continue };
                    let example = &response["content"]["application/json"]["example"];
                    assert!(example.pointer(pointer).is_some_and(Value::is_string), "{name} holds no {pointer}");
                }
                led_to.insert(link["operationId"].as_str().unwrap().to_owned());
                links += 1;
            }
        }
    }
    let all = operations(&document);
    let known: BTreeSet<_> =
        all.iter().map(|(_, operation)| operation["operationId"].as_str().unwrap().to_owned()).collect();
    assert!(led_to.is_subset(&known) && links > 50, "{links}: {led_to:?}");
    let takes_an_id = |name: &str| name.contains('{') && !name.contains("/token/");
    let lonely = all
        .iter()
        .filter(|(name, operation)| takes_an_id(name) && !led_to.contains(operation["operationId"].as_str().unwrap()));
    let lonely: Vec<_> = lonely.map(|(name, _)| name.as_str()).collect();
    assert_eq!(lonely, LED_TO_BY_NOTHING, "no answer leads there");
}

#[test]
fn every_body_has_an_example_in_which_every_text_is_known() {
    let document = document(&ROUTES);
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
    let document = document(&ROUTES);
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
