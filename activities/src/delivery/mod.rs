//! One request to a webhook endpoint. The request follows no redirect and no proxy, goes only to addresses that were vetted in the same
//! look-up that the connection uses, and reads a bounded part of the answer.

mod stream;
mod vetted;

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use crate::rpc::transport::tls;
pub use stream::{EventStream, Message, NoStream};
use vetted::Vetted;
pub use vetted::{Allowed, Lookup, Unvetted, system_lookup, vet};

const CONNECT: Duration = Duration::from_secs(5);
/// How long a connection is kept for the next request. A short time, because its address was vetted when it was made.
const IDLE: Duration = Duration::from_secs(20);
/// The part of an answer that is read.
const READ_BYTES_MAX: usize = 64 << 10;
/// The part of an answer that is kept.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// Sends requests to webhook endpoints.
#[derive(Clone)]
pub struct Poster {
    client: Client,
}

/// The answer of an endpoint.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// Why there was none: `timeout`, `forbidden_address`, `connect` or `protocol`.
    pub fault: Option<&'static str>,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
    /// The beginning of the body.
    pub response: String,
    /// How long it took.
    pub latency: Duration,
}

impl Poster {
    /// With a limit of time for a whole request. Only allowed addresses are connected to.
    pub fn new(timeout: Duration, lookup: Lookup, allowed: Allowed) -> Result<Self, String> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .http1_only()
            .dns_resolver(Arc::new(Vetted { lookup, allowed }))
            .connect_timeout(CONNECT)
            .timeout(timeout)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true);
        Ok(Self { client: client.build().map_err(|error| error.without_url().to_string())? })
    }

    /// Posts a body with these headers.
    pub async fn post(&self, url: &str, headers: &[(String, String)], body: String) -> Answer {
        let start = Instant::now();
        let mut answer = match self.send(url, headers, body).await {
            Ok(response) => read(response).await,
            Err(fault) => Answer { fault: Some(fault), ..Answer::default() },
        };
        answer.latency = start.elapsed();
        answer
    }

    async fn send(&self, url: &str, headers: &[(String, String)], body: String) -> Result<Response, &'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name).map_err(|_| "header")?;
            map.insert(name, HeaderValue::try_from(value).map_err(|_| "header")?);
        }
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(USER_AGENT, HeaderValue::from_static(concat!("Muniment/", env!("CARGO_PKG_VERSION"))));
        self.client.post(url).headers(map).body(body).send().await.map_err(|error| fault(&error))
    }
}

/// The status counts, also if the body does not end in time: the endpoint has the event.
async fn read(mut response: Response) -> Answer {
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = asked.map(str::to_owned);
    let status = Some(response.status().as_u16());
    let (mut kept, mut read) = (Vec::new(), 0);
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = KEPT_BYTES_MAX - kept.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
        read += chunk.len();
        if read >= READ_BYTES_MAX {
            break;
        }
    }
    // A null byte cannot be stored as text.
    let response = String::from_utf8_lossy(&kept).replace('\0', "\u{fffd}");
    Answer { status, retry_after, response, ..Answer::default() }
}

fn fault(error: &reqwest::Error) -> &'static str {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if matches!(inner.downcast_ref(), Some(Unvetted::Forbidden)) {
            return "forbidden_address";
        }
        cause = inner.source();
    }
    match error {
        error if error.is_timeout() => "timeout",
        error if error.is_connect() => "connect",
        _ => "protocol",
    }
}

#[cfg(test)]
mod tests;
