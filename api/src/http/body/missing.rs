//! The required fields that a body leaves out, by the schema of its type. serde names only the first one.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::http::pointer::step;

/// The schema of a body, with the schemas that it refers to.
pub struct Schemas {
    body: RefOr<Schema>,
    // By name.
    named: Vec<(String, RefOr<Schema>)>,
}

impl Schemas {
    /// The schemas of a body type.
    pub fn of<T: ToSchema>() -> Self {
        let mut named = Vec::new();
        T::schemas(&mut named);
        Self { body: T::schema(), named }
    }
}

/// The JSON pointers of the missing fields.
pub fn pointers(schemas: Schemas, sent: &Value) -> Vec<String> {
    let named = schemas.named.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
    let mut found = Vec::new();
    search(&json!(schemas.body), &named, sent, "", &mut found);
    found
}

fn search(schema: &Value, named: &BTreeMap<String, Value>, sent: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        if let Some(schema) = named.get(name) {
            search(schema, named, sent, path, found);
        }
        return;
    }
    // A field that may be null is either null or one other thing.
    let other = |ways: &Vec<Value>| ways.iter().filter(|way| way["type"] != "null").cloned().collect::<Vec<_>>();
    if let Some([one]) = schema["oneOf"].as_array().map(other).as_deref() {
        search(one, named, sent, path, found);
    }
    match sent {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            found.extend(required.filter(|name| !fields.contains_key(*name)).map(|name| path.to_owned() + &step(name)));
            for (name, field) in fields {
                if let Some(schema) = schema["properties"].get(name) {
                    search(schema, named, field, &(path.to_owned() + &step(name)), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                search(&schema["items"], named, item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}
