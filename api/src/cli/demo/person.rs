//! A person of the demo, logged in.

use hyper::Method;
use serde_json::{Value, json};

use super::client::{self, Answer};
use super::people::DOMAIN;
use crate::failure::Failure;

/// A session of a person.
pub struct Person {
    api: String,
    bearer: String,
    csrf: String,
}

impl Person {
    /// Logs in and confirms the password, so that no request asks for it again.
    pub async fn log_in(api: &str, name: &str, password: &str) -> Result<Self, Failure> {
        let login = json!({ "email": format!("{name}{DOMAIN}"), "password": password });
        let answer = client::send(api, Method::POST, "/v1/auth/login", &[], Some(&login)).await?;
        let session = answer.success(&format!("the login of {name}"))?;
        let bearer = format!("Bearer {}", session["access_token"].as_str().unwrap_or_default());
        let mut person = Self { api: api.to_owned(), bearer, csrf: String::new() };
        let token = person.get("/v1/csrf-token").await?;
        token["csrfToken"].as_str().unwrap_or_default().clone_into(&mut person.csrf);
        person.post("", "/v1/auth/step-up", &json!({ "password": password })).await?;
        Ok(person)
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, &[], None).await?.success(path)
    }

    /// Sends a POST request with an idempotency key.
    pub async fn post(&self, key: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let key = format!("demo-{key}");
        self.send(Method::POST, path, &[("idempotency-key", &key)], Some(body)).await?.success(path)
    }

    /// Approves what another person requested, exactly as it was read.
    pub async fn approve(&self, key: &str, id: &str) -> Result<Value, Failure> {
        let path = format!("/v1/approvals/{id}");
        let approval = self.get(&path).await?;
        if approval["status"] != "pending" {
            return Ok(approval);
        }
        let (key, version) = (format!("demo-{key}"), format!("\"v{}\"", approval["version"]));
        let headers = [("idempotency-key", key.as_str()), ("if-match", version.as_str())];
        let body = json!({ "payload_sha256": approval["payload_sha256"], "comment": "Checked against the order." });
        self.send(Method::POST, &format!("{path}/approve"), &headers, Some(&body)).await?.success(&path)?;
        self.get(&path).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let own = [("authorization", self.bearer.as_str()), ("x-csrf-token", self.csrf.as_str())];
        let own = if method == Method::GET { &own[..1] } else { &own[..] };
        client::send(&self.api, method, path, &[own, headers].concat(), body).await
    }
}
