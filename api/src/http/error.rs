//! Problems: the body of every error answer (RFC 9457).

use std::collections::BTreeSet;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use muniment_domain::Error;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::code::Code;
use crate::code::field::{CODES, InvalidFieldCode};
use crate::http::instant::Instant;

/// The media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// How many invalid fields an answer names.
pub const FIELDS_MAX: usize = 50;

/// The result of a handler.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

/// The pages of the error codes, below the address of this interface.
const TYPE_PREFIX: &str = "/errors/";

/// One problem. It travels as an extension of the response, because an outer layer knows the request's path and id.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The stable code.
    pub code: Code,
    // Boxed to keep every result small; few results carry it.
    more: Box<More>,
}

#[derive(Clone, Debug, Default)]
struct More {
    detail: Option<String>,
    fields: Vec<Field>,
    resource: Option<String>,
    checks: Option<Value>,
    // The current status, and the requests that it allows.
    state: Option<(&'static str, Vec<&'static str>)>,
    retry_at: Option<DateTime<Utc>>,
    authenticate: Option<String>,
    retry_after: Option<u64>,
    // For the log, never for the answer.
    cause: Option<String>,
}

/// One invalid field of the body.
#[derive(Clone, Debug)]
pub struct Field {
    /// The JSON pointer of the field.
    pub pointer: String,
    /// The stable code of this kind of error.
    pub code: &'static str,
    /// A sentence for a person.
    pub detail: String,
    /// The allowed values or limits, for programs.
    pub params: Option<Value>,
}

/// An error response (RFC 9457). Programs decide by `code`; the other fields are for people. Fields without a value are left out.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Body {
    /// The page that explains the code.
    #[serde(rename = "type")]
    kind: String,
    /// The title of the code, the same in every answer.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    code: Code,
    /// The path of the request.
    instance: String,
    /// The id of the request, which the log contains.
    request_id: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// What is wrong and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    detail: Option<String>,
    /// The path of the object that prevents the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    resource: Option<String>,
    /// The checks that were made, each with its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Vec<Object>)]
    checks: Option<Value>,
    /// The current status of the object, which does not allow the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    current_status: Option<&'static str>,
    /// The requests that the current status allows, by the last part of their path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    allowed_transitions: Option<Vec<&'static str>>,
    /// From when the same request can succeed, if only time is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_at: Option<Instant>,
    /// The invalid fields of the body, all of them at once: first those that cannot be read, then those whose values are not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 50)]
    errors: Option<Vec<Misfit>>,
}

/// One invalid field.
#[derive(Serialize, ToSchema)]
struct Misfit {
    /// The JSON pointer of the field.
    pointer: String,
    /// The stable code of the error, such as `required`.
    #[schema(value_type = InvalidFieldCode)]
    code: &'static str,
    /// What is wrong and what is allowed.
    detail: String,
    /// The allowed values or limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Object)]
    params: Option<Value>,
}

impl Problem {
    /// A problem with a detail for a person.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, more: Box::new(More { detail: Some(detail.into()), ..More::default() }) }
    }

    /// A problem without a detail.
    pub fn bare(code: Code) -> Self {
        Self { code, more: Box::default() }
    }

    /// An invalid field of the body.
    pub fn field(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::at(Code::ValidationFailed, pointer.into(), code, detail.into())
    }

    /// A position of the body that is not valid JSON.
    pub fn malformed(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self::at(Code::MalformedJson, pointer.into(), code, detail.into())
    }

    fn at(of: Code, pointer: String, code: &'static str, detail: String) -> Self {
        Self::of_fields([Field { pointer, code, detail, params: None }])
            .map_or_else(|| Self::bare(of), |problem| Self { code: of, ..problem })
    }

    /// The invalid fields of the body, each once. None if there are none.
    pub fn of_fields(fields: impl IntoIterator<Item = Field>) -> Option<Self> {
        let mut seen = BTreeSet::new();
        let fields = fields.into_iter().filter(|field| seen.insert(field.pointer.clone()));
        let fields: Vec<_> = fields.take(FIELDS_MAX).collect();
        let detail = match fields.as_slice() {
            [] => return None,
            [one] => one.detail.clone(),
            several => {
                let pointers: Vec<_> = several.iter().map(|field| field.pointer.as_str()).collect();
                format!("{} fields are invalid: {}.", several.len(), pointers.join(", "))
            }
        };
        let is_known = |code| CODES.binary_search_by_key(&code, |(known, _)| *known).is_ok();
        debug_assert!(fields.iter().all(|field| is_known(field.code)), "add the code to code/field.rs: {fields:?}");
        let mut problem = Self::new(Code::ValidationFailed, detail);
        problem.more.fields = fields;
        Some(problem)
    }

    /// Refuses a body with every invalid field that the checks find, so that the caller can correct all of them at once. A refusal that
    /// concerns no field comes first.
    pub fn all(checks: impl IntoIterator<Item = Result<()>>) -> Result<()> {
        let mut fields = Vec::new();
        for problem in checks.into_iter().filter_map(Result::err) {
            if problem.more.fields.is_empty() {
                return Err(problem);
            }
            fields.extend(problem.more.fields);
        }
        Self::of_fields(fields).map_or(Ok(()), Err)
    }

    /// The same, with each field inside the object at this pointer.
    #[must_use]
    pub fn under(mut self, place: &str) -> Self {
        self.more.fields.iter_mut().for_each(|field| field.pointer.insert_str(0, place));
        self
    }

    /// An unexpected error. The cause goes to the log.
    pub fn internal(cause: impl ToString) -> Self {
        Self { code: Code::InternalError, more: Box::new(More { cause: Some(cause.to_string()), ..More::default() }) }
    }

    /// A temporary failure. The cause goes to the log.
    pub fn unavailable(cause: impl ToString) -> Self {
        Self { code: Code::ServiceUnavailable, ..Self::internal(cause) }
    }

    /// Adds the path of the object that prevents the request.
    #[must_use]
    pub fn with_resource(mut self, path: String) -> Self {
        self.more.resource = Some(path);
        self
    }

    /// Adds the checks with their results.
    #[must_use]
    pub fn with_checks(mut self, checks: Value) -> Self {
        self.more.checks = Some(checks);
        self
    }

    /// Adds the challenge for `WWW-Authenticate`.
    #[must_use]
    pub fn with_authenticate(mut self, challenge: String) -> Self {
        self.more.authenticate = Some(challenge);
        self
    }

    /// Adds the seconds after which a retry makes sense.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.more.retry_after = Some(seconds);
        self
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.code.is_retryable() || self.more.retry_at.is_some()
    }

    /// What is wrong and what to do.
    pub fn detail(&self) -> Option<&str> {
        self.more.detail.as_deref()
    }

    /// The invalid fields of the body.
    pub fn fields(&self) -> &[Field] {
        &self.more.fields
    }

    /// The internal cause, for the log.
    pub fn cause(&self) -> Option<&str> {
        self.more.cause.as_deref()
    }

    /// The challenge for `WWW-Authenticate`.
    pub fn authenticate(&self) -> Option<&str> {
        self.more.authenticate.as_deref()
    }

    /// The seconds after which a retry makes sense, if waiting helps.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self.code {
            _ if self.more.retry_after.is_some() => self.more.retry_after,
            Code::IdempotencyInProgress | Code::ServiceUnavailable => Some(1),
            Code::ChainUnavailable | Code::ChainTimeout => Some(15),
            _ => None,
        }
    }

    /// The body of the answer, whose type is a page below `api_url`. From status 500 on it has no details, because internal causes belong to the log.
    pub fn body(&self, api_url: &str, path: &str, request_id: &str) -> Value {
        let (code, more) = (self.code, &self.more);
        let has_details = code.status() < 500;
        let field = |f: &Field| Misfit {
            pointer: f.pointer.clone(),
            code: f.code,
            detail: f.detail.clone(),
            params: f.params.clone(),
        };
        let errors: Vec<_> = more.fields.iter().filter(|_| has_details).map(field).collect();
        let state = more.state.as_ref().filter(|_| has_details);
        json!(Body {
            kind: format!("{api_url}{TYPE_PREFIX}{}", code.as_str()),
            title: code.title(),
            status: code.status(),
            code,
            instance: path.to_owned(),
            request_id: request_id.to_owned(),
            retryable: self.is_retryable(),
            detail: more.detail.clone().filter(|_| has_details),
            resource: more.resource.clone().filter(|_| has_details),
            checks: more.checks.clone().filter(|_| has_details),
            current_status: state.map(|(current, _)| *current),
            allowed_transitions: state.map(|(_, allowed)| allowed.clone()),
            retry_at: more.retry_at.filter(|_| has_details).map(Instant),
            errors: (!errors.is_empty()).then_some(errors),
        })
    }
}

/// Refuses a field whose value is not as it must be.
pub fn check_that(
    is_so: bool,
    pointer: impl Into<String>,
    code: &'static str,
    detail: impl Into<String>,
) -> Result<()> {
    if is_so { Ok(()) } else { Err(Problem::field(pointer, code, detail)) }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused { code, detail } => Self::new(Code::of_domain(code), detail),
            Error::Illegal { detail, current, allowed, until } => {
                let mut problem = Self::new(Code::InvalidState, detail);
                problem.more.state = Some((current, allowed));
                problem.more.retry_at = until;
                problem
            }
            error @ Error::Field { .. } => {
                let mut fields = Vec::new();
                collect(error, &mut fields);
                Self::of_fields(fields).unwrap_or_else(|| Self::bare(Code::ValidationFailed))
            }
            Error::Stale { .. } => Self::new(
                Code::VersionConflict,
                "Another request changed the object at the same time. Nothing was changed. Read it again and retry.",
            ),
            error if error.is_outage() => Self::unavailable(error),
            error => Self::internal(error),
        }
    }
}

/// The field of the error, and the other fields of the same request.
fn collect(error: Error, fields: &mut Vec<Field>) {
    if let Error::Field { pointer, code, detail, params, others } = error {
        fields.push(Field { pointer: pointer.to_owned(), code, detail, params: params.map(|named| *named) });
        others.into_iter().for_each(|other| collect(other, fields));
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
    fn an_internal_error_shows_only_the_request_id() {
        let body = Problem::internal("select secret from vault").body("", "/v1/offerings/off_1", "req_1").to_string();
        assert!(!body.contains("secret"), "{body}");
        assert!(body.contains("req_1"), "{body}");
        assert!(!body.contains("detail"), "{body}");
    }

    #[test]
    fn a_field_error_has_a_json_pointer() {
        let body = Problem::field("/amount", "below_minimum", "minimum is 1000.00").body("", "/", "req_1");
        assert_eq!(body["code"], "validation_failed");
        assert_eq!(body["status"], 422);
        assert_eq!(body["errors"][0]["pointer"], "/amount");
        let domain =
            Error::field("/amount", "below_minimum", "too little").with_params(json!({ "minimum": "1000.00" }));
        let body = Problem::from(domain).body("", "/", "req_1");
        assert_eq!(body["errors"][0]["params"]["minimum"], "1000.00");
    }

    #[test]
    fn an_invalid_state_shows_the_allowed_transitions() {
        let body =
            Problem::from(Error::illegal("The status is binding.", "binding", vec!["accept"])).body("", "/", "req_1");
        assert_eq!((&body["status"], &body["code"]), (&json!(409), &json!("invalid_state")));
        assert_eq!((&body["current_status"], &body["allowed_transitions"]), (&json!("binding"), &json!(["accept"])));
    }
}
