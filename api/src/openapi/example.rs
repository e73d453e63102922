//! Examples, made from the schemas, so that they always match.

use serde_json::{Map, Value, json};

use super::request;

/// An example for each field name. A test reports missing names.
const TEXTS: &[(&str, &str)] = &[
    ("accept_terms_version", "2026-09"),
    ("accepted_terms_version", "2026-09"),
    ("access_token", "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c3JfMDFqYyJ9.c2lnbmF0dXJl"),
    ("actor", "usr_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("allowed_cidrs", "203.0.113.0/24"),
    ("allowed_countries", "PT"),
    ("allowed_transitions", "approve"),
    ("approved_by", "usr_01jc8yq3k5e9v8w2m4n6p7r9sv"),
    ("balance_wei", "2500000000000000000"),
    ("base_units", "25000"),
    ("block_hash", "0x5c3a7e1d9b2f4860a1c5e7d9b3f8264051c3a7e1d9b2f4860a1c5e7d9b3f8264"),
    ("blocked_countries", "US"),
    ("blocked_reason", "lane_paused"),
    ("checker", "usr_01jc8yq3k5e9v8w2m4n6p7r9sv"),
    ("comment", "Checked against the court's order."),
    ("country", "PT"),
    ("cover_image_url", "https://files.example/solar-park.jpg"),
    ("created_by", "usr_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("currency", "EUR"),
    ("current_password", "a horse that staples"),
    ("current_status", "draft"),
    ("decision_reason", "Checked against the court's order."),
    ("description", "A share in a solar park."),
    ("detail", "The field reason is missing."),
    ("email", "ada@investor.example"),
    ("endpoint_warning", "rpc-2.example stands still at block 21044170"),
    ("entitlements_root", "0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("explorer_url", "https://sepolia.etherscan.io/address/0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ("external_reference", "E2E-2026-11-20-0042"),
    ("finality", "tag"),
    ("hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("head_hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("idempotency_key", "mint-2026-11-20-a"),
    ("instance", "/v1/auth/me"),
    ("ip", "203.0.113.7"),
    ("issuer_id", "iss_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("issuer_name", "Solar Park Alentejo Lda"),
    ("key", "rap_live_4f9GhJk2mNpQrStUvWxYz3aBcDeFgHiJkLmNoPqRsT0a1b2c"),
    ("lane_reason", "The key is being exchanged."),
    ("last_answer", "already known"),
    ("legal_name", "Ada Almeida"),
    ("locked_base_units", "0"),
    ("locked_quantity", "0.00"),
    ("maker", "usr_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("max_fee_per_gas", "30000000000"),
    ("max_priority_fee_per_gas", "1000000000"),
    ("maximum", "10000000.00"),
    ("memo", "The fourth quarter."),
    ("message", "execution reverted: CapExceeded"),
    ("mfa_token", "usr_01jc8yq3k5e9v8w2m4n6p7r9st.1763674867.c29tZSBjb2Rl"),
    ("minimum", "0.00"),
    ("name", "Ada Almeida"),
    ("network", "sepolia"),
    ("new_password", "correct horse battery"),
    ("next_after", "op_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("offering_name", "Solar Park Alentejo"),
    ("organization_name", "Solar Park Alentejo Lda"),
    ("outcome", "signed"),
    ("partition", "1"),
    ("password", "correct horse battery"),
    ("payload_hash", "0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("payload_sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("permissions", "me:read"),
    ("pointer", "/reason"),
    ("predicted_address", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ("prefix", "rap_live_4f9G"),
    ("quantity", "250.00"),
    ("reason", "The register says so."),
    ("refresh_token", "rt_ses_01jc8yq3k5e9v8w2m4n6p7r9st.0.c29tZSBjb2Rl"),
    ("replaced_by", "key_01jc8yq3k5e9v8w2m4n6p7r9sv"),
    ("report_sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("request_id", "req_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("requested_by", "usr_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("resource", "/blockchain/operations/op_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("revert_data", "0x6f7a1b2c"),
    ("revert_reason", "CapExceeded"),
    ("scopes", "me:read"),
    ("sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("snapshot_sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("status_reason", "changed my mind"),
    ("submitted_by", "usr_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("subscription_ids", "sub_01jc8yq3k5e9v8w2m4n6p7r9st"),
    ("supply_units", "100000000"),
    ("terms_sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("title", "A field does not fit"),
    ("token_symbol", "SOLAR"),
    ("tx_hash", "0x7d1afa7b718fb893db30a3abc0cfc608aacfebb0f1a3c4d5e6f708192a3b4c5d"),
    ("type", "https://portal.example/errors/validation_failed"),
    ("url", "https://files.example/risks.pdf"),
    ("user_agent", "Mozilla/5.0"),
];

/// The example of an unknown name. A test finds it.
pub const UNKNOWN: &str = "?";

/// Gives every body of the document its example.
pub fn fill(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, path) in paths {
        for operation in path.as_object_mut().into_iter().flatten().map(|(_, operation)| operation) {
            if let Some(body) = operation.get_mut("requestBody") {
                if let Some(content) = body.pointer_mut("/content/application~1json")
                    && let Some(example) = request::example(&content["schema"]["$ref"])
                {
                    content["example"] = example;
                }
                give(body, &schemas);
            }
            for (_, response) in operation["responses"].as_object_mut().into_iter().flatten() {
                give(response, &schemas);
            }
        }
    }
}

fn give(message: &mut Value, schemas: &Value) {
    let content = message.get_mut("content").and_then(Value::as_object_mut);
    for (kind, body) in content.into_iter().flatten() {
        if kind == "application/json" && body.get("example").is_none() {
            body["example"] = of(&body["schema"], "", schemas);
        }
    }
}

fn of(schema: &Value, name: &str, schemas: &Value) -> Value {
    if let Some(example) = schema.get("example") {
        return example.clone();
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return of(&schemas[target], name, schemas);
    }
    if let Some(word) = schema["enum"].get(0) {
        return word.clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let fields = parts.iter().filter_map(|part| match of(part, name, schemas) {
            Value::Object(fields) => Some(fields),
            _ => None,
        });
        return fields.flatten().collect::<Map<_, _>>().into();
    }
    if let Some(ways) = schema["oneOf"].as_array() {
        let way = ways.iter().find(|way| way["type"] != "null");
        return way.map_or(Value::Null, |way| of(way, name, schemas));
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect::<Vec<_>>(),
    };
    match kinds.into_iter().find(|kind| *kind != "null") {
        Some("object") => object(schema, schemas),
        Some("array") => json!([of(&schema["items"], name, schemas)]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => schema.get("default").or(schema.get("minimum")).cloned().unwrap_or(json!(1)),
        Some("string") if schema["format"] == "date-time" => json!("2026-11-20T21:41:07.123Z"),
        Some("string") => json!(TEXTS.iter().find(|(known, _)| *known == name).map_or(UNKNOWN, |(_, text)| text)),
        _ => Value::Null,
    }
}

fn object(schema: &Value, schemas: &Value) -> Value {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut example: Map<_, _> = fields.map(|(name, field)| (name.clone(), of(field, name, schemas))).collect();
    if let (true, Some(more)) = (example.is_empty(), schema["additionalProperties"].as_object()) {
        let name = schema["propertyNames"]["enum"][0].as_str().unwrap_or("name").to_owned();
        example.insert(name, of(&json!(more), "", schemas));
    }
    example.into()
}
