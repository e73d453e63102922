//! Problems: what an answer that is not a success looks like (RFC 9457).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use muniment_domain::Error;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::code::Code;

/// What a handler returns.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

/// Where a code is explained; the code is appended.
const TYPE_PREFIX: &str = "https://docs.example/errors/";

/// One problem. It travels as an extension of the response, because the request's path and id are known further out.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The stable code.
    pub code: Code,
    // Boxed, because every result carries the room for it and few carry one.
    more: Box<More>,
}

#[derive(Clone, Debug, Default)]
struct More {
    detail: Option<String>,
    fields: Vec<Field>,
    resource: Option<String>,
    checks: Option<Value>,
    // The state that stands in the way, and the moves that it allows.
    state: Option<(&'static str, Vec<&'static str>)>,
    authenticate: Option<String>,
    retry_after: Option<u64>,
    // For the log, never for the answer.
    cause: Option<String>,
}

/// What is wrong with one field of the body.
#[derive(Clone, Debug)]
pub struct Field {
    /// Where it is: a JSON pointer.
    pub pointer: String,
    /// A stable code of its own.
    pub code: &'static str,
    /// A sentence.
    pub detail: String,
    /// What would have fitted, for a program.
    pub params: Option<Value>,
}

/// A problem as a client gets it (RFC 9457). Clients decide by `code`; the rest is for people. What there is not to say is left out.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Body {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    code: Code,
    instance: String,
    request_id: String,
    /// Whether the very same request may succeed later.
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    detail: Option<String>,
    /// Where the thing is found that stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    resource: Option<String>,
    /// What was looked at, passed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Vec<Object>)]
    checks: Option<Value>,
    /// The state that stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    current_status: Option<&'static str>,
    /// The moves that it allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    allowed_transitions: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    errors: Option<Vec<Misfit>>,
}

/// What is wrong with one field.
#[derive(Serialize, ToSchema)]
struct Misfit {
    pointer: String,
    code: &'static str,
    detail: String,
    /// What would have fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Object)]
    params: Option<Value>,
}

impl Problem {
    /// A problem with a sentence for a person.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, more: Box::new(More { detail: Some(detail.into()), ..More::default() }) }
    }

    /// A problem whose title says it all.
    pub fn bare(code: Code) -> Self {
        Self { code, more: Box::default() }
    }

    /// A field of the body that does not fit.
    pub fn field(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::at(Code::ValidationFailed, pointer.into(), code, detail.into())
    }

    /// A place of the body that is no sound JSON.
    pub fn malformed(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::at(Code::MalformedJson, pointer.into(), code, detail.into())
    }

    fn at(of: Code, pointer: String, code: &'static str, detail: String) -> Self {
        let mut problem = Self::new(of, detail.clone());
        problem.more.fields.push(Field { pointer, code, detail, params: None });
        problem
    }

    /// Something that should not have happened; the cause goes to the log.
    pub fn internal(cause: impl ToString) -> Self {
        Self { code: Code::InternalError, more: Box::new(More { cause: Some(cause.to_string()), ..More::default() }) }
    }

    /// Something is away that will come back; the cause goes to the log.
    pub fn unavailable(cause: impl ToString) -> Self {
        Self { code: Code::ServiceUnavailable, ..Self::internal(cause) }
    }

    /// Names the thing that stands in the way.
    #[must_use]
    pub fn with_resource(mut self, path: String) -> Self {
        self.more.resource = Some(path);
        self
    }

    /// Lists what was looked at, passed or not.
    #[must_use]
    pub fn with_checks(mut self, checks: Value) -> Self {
        self.more.checks = Some(checks);
        self
    }

    /// Says how to authenticate.
    #[must_use]
    pub fn with_authenticate(mut self, challenge: String) -> Self {
        self.more.authenticate = Some(challenge);
        self
    }

    /// Says after how many seconds it is worth trying again.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.more.retry_after = Some(seconds);
        self
    }

    /// What went wrong inside, for the log.
    pub fn cause(&self) -> Option<&str> {
        self.more.cause.as_deref()
    }

    /// The challenge for `WWW-Authenticate`.
    pub fn authenticate(&self) -> Option<&str> {
        self.more.authenticate.as_deref()
    }

    /// After how many seconds it is worth trying again, if waiting helps.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self.code {
            _ if self.more.retry_after.is_some() => self.more.retry_after,
            Code::IdempotencyInProgress | Code::ServiceUnavailable => Some(1),
            Code::ChainUnavailable | Code::ChainTimeout => Some(15),
            _ => None,
        }
    }

    /// The body. From 500 on it names the request and nothing else: whatever went wrong inside is for the log.
    pub fn body(&self, path: &str, request_id: &str) -> Value {
        let (code, more) = (self.code, &self.more);
        // What is for people and programs below 500.
        let said = code.status() < 500;
        let field = |f: &Field| Misfit {
            pointer: f.pointer.clone(),
            code: f.code,
            detail: f.detail.clone(),
            params: f.params.clone(),
        };
        let errors: Vec<_> = more.fields.iter().filter(|_| said).map(field).collect();
        let state = more.state.as_ref().filter(|_| said);
        json!(Body {
            kind: format!("{TYPE_PREFIX}{}", code.as_str()),
            title: code.title(),
            status: code.status(),
            code,
            instance: path.to_owned(),
            request_id: request_id.to_owned(),
            retryable: code.is_retryable(),
            detail: more.detail.clone().filter(|_| said),
            resource: more.resource.clone().filter(|_| said),
            checks: more.checks.clone().filter(|_| said),
            current_status: state.map(|(current, _)| *current),
            allowed_transitions: state.map(|(_, allowed)| allowed.clone()),
            errors: (!errors.is_empty()).then_some(errors),
        })
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused { code, detail } => Self::new(Code::of_domain(code), detail),
            Error::Illegal { detail, current, allowed } => {
                let mut problem = Self::new(Code::InvalidState, detail);
                problem.more.state = Some((current, allowed));
                problem
            }
            Error::Field { pointer, code, detail, params } => {
                let mut problem = Self::field(pointer, code, detail);
                problem.more.fields.iter_mut().for_each(|field| field.params = params.as_deref().cloned());
                problem
            }
            Error::Stale { .. } => Self::new(
                Code::VersionConflict,
                "Somebody changed it at the same moment, and this changed nothing. Read it again, and try again.",
            ),
            error if error.is_outage() => Self::unavailable(error),
            error => Self::internal(error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_failure_tells_the_caller_its_request_and_nothing_else() {
        let body = Problem::internal("select secret from vault").body("/v1/offerings/off_1", "req_1").to_string();
        assert!(!body.contains("secret"), "{body}");
        assert!(body.contains("req_1"), "{body}");
        assert!(!body.contains("detail"), "{body}");
    }

    #[test]
    fn a_field_is_named_by_its_pointer() {
        let body = Problem::field("/amount", "below_minimum", "minimum is 1000.00").body("/", "req_1");
        assert_eq!(body["code"], "validation_failed");
        assert_eq!(body["status"], 422);
        assert_eq!(body["errors"][0]["pointer"], "/amount");
        let domain =
            Error::field("/amount", "below_minimum", "too little").with_params(json!({ "minimum": "1000.00" }));
        let body = Problem::from(domain).body("/", "req_1");
        assert_eq!(body["errors"][0]["params"]["minimum"], "1000.00");
    }

    #[test]
    fn a_state_in_the_way_is_named_with_the_moves_that_it_allows() {
        let body = Problem::from(Error::illegal("no", "binding", vec!["accept"])).body("/", "req_1");
        assert_eq!((&body["status"], &body["code"]), (&json!(409), &json!("invalid_state")));
        assert_eq!((&body["current_status"], &body["allowed_transitions"]), (&json!("binding"), &json!(["accept"])));
    }
}
