//! How one JSON-RPC body reaches a node: over HTTP, or into a node in the same process.
//!
//! A thin client of our own over reqwest, not alloy's provider stack: the engine needs batches whose
//! parts fail one by one, a cap on the size of answers and a node in memory for the simulation, and
//! with it the provider, network and transport crates stay out of the cold build.
use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use reqwest::{Client, StatusCode, header::RETRY_AFTER};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde_json::Value;

use crate::{config::ChainConfig, redact::Redaction};

/// The largest answer that is read; a batch of full mainnet blocks takes about half of it.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A node in the same process, such as the chain of the seeded simulation: JSON-RPC in, single or batch, the same out.
pub trait Node: Send + Sync {
    /// Answers one body; an error text stands for a broken connection.
    fn handle(&self, request: Value) -> BoxFuture<'_, Result<Value, String>>;
}

/// Where a body is posted to.
pub(crate) enum Wire {
    Http { client: Client, url: String },
    Node(Arc<dyn Node>),
}

/// Why a body did not come back.
#[derive(Clone, Debug)]
pub(crate) enum WireFault {
    Timeout,
    RateLimited(Option<u64>),
    Broken(String),
}

impl Wire {
    /// A client for the URL, with the chain's timeout.
    pub fn http(url: &str, config: &ChainConfig) -> Result<Wire, String> {
        let parsed = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(format!("the scheme {} is not http or https", parsed.scheme()));
        }
        let timeout = Duration::from_secs(config.request_timeout_seconds);
        let client = Client::builder().tls_backend_preconfigured(tls()?);
        let mut client = client.timeout(timeout).connect_timeout(timeout).tcp_nodelay(true);
        // A proxy of the environment leads out of the machine, never back to it.
        if parsed.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]")) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| error.without_url().to_string())?;
        Ok(Wire::Http { client, url: url.to_owned() })
    }

    /// Posts the body and reads what comes back.
    pub async fn post(&self, body: Value, redaction: &Redaction) -> Result<Value, WireFault> {
        match self {
            Wire::Node(node) => node.handle(body).await.map_err(|text| WireFault::Broken(redaction.clean(&text))),
            Wire::Http { client, url } => post(client, url, &body, redaction).await,
        }
    }
}

/// TLS over ring, with the bundled roots: no certificates need to be installed on the machine.
fn tls() -> Result<ClientConfig, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config =
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    Ok(config.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}

async fn post(client: &Client, url: &str, body: &Value, redaction: &Redaction) -> Result<Value, WireFault> {
    let broken = |error: reqwest::Error| match error.is_timeout() {
        true => WireFault::Timeout,
        false => WireFault::Broken(redaction.clean(&chain_of(&error.without_url()))),
    };
    let request = client.post(url).header("content-type", "application/json").body(body.to_string());
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status();
    let wait =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    if status == StatusCode::TOO_MANY_REQUESTS || (status == StatusCode::SERVICE_UNAVAILABLE && wait.is_some()) {
        return Err(WireFault::RateLimited(wait));
    }
    if status.is_server_error() {
        return Err(WireFault::Broken(format!("HTTP status {status}")));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if bytes.len() + chunk.len() > RESPONSE_BYTES_MAX {
            return Err(WireFault::Broken(format!("the answer is larger than {RESPONSE_BYTES_MAX} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    // Some gateways put a JSON-RPC error under a status of 4xx; it says more than the status does.
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if status.is_success() || value.get("error").is_some() => Ok(value),
        _ if !status.is_success() => Err(WireFault::Broken(format!("HTTP status {status}"))),
        Ok(value) => Ok(value),
        Err(error) => Err(WireFault::Broken(format!("the answer is no JSON ({error})"))),
    }
}

/// The error with its causes: reqwest's own text alone says only that sending failed.
fn chain_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
