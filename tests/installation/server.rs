//! A process that serves the API, and its clients.

use std::time::Duration;

use reqwest::Client;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use world::{Binary, http_client};

use super::data::OPERATOR;
use super::{PATIENCE, Person};

/// Requests that need a session of the operator, by the last segment of their path.
const IN_PERSON: [&str; 20] = [
    "execute",
    "hold",
    "release",
    "exclude",
    "reissue",
    "reclaim",
    "claim-withheld",
    "unfreeze",
    "lock",
    "unlock",
    "restrict",
    "unrestrict",
    "force-transfer",
    "recover",
    "redeem",
    "reinstate",
    "release-lock",
    "pause",
    "unpause",
    "reconcile",
];

/// A running process with its address.
pub struct Server {
    pub process: Binary,
    pub url: String,
    key: String,
    client: Client,
    operator: OnceCell<Remote>,
}

/// A response as the client sees it.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    /// Returns a text of the body.
    pub fn text(&self, pointer: &str) -> String {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Returns the status and the error code.
    pub fn problem(&self) -> (u16, String) {
        (self.status, self.text("/code"))
    }

    /// Returns the status and the first invalid field: its pointer and code.
    pub fn field(&self) -> (u16, String, String) {
        (self.status, self.text("/errors/0/pointer"), self.text("/errors/0/code"))
    }
}

impl Server {
    /// Waits until the process listens; returns the process as an error if it ended first.
    pub async fn of(mut process: Binary, key: &str) -> Result<Self, Binary> {
        let step = Duration::from_millis(20);
        let mut left = PATIENCE.as_millis() / step.as_millis();
        let address = loop {
            if let Some(line) = process.line_with("server.address=", Duration::ZERO) {
                break line.split("server.address=").nth(1).map(|rest| rest.trim().to_owned()).unwrap_or_default();
            }
            left = left.saturating_sub(1);
            if left == 0 || process.exited().is_some() {
                return Err(process);
            }
            tokio::time::sleep(step).await;
        };
        let client = http_client();
        Ok(Self { process, url: format!("http://{address}"), key: key.to_owned(), client, operator: OnceCell::new() })
    }

    /// A client that can outlive the borrow, for concurrent requests.
    pub fn client(&self) -> Remote {
        Remote { url: self.url.clone(), key: self.key.clone(), version: None, csrf: None, client: self.client.clone() }
    }

    /// Reads by the API key, or in the session where a key is not allowed; a response is required.
    pub async fn get(&self, path: &str) -> Answer {
        let client = if path.starts_with("/v1/approvals") { self.session().await } else { self.client() };
        client.get(path).await.unwrap()
    }

    /// The operator's session; logs in and steps up on first use.
    pub async fn session(&self) -> Remote {
        let log_in = async || Person::fresh(self, OPERATOR).await.client();
        self.operator.get_or_init(log_in).await.clone()
    }

    /// Posts with this idempotency key, by the API key or in the session where a key is not allowed; a response is required.
    pub async fn post(&self, path: &str, idempotency_key: &str, body: Value) -> Answer {
        self.try_post(path, idempotency_key, body).await.unwrap()
    }

    /// Posts; none if the process ends before it answers.
    pub async fn try_post(&self, path: &str, idempotency_key: &str, body: Value) -> Option<Answer> {
        let verb = path.rsplit('/').next().unwrap_or_default();
        let client = if IN_PERSON.contains(&verb) { self.session().await } else { self.client() };
        client.post(path, idempotency_key, body).await
    }

    /// Requests the deployment of an offering's token.
    pub async fn deploy(&self, idempotency_key: &str, offering_id: &str) -> Answer {
        self.post("/blockchain/deploy-token", idempotency_key, json!({ "offering_id": offering_id })).await
    }

    /// Requests the mint of everything that an offering can mint.
    pub async fn mint(&self, idempotency_key: &str, offering_id: &str) -> Answer {
        self.post("/blockchain/trigger-mint", idempotency_key, json!({ "offering_id": offering_id })).await
    }
}

/// A client of a server that may have ended.
#[derive(Clone)]
pub struct Remote {
    url: String,
    key: String,
    version: Option<i64>,
    csrf: Option<String>,
    client: Client,
}

impl Remote {
    /// Sends this version as the expected one.
    pub const fn on_version(mut self, version: i64) -> Self {
        self.version = Some(version);
        self
    }

    /// Uses a session: its access token and CSRF token.
    pub fn in_session(self, access_token: &str, csrf_token: &str) -> Self {
        Self { csrf: Some(csrf_token.to_owned()), ..self.with_key(access_token) }
    }

    /// Uses another bearer token, or none.
    pub fn with_key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    /// Reads; none without a response.
    pub async fn get(&self, path: &str) -> Option<Answer> {
        self.send("GET", path, &[], None).await
    }

    /// Posts; none without a response.
    pub async fn post(&self, path: &str, idempotency_key: &str, body: Value) -> Option<Answer> {
        self.post_text(path, Some(idempotency_key), body.to_string()).await
    }

    /// Posts any text.
    pub async fn post_text(&self, path: &str, idempotency_key: Option<&str>, body: String) -> Option<Answer> {
        let key = idempotency_key.map(|key| ("idempotency-key", key));
        self.send("POST", path, key.as_slice(), Some(body)).await
    }

    /// Sends a change by another method, with or without a body.
    pub async fn change(&self, method: &str, path: &str, body: Option<Value>) -> Option<Answer> {
        self.send(method, path, &[], body.map(|body| body.to_string())).await
    }

    /// Sends any request; none without a response.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Option<Answer> {
        let mut request = self.client.request(method.parse().unwrap(), format!("{}{path}", self.url));
        if !self.key.is_empty() {
            request = request.bearer_auth(&self.key);
        }
        if let Some(csrf) = self.csrf.as_ref().filter(|_| method != "GET") {
            request = request.header("x-csrf-token", csrf);
        }
        if let Some(version) = self.version.filter(|_| method != "GET") {
            request = request.header("if-match", format!("\"v{version}\""));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        answer(request).await
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Option<Answer> {
    let response = request.send().await.ok()?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.ok()?;
    Some(Answer { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) })
}
