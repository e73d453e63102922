//! The form of a field in requests, by its name: the server refuses what has another one.

use serde_json::{Value, json};

const ID: &str = "_[0-7][0-9a-hjkmnp-tv-z]{25}$";

/// The field, and the pattern of its text or of each of its items.
const PATTERNS: &[(&str, &str)] = &[
    ("allowed_countries", "^[A-Z]{2}$"),
    ("blocked_countries", "^[A-Z]{2}$"),
    ("cap_units", "^[1-9][0-9]*$"),
    ("country", "^[A-Z]{2}$"),
    ("quantity", "^(0|[1-9][0-9]*)([.][0-9]+)?$"),
    ("supply_units", "^[1-9][0-9]*$"),
];

/// The field, and the prefix of its id or ids.
const IDS: &[(&str, &str)] = &[
    ("consent_document_id", "doc"),
    ("entitlement_ids", "ent"),
    ("investor_id", "inv"),
    ("issuer_id", "iss"),
    ("offering_id", "off"),
    ("offering_ids", "off"),
    ("operation_ids", "op"),
    ("subscription_ids", "sub"),
];

/// Adds the form to every field of a request that has none. Only requests refuse unknown fields.
pub fn add(schemas: &mut Value) {
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        if schema["additionalProperties"] != json!(false) {
            continue;
        }
        // Who forgot a password gets the same answer whatever the address is.
        if name != "Forgotten" {
            fill_required(schema);
        }
        for (field, schema) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            let Some(mut pattern) = pattern(field) else { continue };
            // A recovery can concern all offerings.
            if name == "Recover" && field == "offering_id" {
                pattern = format!("^(all|off{}", ID.replace('$', ")$"));
            }
            let text = if schema.get("items").is_some() { &mut schema["items"] } else { schema };
            if text.get("pattern").is_none() && text.get("$ref").is_none() {
                text["pattern"] = json!(pattern);
            }
        }
    }
}

/// A text that must be sent must say something.
fn fill_required(schema: &mut Value) {
    let required = schema["required"].clone();
    for name in required.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let Some(field) = schema.get_mut("properties").and_then(|fields| fields.get_mut(name)) else { continue };
        let is_formed = ["minLength", "pattern", "format", "enum"].iter().any(|word| field.get(word).is_some());
        if field["type"] == "string" && !is_formed {
            field["minLength"] = json!(1);
        }
    }
}

/// The form of the ids with a prefix.
pub fn of_id(prefix: &str) -> String {
    format!("^{prefix}{ID}")
}

fn pattern(field: &str) -> Option<String> {
    let id = IDS.iter().find(|(name, _)| *name == field).map(|(_, prefix)| of_id(prefix));
    id.or_else(|| PATTERNS.iter().find(|(name, _)| *name == field).map(|(_, pattern)| (*pattern).to_owned()))
}
