//! The parameters of paths, and descriptions of those that many lists have.

use serde_json::{Value, json};

/// The kind of id behind a word of a path.
const IDS: [(&str, &str); 18] = [
    ("api-keys", "key"),
    ("approvals", "apr"),
    ("deliveries", "dlv"),
    ("distributions", "dist"),
    ("endpoints", "whe"),
    ("entitlements", "ent"),
    ("events", "evt"),
    ("investors", "inv"),
    ("issuers", "iss"),
    ("members", "usr"),
    ("offerings", "off"),
    ("operations", "op"),
    ("reconciliation-runs", "rec"),
    ("sessions", "ses"),
    ("signers", "lan"),
    ("subscriptions", "sub"),
    ("users", "usr"),
    ("wallets", "wal"),
];

/// Path parameters that are not ids: name, pattern and example.
const OTHERS: [(&str, &str, &str); 5] = [
    ("address", "^0x[0-9a-fA-F]{40}$", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ("chain_id", "^[1-9][0-9]{0,17}$", "31337"),
    ("code", "^[a-z_]{1,64}$", "validation_failed"),
    ("line", "^(aud_[0-7][0-9a-hjkmnp-tv-z]{25}|[1-9][0-9]{0,17})$", "aud_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("partition", "^(0|[1-9][0-9]{0,9})$", "1"),
];

/// The parameters of a path.
pub fn of_path(path: &str) -> Vec<Value> {
    let words: Vec<_> = path.split('/').collect();
    let named = words.windows(2).filter_map(|pair| Some((pair[0], pair[1].strip_prefix('{')?.strip_suffix('}')?)));
    named
        .map(|(noun, name)| {
            let kind = IDS.iter().find(|(word, _)| *word == noun).map_or("id", |(_, kind)| kind);
            let id = (format!("^{kind}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$"), format!("{kind}_01jc8yq3k5e9v8w2m4n6p7r9st"));
            let other = OTHERS.iter().find(|(word, ..)| *word == name);
            let (pattern, example) = other.map_or(id, |(_, form, example)| ((*form).to_owned(), (*example).to_owned()));
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "pattern": pattern },
                "description": description(noun, name), "example": example })
        })
        .collect()
}

fn description(noun: &str, name: &str) -> String {
    match name {
        "address" => "An address on the chain.".to_owned(),
        "code" => "The code of an error.".to_owned(),
        "line" => "The id of an entry, or its position.".to_owned(),
        "partition" => "The number of a partition.".to_owned(),
        _ => {
            let one = noun.strip_suffix("ies").map_or(noun.trim_end_matches('s').to_owned(), |stem| format!("{stem}y"));
            format!("The id of the {}.", one.replace('-', " ").replace("api key", "API key"))
        }
    }
}

/// Filters of lists: name and description. A description beside the parameter itself comes first.
const FILTERS: [(&str, &str); 22] = [
    ("action", "Only this action."),
    ("actor", "Only what this user, or this part of the platform, did."),
    ("batch_id", "Only operations of this batch."),
    ("chain_id", "Only this chain."),
    ("country", "Only this country (ISO 3166-1)."),
    ("created_from", "Only what was created at this time or later."),
    ("created_to", "Only what was created at this time or earlier."),
    ("format", "The form of the answer: `json` or `csv`."),
    ("from", "The first position or time."),
    ("investor_id", "Only this investor."),
    ("issuer_id", "Only this issuer."),
    ("kind", "Only this kind."),
    ("needs_attention", "Only those for which an operator must act, or only the others."),
    ("offering_id", "Only this offering."),
    ("q", "Only what contains this text."),
    ("role", "Only this role."),
    ("signer", "Only this signer."),
    ("status", "Only this status."),
    ("subject_id", "Only what is about this object."),
    ("to", "The last position or time."),
    ("type", "Only this kind."),
    ("year", "The calendar year."),
];

/// Describes the parameters that have no description of their own.
pub fn describe(parameters: &mut [Value]) {
    for parameter in parameters.iter_mut().filter(|p| p.get("description").is_none() && p.get("$ref").is_none()) {
        if let Some((_, text)) = FILTERS.iter().find(|(name, _)| parameter["name"] == *name) {
            parameter["description"] = json!(text);
        }
    }
}

/// Names the words that each filter by status takes: those of the status of what the list shows.
pub fn name_statuses(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    let operations = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in operations.filter_map(|path| path.get_mut("get")) {
        let list = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let words = field(&schemas, list, "data").and_then(|data| status(&schemas, &data["items"]));
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten();
        for parameter in parameters.filter(|p| p["name"] == "status" && p["in"] == "query") {
            if let (Some(words), Some(text)) = (&words, parameter["description"].as_str()) {
                parameter["description"] = json!(format!("{text} Known: `{}`.", words.join("`, `")));
            }
        }
    }
}

fn status(schemas: &Value, item: &Value) -> Option<Vec<String>> {
    // An investor's status is that of the identity check.
    let shown = field(schemas, item, "status").or_else(|| field(schemas, field(schemas, item, "kyc")?, "status"))?;
    let words = resolved(schemas, shown)["enum"].as_array()?.iter();
    Some(words.filter_map(|word| word.as_str().map(str::to_owned)).collect())
}

/// A field of a schema, or of one of those that it is made of.
fn field<'a>(schemas: &'a Value, schema: &'a Value, name: &str) -> Option<&'a Value> {
    let schema = resolved(schemas, schema);
    let parts = ["allOf", "oneOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
    schema["properties"].get(name).or_else(|| parts.into_iter().find_map(|part| field(schemas, part, name)))
}

fn resolved<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.and_then(|name| schemas.get(name)).unwrap_or(schema)
}
