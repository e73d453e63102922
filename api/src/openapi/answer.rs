//! The answers of an endpoint: their common headers, and each refusal under its status.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::code::Code;
use crate::http::error::PROBLEM_JSON;

/// Adds the refusals, and the words and headers of the successes.
pub fn complete(operation: &mut Value, codes: &BTreeSet<&'static str>, refusals: &mut Map<String, Value>) {
    let open = operation["x-access"]["kind"] == "open";
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for (status, response) in responses.iter_mut() {
        response["description"] = json!(meaning(status));
        let own: Vec<_> = response["headers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        response["headers"] = own.iter().map(|name| (name.clone(), header(name))).collect();
        response["headers"]["X-Request-Id"] = header("X-Request-Id");
        if matches!(status.as_str(), "201" | "202") {
            response["headers"]["Location"] = header("Location");
        }
        if !open {
            response["headers"]["RateLimit"] = header("RateLimit");
            response["headers"]["RateLimit-Policy"] = header("RateLimit-Policy");
        }
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL.iter().filter(|code| codes.contains(code.as_str())) {
        by_status.entry(code.status()).or_default().push(*code);
    }
    for (status, codes) in by_status {
        let name = name(status, &codes);
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
        refusals.entry(name).or_insert_with(|| refusal(status, &codes));
    }
}

/// Many operations refuse alike, so the refusals are shared. The name is that of the list, whatever else there is.
fn name(status: u16, codes: &[Code]) -> String {
    let words: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
    let hash = format!("{:x}", Sha256::digest(words.join(" ")));
    format!("Refusal{status}_{}", &hash[..8])
}

fn refusal(status: u16, codes: &[Code]) -> Value {
    let lines = codes.iter().map(|code| format!("- `{}`: {}.", code.as_str(), code.title()));
    let words: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
    let examples: Map<_, _> =
        codes.iter().map(|code| (code.as_str().to_owned(), json!({ "value": example(*code) }))).collect();
    let mut response = json!({
        "description": lines.collect::<Vec<_>>().join("\n"),
        "headers": { "X-Request-Id": header("X-Request-Id") },
        "content": { PROBLEM_JSON: {
            "schema": { "$ref": "#/components/schemas/Problem", "properties": { "code": { "enum": words }, "status": { "const": status } } },
            "examples": examples,
        } },
    });
    if matches!(status, 429 | 503 | 504) {
        response["headers"]["Retry-After"] = header("Retry-After");
    }
    if status == 401 {
        response["headers"]["WWW-Authenticate"] = header("WWW-Authenticate");
    }
    response
}

fn example(code: Code) -> Value {
    let problem = match code {
        Code::ValidationFailed => {
            crate::http::error::Problem::field("/reason", "required", "The field reason is missing.")
        }
        code => crate::http::error::Problem::bare(code),
    };
    problem.body("", "/v1/auth/me", "req_01jc8yq3k5e9v8w2m4n6p7r9st")
}

fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// The headers that answers carry.
pub fn headers() -> Value {
    let text = |description: &str, example: &str| json!({ "description": description, "schema": { "type": "string" }, "example": example });
    json!({
        "X-Request-Id": text("The caller's own id where it is sound, else a new one. It stands in every line of our log.", "req_01jc8yq3k5e9v8w2m4n6p7r9st"),
        "Content-Disposition": text("That it is a file, and its name.", "attachment; filename=\"inv_01jc8yq3k5e9v8w2m4n6p7r9st.json\""),
        "ETag": text("The version of what is answered, for If-Match and If-None-Match.", "\"v7-11577240143062031124\""),
        "Location": text("Where it is, or where to watch.", "/v1/offerings/off_01jc8yq3k5e9v8w2m4n6p7r9st"),
        "RateLimit": text("Where the caller stands: what is left, and in how many seconds all of it is back. Absent where there is no limit.", "\"user-read\";r=599;t=1"),
        "RateLimit-Policy": text("The limit: so many requests in so many seconds.", "\"user-read\";q=600;w=60"),
        "Retry-After": { "description": "After how many seconds it is worth trying again.", "schema": { "type": "integer" }, "example": 1 },
        "WWW-Authenticate": text("What is wrong with the token (RFC 6750).", "Bearer error=\"invalid_token\""),
    })
}

fn meaning(status: &str) -> &'static str {
    match status {
        "201" => "It was made; the header Location says where it is.",
        "202" => "It was accepted and is done later; the header Location, where there is one, says where to watch.",
        "204" => "Done; there is nothing to say.",
        "304" => "It is as the caller knows it.",
        _ => "Done.",
    }
}
