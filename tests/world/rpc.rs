//! A JSON-RPC client for the tests themselves, past every fault.

use serde_json::{Value, json};

use crate::http_client;

/// One endpoint.
#[derive(Clone, Debug)]
pub struct Rpc {
    url: String,
    client: reqwest::Client,
}

impl Rpc {
    /// A client of this endpoint.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), client: http_client() }
    }

    /// Makes one call; an error is the node's or the transport's message.
    pub async fn try_call(&self, method: &str, params: Value) -> Result<Value, String> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answer = self.post(body).await?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| format!("{error}: {answer}"))?;
        match answer.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or("an error without words").to_owned()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// One call that must succeed.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        let result = self.try_call(method, params).await;
        result.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// One call whose answer is a hexadecimal number.
    pub async fn number(&self, method: &str, params: Value) -> u64 {
        let answer = self.call(method, params).await;
        number(&answer).unwrap_or_else(|| panic!("{method} answered {answer}"))
    }

    /// Posts a raw body, for batches and for invalid JSON-RPC.
    pub async fn post(&self, body: String) -> Result<String, String> {
        let request = self.client.post(&self.url).header("content-type", "application/json").body(body);
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        if status.is_success() { Ok(text) } else { Err(format!("{status}: {text}")) }
    }
}

/// A JSON-RPC quantity.
pub(crate) fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// A number as a JSON-RPC quantity.
pub(crate) fn quantity(number: u64) -> Value {
    Value::String(format!("{number:#x}"))
}
