//! JSON-RPC 2.0: requests, batches, and answers matched by id.
pub(crate) mod calls;
pub mod classify;
pub mod endpoint;
pub(crate) mod redact;
pub(crate) mod transport;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{fault::Fault, revert};

/// One RPC call.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub method: &'static str,
    pub params: Value,
}

impl Request {
    pub fn new(method: &'static str, params: Value) -> Request {
        Request { method, params }
    }

    fn envelope(&self, id: usize) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": self.method, "params": self.params })
    }
}

/// The error object of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub fn of(error: &Value) -> RpcError {
        RpcError {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned(),
            data: error.get("data").cloned(),
        }
    }

    /// The fault that a failed read means for the caller.
    pub fn fault(&self, method: &str) -> Fault {
        let RpcError { code, message, .. } = self;
        match classify::classify_read(*code, message) {
            classify::ReadClass::UnknownBlock => Fault::UnknownBlock,
            classify::ReadClass::Pruned => Fault::Pruned(message.clone()),
            classify::ReadClass::MethodNotFound => Fault::NoMethod(method.to_owned()),
            classify::ReadClass::RateLimited => {
                Fault::RateLimited { endpoint: "the node".into(), retry_after_seconds: None }
            }
            _ => Fault::Refused(format!("{method}: {message} (code {code})")),
        }
    }

    /// The revert that the error reports, if any.
    pub fn revert(&self) -> Option<revert::Revert> {
        match classify::classify_read(self.code, &self.message) {
            classify::ReadClass::Reverts => Some(match self.data.as_ref().and_then(revert::data_of) {
                Some(data) => revert::decode(&data),
                None => revert::from_message(&self.message),
            }),
            classify::ReadClass::OutOfGas => Some(revert::out_of_gas(&self.message)),
            _ => None,
        }
    }
}

/// The answer to one request.
pub(crate) type Answer = Result<Value, RpcError>;

/// The request body: one object, or an array for several requests.
pub(crate) fn body(requests: &[Request]) -> Value {
    match requests {
        [request] => request.envelope(0),
        several => several.iter().enumerate().map(|(id, request)| request.envelope(id)).collect(),
    }
}

/// The answers in the order of the requests. A node can return a batch in any order.
pub(crate) fn answers(count: usize, body: Value) -> Result<Vec<Answer>, Unreadable> {
    let parts = match body {
        Value::Array(parts) if count != 1 => parts,
        object @ Value::Object(_) if count == 1 => vec![object],
        Value::Object(object) => {
            return Err(match object.get("error") {
                Some(error) => Unreadable::BatchRefused(RpcError::of(error)),
                None => Unreadable::Text("the answer to a batch is a single object".into()),
            });
        }
        _ => return Err(Unreadable::Text("the body is neither an object nor an array".into())),
    };
    let mut answers: Vec<Option<Answer>> = vec![None; count];
    for mut part in parts {
        // An error for an unparsable request has no id; with one request it is clear which one it belongs to.
        let id = match part.get("id").and_then(Value::as_u64) {
            Some(id) => usize::try_from(id).unwrap_or(usize::MAX),
            None if count == 1 => 0,
            None => return Err(Unreadable::Text("an answer of the batch has no id".into())),
        };
        let answer = match part.get("error") {
            Some(error) if !error.is_null() => Err(RpcError::of(error)),
            _ => Ok(part
                .get_mut("result")
                .ok_or(Unreadable::Text("an answer has neither result nor error".into()))?
                .take()),
        };
        // A second answer with the same id is as wrong as an unknown id.
        match answers.get_mut(id) {
            Some(slot @ None) => *slot = Some(answer),
            _ => return Err(Unreadable::Text(format!("an answer has the unknown id {id}"))),
        }
    }
    answers.into_iter().collect::<Option<Vec<Answer>>>().ok_or(Unreadable::Text("the batch lacks answers".into()))
}

/// Why a body has no readable answers.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The node answered a batch with one error.
    BatchRefused(RpcError),
    /// The body is not JSON-RPC.
    Text(String),
}

/// The typed result; none for null.
pub(crate) fn optional<T: DeserializeOwned>(method: &str, answer: Answer) -> Result<Option<T>, Fault> {
    let value = answer.map_err(|error| error.fault(method))?;
    if value.is_null() {
        return Ok(None);
    }
    // The error text can quote the whole answer, so cut it.
    let malformed = |error: serde_json::Error| Fault::Malformed(redact::cut(&format!("{method}: {error}")));
    serde_json::from_value(value).map(Some).map_err(malformed)
}

/// The typed result, which must not be null.
pub(crate) fn required<T: DeserializeOwned>(method: &str, answer: Answer) -> Result<T, Fault> {
    optional(method, answer)?.ok_or_else(|| Fault::Incomplete(format!("{method} answered null")))
}

/// The typed result of a single call.
pub(crate) fn first<T: DeserializeOwned>(method: &str, answers: Vec<Answer>) -> Result<T, Fault> {
    let answer = answers.into_iter().next().ok_or_else(|| Fault::Incomplete("no answer".into()))?;
    required(method, answer)
}

/// The two answers of two calls.
pub(crate) fn pair(answers: Vec<Answer>) -> Result<(Answer, Answer), Fault> {
    let [one, two] =
        <[Answer; 2]>::try_from(answers).map_err(|_| Fault::Incomplete("two answers were expected".into()))?;
    Ok((one, two))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_matched_by_id_in_any_order() {
        let body = json!([{ "id": 1, "result": "b" }, { "id": 0, "result": "a" }]);
        let answers = answers(2, body).unwrap();
        assert_eq!(answers[0].as_ref().unwrap(), "a");
        assert_eq!(answers[1].as_ref().unwrap(), "b");
    }

    #[test]
    fn a_batch_with_a_missing_double_or_unknown_id_is_unreadable() {
        for body in [
            json!([{ "id": 0, "result": 1 }]),
            json!([{ "id": 0, "result": 1 }, { "id": 0, "result": 2 }]),
            json!([{ "id": 0, "result": 1 }, { "id": 7, "result": 2 }]),
            json!([{ "id": 0, "result": 1 }, { "id": 1 }]),
            json!("hello"),
        ] {
            assert!(answers(2, body.clone()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_single_error_for_a_batch_is_a_refused_batch() {
        let refused = answers(2, json!({ "id": null, "error": { "code": -32600, "message": "batch not supported" } }));
        assert!(matches!(refused, Err(Unreadable::BatchRefused(_))));
    }
}
