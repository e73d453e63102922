//! The OpenAPI 3.1 document. Bodies and answers are described beside the handlers; this module computes the rest from the rows of the
//! endpoints, the code table and the limits.

mod access;
mod answer;
mod event;
mod example;
mod field;
mod form;
mod link;
mod name;
mod parameter;
mod request;
mod tag;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::access::route::Route;
use crate::http::error;

/// The interface of the platform, as a portal integrates it.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Muniment",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
        contact(name = "The operator of this installation"),
        description = "Offerings, subscriptions, tokens and distributions, for portals and operators.\n\n\
            A refusal is `application/problem+json` (RFC 9457); its `code` is stable, and clients decide by it. Money is a string with two \
            decimals. Times are RFC 3339 in UTC. Lists take `page` and `limit`. Paths under `/v1` change only by additions; those under \
            `/blockchain` are for operators and carry no such promise."
    ),
    servers((url = "/", description = "The installation that serves this document")),
    components(schemas(error::Body))
)]
struct Interface;

/// The 26 characters of an id in an example.
const EXAMPLE: &str = "01jc8yq3k5e9v8w2m4n6p7r9st";

/// The document as a file: written for people to compare.
pub fn text(routes: &[Route]) -> String {
    format!("{:#}\n", document(routes))
}

/// The document.
pub fn document(routes: &[Route]) -> Value {
    let mut whole = Interface::openapi();
    routes.iter().for_each(|route| whole.merge(route.document.clone()));
    let mut document = json!(whole);
    show_ids(&mut document["paths"], true);
    show_ids(&mut document["components"], false);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| !name.starts_with("Id_"));
    }
    refer_to_items(&mut document["components"]["schemas"]);
    require_what_is_always_there(&mut document["components"]["schemas"]);
    field::describe(&mut document["components"]["schemas"]);
    form::add(&mut document["components"]["schemas"]);
    event::add(&mut document["components"]["schemas"]);
    let mut refusals = Map::new();
    for route in routes {
        let path = document["paths"].get_mut(&route.path);
        let Some(operation) = path.and_then(|path| path.get_mut(route.method.as_str().to_lowercase())) else {
            continue;
        };
        describe(operation, route);
        let codes = access::codes(route, operation);
        answer::complete(operation, &codes, &mut refusals);
    }
    document["components"]["responses"] = Value::Object(refusals);
    document["components"]["parameters"] = json!({ "CsrfToken": access::csrf_parameter() });
    document["components"]["headers"] = answer::headers();
    document["components"]["securitySchemes"] = access::schemes();
    parameter::name_statuses(&mut document);
    name::give(&mut document);
    document["tags"] = tag::used(&document);
    link::add(&mut document);
    example::fill(&mut document);
    document
}

/// Adds what every endpoint has: a tag, the access, the limits and the path parameters.
fn describe(operation: &mut Value, route: &Route) {
    let path = route.path.as_str();
    operation["tags"] = json!([tag::of(path)]);
    let summary = operation["summary"].as_str().unwrap_or_default();
    // The doc comment may begin with the path; the document already shows it.
    let summary = summary.split_once("`: ").map_or(summary, |(_, rest)| rest).to_owned();
    let mut letters = summary.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    operation["summary"] = json!(capital);
    let more = operation["description"].as_str().map(|text| format!("{text}\n\n")).unwrap_or_default();
    operation["description"] = json!(format!("{more}{}", access::in_words(route)));
    // An optional body is not null.
    let body = operation.pointer_mut("/requestBody/content/application~1json/schema");
    if let Some(schema) = body.filter(|schema| may_be_null(schema)) {
        *schema = schema["oneOf"][0].take();
    }
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten();
    parameters.filter_map(|parameter| parameter.get_mut("schema")).for_each(cannot_be_null);
    operation["security"] = access::security(route);
    operation["x-access"] = access::extension(route);
    let parameters = operation.as_object_mut().map(|fields| fields.entry("parameters").or_insert_with(|| json!([])));
    if let Some(Value::Array(parameters)) = parameters {
        parameters.extend(parameter::of_path(path));
        parameter::describe(parameters);
        if access::takes_csrf_token(route) {
            parameters.push(json!({ "$ref": "#/components/parameters/CsrfToken" }));
        }
    }
}

/// A field of an answer that may be null is there all the same. (What requests take is closed by `deny_unknown_fields`, and stays.)
fn require_what_is_always_there(schemas: &mut Value) {
    match schemas {
        Value::Object(fields) => {
            let open = fields.get("additionalProperties") != Some(&json!(false));
            if let Some(Value::Object(properties)) = fields.get("properties").filter(|_| open) {
                // Fields that only some callers see are optional.
                let always = |schema: &Value| may_be_null(schema) && schema.get("x-shown-to").is_none();
                let nullable = properties.iter().filter(|(_, schema)| always(schema));
                let mut required: Vec<_> = nullable.map(|(name, _)| json!(name)).collect();
                required.extend(fields.get("required").and_then(Value::as_array).into_iter().flatten().cloned());
                required.sort_by_key(Value::to_string);
                required.dedup();
                if !required.is_empty() {
                    fields.insert("required".to_owned(), required.into());
                }
            }
            fields.values_mut().for_each(require_what_is_always_there);
        }
        Value::Array(items) => items.iter_mut().for_each(require_what_is_always_there),
        _ => {}
    }
}

/// Lets each list refer to the schema of its items. utoipa writes the argument of a generic type inline, so that generators of clients would
/// make a second type of it.
fn refer_to_items(schemas: &mut Value) {
    let Some(schemas) = schemas.as_object_mut() else { return };
    let mut items = Vec::new();
    for (list, schema) in schemas.iter_mut() {
        let Some(name) = list.strip_prefix("List_").or_else(|| list.strip_prefix("Scroll_")) else { continue };
        let Some(inline) = schema.pointer_mut("/properties/data/items") else { continue };
        let schema = std::mem::replace(inline, json!({ "$ref": format!("#/components/schemas/{name}") }));
        items.push((name.to_owned(), schema));
    }
    for (name, schema) in items {
        schemas.entry(name).or_insert(schema);
    }
}

/// Shows every id as a string with an example of its kind; parameters with its form too. To clients a kind is no schema of its own.
fn show_ids(schema: &mut Value, with_form: bool) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(|schema| show_ids(schema, with_form));
            let id =
                fields.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/components/schemas/Id_"));
            if let Some(prefix) = id.map(str::to_owned) {
                fields.remove("$ref");
                fields.insert("type".to_owned(), json!("string"));
                fields.insert("example".to_owned(), json!(format!("{prefix}_{EXAMPLE}")));
                if with_form {
                    fields.insert("pattern".to_owned(), json!(form::of_id(&prefix)));
                }
            }
            let ways = fields.get("oneOf").and_then(Value::as_array).filter(|ways| ways.len() == 2);
            let or_null = ways.filter(|ways| ways.iter().any(|way| *way == json!({ "type": "null" })));
            let id = or_null.and_then(|ways| ways.iter().find(|way| way["type"] == "string"));
            if let Some(Value::Object(id)) = id.cloned() {
                fields.remove("oneOf");
                fields.extend(id);
                fields.insert("type".to_owned(), json!(["string", "null"]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|schema| show_ids(schema, with_form)),
        _ => {}
    }
}

/// A parameter that is sent has a text.
fn cannot_be_null(schema: &mut Value) {
    if let Some(kinds) = schema["type"].as_array() {
        schema["type"] = kinds.iter().find(|kind| *kind != "null").cloned().unwrap_or_default();
    }
    if let Some(way) = schema["oneOf"].as_array().and_then(|ways| ways.iter().find(|way| way["type"] != "null")) {
        *schema = way.clone();
    }
}

fn may_be_null(schema: &Value) -> bool {
    let null = |kind: &Value| kind == "null";
    schema["type"].as_array().is_some_and(|types| types.iter().any(null))
        || schema["oneOf"].as_array().is_some_and(|ways| ways.iter().any(|way| null(&way["type"])))
}
