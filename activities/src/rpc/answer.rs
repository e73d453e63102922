//! The answers in a JSON-RPC body. A result stays text until it is read as its type: blocks and receipts have megabytes, and a tree of JSON
//! values would cost more than what is read from it.
use serde::{Deserialize, Deserializer};
use serde_json::{Value, error::Category, value::RawValue};

use super::rpc_error::RpcError;

/// The answer to one request: the text of its result, or the node's error.
pub(crate) type Answer = Result<Box<RawValue>, RpcError>;

/// What an endpoint sends back.
pub(crate) enum Body {
    /// One answer.
    One(Part),
    /// The answers of a batch.
    Batch(Vec<Part>),
    /// JSON that is no answer.
    Other,
}

/// One answer of a body.
#[derive(Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
}

/// Null is a result, too.
fn present<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(text).map(Some)
}

impl Body {
    /// Reads a body. An error means that it is not JSON.
    pub fn read(bytes: &[u8]) -> serde_json::Result<Body> {
        let body = match bytes.trim_ascii_start().first() {
            Some(b'[') => serde_json::from_slice(bytes).map(Body::Batch),
            _ => serde_json::from_slice(bytes).map(Body::One),
        };
        match body {
            Err(error) if error.classify() == Category::Data => Ok(Body::Other),
            body => body,
        }
    }

    /// Whether it is the error of a node.
    pub const fn is_error(&self) -> bool {
        matches!(self, Body::One(Part { error: Some(_), .. }))
    }
}

/// Why a body has no readable answers.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The node answered a batch with one error.
    BatchRefused(RpcError),
    /// The body is not JSON-RPC.
    Text(String),
}

/// The answers in the order of the requests. A node can return a batch in any order.
pub(crate) fn answers(count: usize, body: Body) -> Result<Vec<Answer>, Unreadable> {
    let parts = match body {
        Body::Batch(parts) if count != 1 => parts,
        Body::One(part) if count == 1 => vec![part],
        Body::One(Part { error: Some(error), .. }) => return Err(Unreadable::BatchRefused(RpcError::of(&error))),
        Body::One(_) => return Err(Unreadable::Text("the answer to a batch is a single object".into())),
        Body::Batch(_) | Body::Other => {
            return Err(Unreadable::Text("the body is neither an answer nor a batch of answers".into()));
        }
    };
    let mut answers: Vec<Option<Answer>> = vec![None; count];
    for Part { id, error, result } in parts {
        // An error for an unparsable request has no id; with one request it is clear which one it belongs to.
        let id = match id.as_u64() {
            Some(id) => usize::try_from(id).unwrap_or(usize::MAX),
            None if count == 1 => 0,
            None => return Err(Unreadable::Text("an answer of the batch has no id".into())),
        };
        let answer = match error {
            Some(error) => Err(RpcError::of(&error)),
            None => Ok(result.ok_or(Unreadable::Text("an answer has neither result nor error".into()))?),
        };
        // A second answer with the same id is as wrong as an unknown id.
        match answers.get_mut(id) {
            Some(slot @ None) => *slot = Some(answer),
            _ => return Err(Unreadable::Text(format!("an answer has the unknown id {id}"))),
        }
    }
    answers.into_iter().collect::<Option<Vec<Answer>>>().ok_or(Unreadable::Text("the batch lacks answers".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: usize, body: &str) -> Result<Vec<Answer>, Unreadable> {
        answers(count, Body::read(body.as_bytes()).unwrap())
    }

    #[test]
    fn a_batch_is_matched_by_id_in_any_order() {
        let answers = of(2, r#" [{ "id": 1, "result": "b" }, { "id": 0, "result": { "a": [1] } }]"#).unwrap();
        assert_eq!(answers[0].as_ref().unwrap().get(), r#"{ "a": [1] }"#);
        assert_eq!(answers[1].as_ref().unwrap().get(), r#""b""#);
    }

    #[test]
    fn null_is_a_result() {
        let answers = of(1, r#"{ "id": 0, "error": null, "result": null }"#).unwrap();
        assert_eq!(answers[0].as_ref().unwrap().get(), "null");
    }

    #[test]
    fn what_is_no_answer_to_a_batch_is_unreadable() {
        for body in [
            r#"[{ "id": 0, "result": 1 }]"#,
            r#"[{ "id": 0, "result": 1 }, { "id": 0, "result": 2 }]"#,
            r#"[{ "id": 0, "result": 1 }, { "id": 7, "result": 2 }]"#,
            r#"[{ "id": 0, "result": 1 }, { "id": 1 }]"#,
            r#"[{ "id": 0, "result": 1 }, { "result": 2 }]"#,
            r#"[0, 1]"#,
            r#"{ "id": 0, "result": 1 }"#,
            r#""hello""#,
            "null",
        ] {
            assert!(matches!(of(2, body), Err(Unreadable::Text(_))), "{body}");
        }
    }

    #[test]
    fn what_is_no_answer_to_one_request_is_unreadable() {
        for body in [r#"[{ "id": 0, "result": 1 }]"#, r#"{ "id": 0 }"#, r#"{ "id": 1, "result": 1 }"#, "17"] {
            assert!(matches!(of(1, body), Err(Unreadable::Text(_))), "{body}");
        }
        assert!(Body::read(b"<html>").is_err() && Body::read(br#"{ "id": 0, "result": "#).is_err());
    }

    #[test]
    fn a_single_error_for_a_batch_is_a_refused_batch() {
        let body = r#"{ "id": null, "error": { "code": -32600, "message": "batch not supported" } }"#;
        assert!(Body::read(body.as_bytes()).unwrap().is_error());
        assert!(matches!(of(2, body), Err(Unreadable::BatchRefused(error)) if error.code == -32600));
    }
}
