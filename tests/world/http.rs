//! HTTP clients of the tests.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// Returns a client for servers on this machine: it knows no proxy and trusts no certificate.
pub fn http_client() -> reqwest::Client {
    http_client_builder().build().expect("the client needs nothing from the machine")
}

/// The same, to be changed.
pub fn http_client_builder() -> reqwest::ClientBuilder {
    // reqwest has no crypto backend of its own in this build, and asks for one even if no address is https.
    let tls =
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let tls = tls.expect("ring knows the default versions of TLS");
    let tls = tls.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
    client.timeout(Duration::from_secs(30))
}
