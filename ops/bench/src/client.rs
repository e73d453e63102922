//! A cheap HTTP client of the API: it shares the machine with the measured process.

use std::net::Ipv4Addr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A key or an access token, and the CSRF token of a session.
pub type Identity = (String, Option<String>);

/// One connection that stays open.
pub struct Client {
    stream: BufReader<TcpStream>,
    key: String,
    csrf: Option<String>,
}

impl Client {
    pub async fn connect(port: u16, key: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the API listens");
        stream.set_nodelay(true).expect("a connection takes options");
        Self { stream: BufReader::new(stream), key: key.to_owned(), csrf: None }
    }

    /// Posts a body with an idempotency key. Returns the status and the body of the answer.
    pub async fn post(&mut self, path: &str, key: &str, body: &str) -> (u16, String) {
        let head = format!("Idempotency-Key: {key}\r\nContent-Type: application/json\r\n");
        self.exchange("POST", path, &head, body).await
    }

    /// Gets a path. Returns the status and the body of the answer.
    pub async fn get(&mut self, path: &str) -> (u16, String) {
        self.exchange("GET", path, "", "").await
    }

    /// Requests the deployment of the token of an offering.
    pub async fn deploy(&mut self, offering: &str) {
        let body = format!("{{\"offering_id\":\"{offering}\"}}");
        let (status, answer) = self.post("/blockchain/deploy-token", offering, &body).await;
        assert_eq!(status, 202, "{answer}");
    }

    /// Logs in and keeps the session.
    pub async fn log_in(&mut self, email: &str, password: &str) {
        let (status, answer) = self.open_session(email, password).await;
        assert_eq!(status, 200, "{answer}");
        self.key = text(&answer, "access_token");
        let (status, answer) = self.get("/v1/csrf-token").await;
        assert_eq!(status, 200, "{answer}");
        self.csrf = Some(text(&answer, "csrfToken"));
    }

    /// Logs in without keeping the session. Returns the status and the body of the answer.
    pub async fn open_session(&mut self, email: &str, password: &str) -> (u16, String) {
        let body = format!("{{\"email\":\"{email}\",\"password\":\"{password}\"}}");
        self.exchange("POST", "/v1/auth/login", "Content-Type: application/json\r\n", &body).await
    }

    /// Continues with this identity. An empty key means an anonymous caller.
    pub fn act_as(&mut self, (key, csrf): &Identity) {
        self.key.clone_from(key);
        self.csrf.clone_from(csrf);
    }

    pub fn identity(&self) -> Identity {
        (self.key.clone(), self.csrf.clone())
    }

    /// Gets a path as a proxy that forwards this address. Returns the status of the answer.
    pub async fn get_from(&mut self, address: Ipv4Addr, path: &str) -> u16 {
        self.exchange("GET", path, &format!("X-Forwarded-For: {address}\r\n"), "").await.0
    }

    async fn exchange(&mut self, method: &str, path: &str, head: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let key = if self.key.is_empty() { String::new() } else { format!("Authorization: Bearer {}\r\n", self.key) };
        let csrf = self.csrf.as_ref().map(|token| format!("X-CSRF-Token: {token}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\n{key}{csrf}{head}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await.expect("the API reads");
        self.answer().await.expect("the API answers")
    }

    async fn answer(&mut self) -> std::io::Result<(u16, String)> {
        let (mut line, mut length) = (String::new(), 0);
        self.stream.read_line(&mut line).await?;
        let status = line.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
        loop {
            line.clear();
            self.stream.read_line(&mut line).await?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap_or_default();
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok((status, String::from_utf8(body).unwrap_or_default()))
    }
}

fn text(answer: &str, field: &str) -> String {
    let answer: Value = serde_json::from_str(answer).expect("an answer is JSON");
    answer[field].as_str().unwrap_or_default().to_owned()
}
