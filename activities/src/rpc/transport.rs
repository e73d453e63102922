//! The transport of JSON-RPC bodies: HTTP, or a node in the same process.
//!
//! This is a thin client over reqwest instead of alloy's provider stack. The engine needs batches whose parts fail one by
//! one, a limit on the size of answers and a node in memory for the simulation. It also keeps the provider, network and
//! transport crates out of the build.
use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::{Client, StatusCode, header::RETRY_AFTER};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde_json::Value;

use crate::{
    config::ChainConfig,
    rpc::{answer::Body, redact::Redaction},
};

/// Limit on the size of an answer; a batch of full mainnet blocks needs about half of it.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A node in the same process, such as the chain of the simulation: JSON-RPC in and out, single or batch.
pub trait Node: Send + Sync {
    /// Answers one body; an error text stands for a broken connection.
    fn handle(&self, request: Value) -> BoxFuture<'_, Result<Value, String>>;
}

/// Where a body is sent.
pub(crate) enum Transport {
    Http { client: Client, url: String },
    Node(Arc<dyn Node>),
}

/// Why a body has no answer.
#[derive(Clone, Debug)]
pub(crate) enum TransportFault {
    Timeout,
    RateLimited(Option<u64>),
    Broken(String),
}

impl Transport {
    /// A client for the URL, with the chain's timeout.
    pub fn http(url: &str, config: &ChainConfig) -> Result<Transport, String> {
        let parsed = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(format!("the scheme {} is not http or https", parsed.scheme()));
        }
        let timeout = Duration::from_secs(config.request_timeout_seconds);
        let client = Client::builder().tls_backend_preconfigured(tls()?);
        let mut client = client.timeout(timeout).connect_timeout(timeout).tcp_nodelay(true);
        // A proxy from the environment cannot reach this machine's own ports.
        if parsed.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]")) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| error.without_url().to_string())?;
        Ok(Transport::Http { client, url: url.to_owned() })
    }

    /// Posts the body and reads what comes back.
    pub async fn post(&self, body: Value, redaction: &Redaction) -> Result<Body, TransportFault> {
        match self {
            Transport::Node(node) => {
                let broken = |text: &str| TransportFault::Broken(redaction.clean(text));
                let answer = node.handle(body).await.map_err(|text| broken(&text))?;
                Body::read(answer.to_string().as_bytes()).map_err(|error| broken(&error.to_string()))
            }
            // Boxed, or the type of each caller holds the futures of the HTTP client.
            Transport::Http { client, url } => post(client, url, &body, redaction).boxed().await,
        }
    }
}

/// TLS over ring, with the bundled roots: no certificates need to be installed on the machine.
pub(crate) fn tls() -> Result<ClientConfig, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config =
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    Ok(config.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}

async fn post(client: &Client, url: &str, body: &Value, redaction: &Redaction) -> Result<Body, TransportFault> {
    let broken = |error: reqwest::Error| match error.is_timeout() {
        true => TransportFault::Timeout,
        false => TransportFault::Broken(redaction.clean(&with_causes(&error.without_url()))),
    };
    let request = client.post(url).header("content-type", "application/json").body(body.to_string());
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status();
    let wait =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    // A 503 with Retry-After is a rate limit; without it an outage.
    if status == StatusCode::TOO_MANY_REQUESTS || (status == StatusCode::SERVICE_UNAVAILABLE && wait.is_some()) {
        return Err(TransportFault::RateLimited(wait));
    }
    if status.is_server_error() {
        return Err(TransportFault::Broken(format!("HTTP status {status}")));
    }
    let mut bytes = Vec::new();
    // The size is checked while reading, because an answer without end must not fill the memory.
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if bytes.len() + chunk.len() > RESPONSE_BYTES_MAX {
            return Err(TransportFault::Broken(format!("the answer is larger than {RESPONSE_BYTES_MAX} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    // Some gateways send a JSON-RPC error with a 4xx status; it says more than the status.
    match Body::read(&bytes) {
        Ok(body) if status.is_success() || body.is_error() => Ok(body),
        Err(error) if status.is_success() => Err(TransportFault::Broken(format!("the answer is not JSON ({error})"))),
        _ => Err(TransportFault::Broken(format!("HTTP status {status}"))),
    }
}

/// The error with its causes, because reqwest's own text says only that sending failed.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
