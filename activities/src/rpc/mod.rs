//! JSON-RPC 2.0: requests, batches, and answers matched by id.
pub(crate) mod answer;
pub(crate) mod calls;
pub mod classify;
pub mod endpoint;
pub(crate) mod redact;
mod rpc_error;
pub(crate) mod transport;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

pub(crate) use self::{answer::Answer, rpc_error::RpcError};

use crate::fault::Fault;

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

/// The request body: one object, or an array for several requests.
pub(crate) fn body(requests: &[Request]) -> Value {
    match requests {
        [request] => request.envelope(0),
        several => several.iter().enumerate().map(|(id, request)| request.envelope(id)).collect(),
    }
}

/// The typed result; none for null.
pub(crate) fn optional<T: DeserializeOwned>(method: &str, answer: Answer) -> Result<Option<T>, Fault> {
    parse(method, &answer.map_err(|error| error.fault(method))?)
}

/// JSON text as its type.
pub(crate) fn parse<'a, T: Deserialize<'a>>(method: &str, text: &'a RawValue) -> Result<T, Fault> {
    // The error text can quote the whole answer, so cut it.
    let malformed = |error: serde_json::Error| Fault::Malformed(redact::cut(&format!("{method}: {error}")));
    serde_json::from_str(text.get()).map_err(malformed)
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
