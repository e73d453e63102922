//! The document describes every endpoint, and nothing that the code does not have.

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
fn committed_document_matches_the_code() {
    let written = std::env::temp_dir().join("muniment-openapi.json");
    if include_str!("../../openapi.json") != text(&ROUTES) {
        std::fs::write(&written, text(&ROUTES)).unwrap();
        panic!("the document has changed: look at {} and commit it as api/openapi.json", written.display());
    }
}

#[test]
fn every_filter_by_status_names_its_words() {
    for (name, operation) in operations(&document(&ROUTES)) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["name"] == "status") {
            let text = parameter["description"].as_str().unwrap_or_default();
            let example = parameter["example"].as_str().unwrap_or_default();
            let known = text.split_once("Known: ").map(|(_, words)| words).unwrap_or_default();
            for word in example.split(',') {
                assert!(known.contains(&format!("`{word}`")), "{name}: {word} is not among its words: {text}");
            }
        }
    }
}

#[test]
fn every_reference_and_operation_id_is_defined_once() {
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
fn every_operation_id_is_a_noun_with_a_verb_and_every_tag_and_parameter_is_described() {
    let document = document(&ROUTES);
    let letters = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic());
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(id.contains('.') && id.split('.').all(letters), "{name}: {id}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let is_told = parameter["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(is_told || parameter["$ref"].is_string(), "{name}: what is {}?", parameter["name"]);
        }
    }
    for tag in document["tags"].as_array().unwrap() {
        assert_ne!(tag["description"], "", "say in tag.rs what {} is", tag["name"]);
    }
    let named = |path: &str, method: &str| document["paths"][path][method]["operationId"].clone();
    assert_eq!(named("/v1/offerings/{id}/subscribe", "post"), "offerings.subscribe");
    assert_eq!(named("/v1/offerings/{id}/documents", "get"), "offerings.documents.list");
    assert_eq!(named("/v1/auth/sessions", "delete"), "auth.sessions.deleteAll");
    assert_eq!(named("/blockchain/operations/{id}", "get"), "operations.get");
}

#[test]
fn every_field_has_a_description() {
    let document = document(&ROUTES);
    let mut missing = Vec::new();
    walk(&document["components"]["schemas"], &mut |key, value| {
        if key == "properties" {
            let fields = value.as_object().unwrap().iter();
            let has = |field: &Value| field["description"].is_string();
            missing.extend(fields.filter(|(_, field)| field.is_object() && !has(field)).map(|(name, _)| name.clone()));
        }
    });
    assert!(missing.is_empty(), "describe them beside the fields: {missing:?}");
}

/// Endpoints that no link of an answer leads to. The configuration names the chains; the `type` of a problem leads to the page of its code.
const UNLINKED: [&str; 2] = ["POST /blockchain/chains/{chain_id}/accept-history", "GET /errors/{code}"];

#[test]
fn every_endpoint_under_an_id_is_linked_from_an_answer() {
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
    assert_eq!(lonely, UNLINKED, "no answer leads there");
}

#[test]
fn every_body_has_a_complete_example() {
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
fn codes_of_the_document_are_those_of_the_table() {
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

/// The id of the object at a path, in the example of its answer.
fn answered_id<'a>(document: &'a Value, operation: &'a Value) -> Option<&'a str> {
    let content = operation.pointer("/responses/200/content/application~1json")?;
    let schema = match content["schema"]["$ref"].as_str() {
        Some(target) => document.pointer(target.trim_start_matches('#'))?,
        None => &content["schema"],
    };
    let example = if content["example"].is_object() { &content["example"] } else { &schema["example"] };
    example["id"].as_str()
}

#[test]
fn an_example_has_the_id_that_its_path_names() {
    let document = document(&ROUTES);
    let mut compared = 0;
    for (name, operation) in
        operations(&document).iter().filter(|(name, _)| name.starts_with("GET ") && name.ends_with("/{id}"))
    {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let asked = parameters.filter(|parameter| parameter["in"] == "path").find_map(|one| one["example"].as_str());
        let Some(answered) = answered_id(&document, operation) else { continue };
        assert_eq!(asked, Some(answered), "{name}");
        compared += 1;
    }
    assert!(compared > 8, "only {compared} answers have an id");
}

#[test]
fn the_document_has_no_word_of_the_implementation() {
    walk(&document(&ROUTES), &mut |key, value| {
        if let ("description" | "summary", Some(text)) = (key, value.as_str()) {
            for word in ["Debug", "struct ", "enum ", "handler", "serde", "`Status`"] {
                assert!(!text.contains(word), "{word} in: {text}");
            }
        }
    });
}

#[test]
fn every_list_refers_to_its_item_and_bounds_its_page() {
    let document = document(&ROUTES);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let lists: Vec<_> = schemas.iter().filter(|(name, _)| name.starts_with("List")).collect();
    assert!(lists.len() > 15, "{}", lists.len());
    for (name, list) in lists {
        assert!(list["properties"]["data"]["items"]["$ref"].is_string(), "{name} has its item within");
    }
    for (name, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["name"] == "page" {
                assert!(parameter["schema"]["maximum"].is_u64(), "{name}: its page has no end");
            }
        }
    }
}

#[test]
fn times_of_answers_end_alike() {
    let document = document(&ROUTES);
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let fields = schema["properties"].as_object().into_iter().flatten();
        // The envelope of an event follows Standard Webhooks.
        for (field, _) in fields.filter(|_| !name.ends_with("Event")) {
            assert!(!["at", "timestamp", "time"].contains(&field.as_str()), "{name}.{field}: call it …_at");
        }
    }
}

/// The names of fields that the specification gives.
const CAMEL: [&str; 11] = [
    "chainId",
    "contractAddress",
    "csrfToken",
    "isFrozen",
    "isRestricted",
    "lockedBalanceOf",
    "offeringId",
    "tokenDeployment",
    "tokenSymbol",
    "transferableBalance",
    "txHash",
];

#[test]
fn only_names_of_the_specification_are_in_camel_case_and_no_value_has_two_names() {
    let snake = |name: &str| {
        name.chars().fold(String::new(), |text, c| match c.is_ascii_uppercase() {
            true => text + "_" + &c.to_ascii_lowercase().to_string(),
            false => text + &c.to_string(),
        })
    };
    walk(&document(&ROUTES)["components"]["schemas"], &mut |key, value| {
        let fields = value.as_object().filter(|_| key == "properties").into_iter().flatten();
        for (name, _) in fields.filter(|(name, _)| name.contains(|c: char| c.is_ascii_uppercase())) {
            assert!(CAMEL.contains(&name.as_str()), "{name} is no name of the specification");
            let twin = snake(name);
            let twins = [twin.as_str(), twin.trim_start_matches("is_")];
            assert!(twins.iter().all(|twin| value.get(twin).is_none()), "{name} and {twin} are one value");
        }
    });
}

#[test]
fn every_required_text_of_a_request_has_a_least_length() {
    let document = document(&ROUTES);
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for field in required.filter(|_| schema["additionalProperties"] == false) {
            let shape = &schema["properties"][field];
            let is_text = shape["type"] == "string" && shape.get("format").is_none() && shape.get("enum").is_none();
            let is_bounded = shape["pattern"].is_string() || shape["minLength"].as_u64().is_some_and(|least| least > 0);
            assert!(!is_text || is_bounded || name == "Forgotten", "{name}.{field} may be empty");
        }
    }
}
