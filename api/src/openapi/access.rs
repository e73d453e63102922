//! The part of the document that follows from the row of an endpoint and from the limits.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::access::permission::Access;
use crate::access::route::Route;
use crate::code::Code;
use crate::config::Limits;
use crate::config::rates::Rates;

const BEARER: &str = "bearer";

/// How a caller shows who calls.
pub fn schemes() -> Value {
    json!({ BEARER: {
        "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
        "description": "The access token of a session (POST /v1/auth/login), or an API key (rap_live_…), which acts for its owner within its \
            scopes. The scope that a key needs stands at the operation.",
    } })
}

/// The requirement of one operation. The scope that a key needs stands in `x-access`: tools take scopes only of OAuth.
pub fn security(route: &Route) -> Value {
    match route.access {
        Access::Open | Access::Door => json!([]),
        Access::Public => json!([{}, { BEARER: [] }]),
        Access::Person { .. } | Access::Caller { .. } => json!([{ BEARER: [] }]),
    }
}

/// The row of the table, for programs.
pub fn extension(route: &Route) -> Value {
    match route.access {
        Access::Open => json!({ "kind": "open" }),
        Access::Door => json!({ "kind": "door" }),
        Access::Public => json!({ "kind": "public" }),
        Access::Person { roles } if route.step_up => json!({ "kind": "person", "roles": roles, "step_up": true }),
        Access::Person { roles } => json!({ "kind": "person", "roles": roles }),
        Access::Caller { roles, scope } => json!({ "kind": "caller", "roles": roles, "scope": scope }),
    }
}

/// Whether a session has to send its CSRF token.
pub fn takes_csrf_token(route: &Route) -> bool {
    route.writes() && matches!(route.access, Access::Person { .. } | Access::Caller { .. })
}

/// Its header.
pub fn csrf_parameter() -> Value {
    json!({ "name": "X-CSRF-Token", "in": "header", "required": false,
        "schema": { "type": "string", "pattern": "^[A-Za-z0-9_-]+$" }, "example": "AQAAAABnPmTjb3JyZWN0IGhvcnNlIGJhdHRlcnk",
        "description": "The token of the session, by GET /v1/csrf-token. A session has to send it with every change; an API key need not." })
}

/// The access and the limits, in words.
pub fn in_words(route: &Route) -> String {
    let list =
        |roles: &[muniment_domain::user::Role]| roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ");
    let who = match route.access {
        Access::Open => "For everybody; no token is looked at.".to_owned(),
        Access::Door => "Without a token: here one gets one.".to_owned(),
        Access::Public => "For everybody; a token that is sent must be valid, and may show more.".to_owned(),
        Access::Person { roles } => format!("For a session of: {}. Not for API keys.", list(roles)),
        Access::Caller { roles, scope } => {
            format!("For a session of: {}; or for the API key of such a person with the scope `{scope}`.", list(roles))
        }
    };
    let fresh = " The person has to have shown again who they are, by POST /v1/auth/step-up.";
    let who = if route.step_up { who + fresh } else { who };
    let who = if route.proved_email { who + " The e-mail address must be verified." } else { who };
    let (rates, body) = (Rates::default(), Limits::default().body_bytes_max);
    let session = route.rate.per_minute(&rates);
    let rate = match route.access {
        Access::Open => return who,
        Access::Door => format!("{session} requests a minute for each address"),
        Access::Public => {
            format!("{} requests a minute for each address, {session} with a token", rates.anonymous_per_minute)
        }
        Access::Person { .. } => format!("{session} requests a minute"),
        Access::Caller { .. } => format!("{session} requests a minute, {} for a key", rates.key_per_minute),
    };
    let body = if route.writes() { format!(", a body of {body} bytes") } else { String::new() };
    format!("{who}\n\nLimits, unless configured otherwise: {rate}{body}.")
}

/// Every code of the endpoint: its own, which the handler's attribute lists, and the codes of the layers before it.
pub fn codes(route: &Route, operation: &mut Value) -> BTreeSet<&'static str> {
    let own = operation.as_object_mut().and_then(|fields| fields.remove("x-codes"));
    let named = |word: &Value| Code::ALL.iter().find(|code| Some(code.as_str()) == word.as_str());
    let mut codes: Vec<Code> = own.iter().flat_map(|own| own.as_array()).flatten().filter_map(named).copied().collect();
    codes.extend([Code::NotAcceptable, Code::UriTooLong, Code::HeadTooLarge]);
    codes.extend([Code::InternalError, Code::ServiceUnavailable]);
    if route.access != Access::Open {
        codes.push(Code::RateLimited);
    }
    if route.access == Access::Door {
        codes.push(Code::Forbidden);
    }
    if !matches!(route.access, Access::Open | Access::Door) {
        codes.extend([Code::TokenMissing, Code::TokenInvalid, Code::TokenExpired, Code::SessionRevoked]);
        codes.extend([Code::IpNotAllowed, Code::AccountDisabled]);
    }
    if let Access::Person { roles } | Access::Caller { roles, .. } = route.access {
        codes.push(Code::RoleForbidden);
        if route.step_up || roles.iter().any(|role| role.is_staff()) {
            codes.push(Code::StepUpRequired);
        }
    }
    if route.proved_email {
        codes.push(Code::EmailNotVerified);
    }
    if matches!(route.access, Access::Caller { .. }) {
        codes.push(Code::ScopeInsufficient);
    }
    if takes_csrf_token(route) {
        codes.extend([Code::CsrfTokenMissing, Code::CsrfTokenInvalid, Code::CsrfTokenExpired]);
    }
    if route.writes() {
        codes.extend([Code::BodyTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType]);
    }
    if operation["requestBody"].is_object() {
        codes.extend([Code::MalformedJson, Code::ValidationFailed]);
    }
    codes.extend(parameter_codes(operation));
    if codes.contains(&Code::IdempotencyKeyInvalid)
        && matches!(route.access, Access::Caller { .. })
        && route.requires_idempotency_key
    {
        codes.push(Code::IdempotencyKeyRequired);
    }
    codes.into_iter().map(Code::as_str).collect()
}

/// The codes of parameters and headers.
fn parameter_codes(operation: &Value) -> Vec<Code> {
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |key: &str, value: &str| parameters.iter().any(|parameter| parameter[key] == value);
    let mut codes = Vec::new();
    if has("in", "query") {
        codes.extend([Code::InvalidParameter, Code::UnknownParameter]);
    }
    if has("in", "path") {
        codes.push(Code::NotFound);
    }
    if has("name", "Idempotency-Key") {
        codes.extend([Code::IdempotencyKeyInvalid, Code::IdempotencyKeyReuse]);
        codes.extend([Code::IdempotencyInProgress, Code::IdempotencyKeySpent]);
    }
    if let Some(tag) = parameters.iter().find(|parameter| parameter["name"] == "If-Match") {
        codes.extend([Code::InvalidHeader, Code::VersionConflict]);
        codes.extend((tag["required"] == true).then_some(Code::PreconditionRequired));
    }
    codes
}
