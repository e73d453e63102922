//! HTTP requests of the demo to its own API and chain.

use axum::body::{Body, to_bytes};
use hyper::client::conn::http1;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::failure::Failure;

const ANSWER_BYTES_MAX: usize = 1 << 22;

/// An answer.
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// The body of a success. A problem becomes the failure.
    pub fn success(self, what: &str) -> Result<Value, Failure> {
        if self.status < 300 {
            return Ok(self.body);
        }
        let why = self.body["detail"].as_str().or(self.body["title"].as_str()).unwrap_or_default();
        Err(Failure::new(format!("{what} was answered {}: {why}", self.status)))
    }
}

/// Sends a request to `http://HOST:PORT`.
pub async fn send(
    base: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Result<Answer, Failure> {
    let host = base.trim_start_matches("http://");
    let silent =
        |error: std::io::Error| Failure::new(format!("{base} does not answer ({error}). Start the demo first."));
    let stream = TcpStream::connect(host).await.map_err(silent)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(Failure::new)?;
    let driver = tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path).header("host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let text = body.map(Value::to_string);
    if text.is_some() {
        request = request.header("content-type", "application/json");
    }
    let request = request.body(Body::from(text.unwrap_or_default())).map_err(Failure::new)?;
    let response = sender.send_request(request).await.map_err(Failure::new)?;
    let status = response.status().as_u16();
    let bytes = to_bytes(Body::new(response.into_body()), ANSWER_BYTES_MAX).await.map_err(Failure::new)?;
    driver.abort();
    Ok(Answer { status, body: serde_json::from_slice(&bytes).unwrap_or_default() })
}

/// Calls a method of the chain.
pub async fn call(chain: &str, method: &str, params: Value) -> Result<Value, Failure> {
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut answer = send(chain, Method::POST, "/", &[], Some(&question)).await?.success(method)?;
    match answer["error"]["message"].as_str() {
        Some(why) => Err(Failure::new(format!("{method} was refused: {why}"))),
        None => Ok(answer["result"].take()),
    }
}
