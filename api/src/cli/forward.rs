//! A developer's own server, which gets events as a webhook endpoint does. `listen` and `trigger` post to it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use muniment_activities::delivery::{Poster, system_lookup};
use muniment_domain::clock::Clock;
use muniment_domain::id::Ids;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::output;
use crate::failure::Failure;
use crate::webhook::{SECRET_PREFIX, sign};

/// The time limit for the developer's server.
const TIMEOUT: Duration = Duration::from_secs(15);

/// An event, in the order of a webhook's fields.
#[derive(Deserialize, Serialize)]
pub struct Event {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub timestamp: String,
    pub api_version: String,
    pub sequence: i64,
    pub data: Value,
}

/// The developer's server.
pub struct Forward<'a> {
    poster: Poster,
    url: &'a str,
    secret: String,
}

/// The answer of the server as text.
pub struct Answer {
    pub accepted: bool,
    pub text: String,
}

impl<'a> Forward<'a> {
    /// Prints the signing secret: a new one if none is given.
    pub fn new(url: &'a str, secret: Option<&str>) -> Result<Self, Failure> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(Failure::new(format!(
                "--forward-to must be a URL such as http://localhost:3000/hook, not {url}."
            )));
        }
        let ids = Ids::Random;
        let new = || format!("{SECRET_PREFIX}{}", BASE64.encode([ids.bytes(), ids.bytes()].concat()));
        let secret = secret.map_or_else(new, str::to_owned);
        if sign(&secret, ("", 0, "")).is_none() {
            return Err(Failure::new("--secret must be whsec_ and base64."));
        }
        output::print(&format!("Signing secret: {secret}\n"))?;
        // The developer's own machine is a private network.
        let poster = Poster::new(TIMEOUT, system_lookup(), |_| true).map_err(Failure::new)?;
        Ok(Self { poster, url, secret })
    }

    /// Posts an event.
    pub async fn send(&self, event: &Event) -> Answer {
        let at = Clock::System.now().timestamp();
        let body = serde_json::to_string(event).unwrap_or_default();
        let signature = sign(&self.secret, (&event.id, at, &body)).unwrap_or_default();
        let headers = [
            ("webhook-id", event.id.clone()),
            ("webhook-timestamp", at.to_string()),
            ("webhook-signature", signature),
            ("webhook-attempt", "1".to_owned()),
        ];
        let headers: Vec<_> = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let answer = self.poster.post(self.url, &headers, body).await;
        let text = match (answer.status, answer.fault) {
            (Some(status), _) => format!("-> {status} in {} ms", answer.latency.as_millis()),
            (None, Some("connect")) => format!("-> no server listens at {}", self.url),
            (None, fault) => format!("-> no answer: {}", fault.unwrap_or_default()),
        };
        Answer { accepted: answer.status.is_some_and(|status| (200..300).contains(&status)), text }
    }
}
