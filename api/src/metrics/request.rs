//! The requests that this process answered, by route.

use axum::http::Method;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Labels;

/// The upper ends of the buckets in seconds.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// The methods that have a label of their own.
const KNOWN: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Counts requests. Clones share the counts.
#[derive(Clone)]
pub struct Requests {
    answered: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
}

impl Default for Requests {
    fn default() -> Self {
        Self { answered: Family::default(), seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)) }
    }
}

impl Requests {
    /// Counts an answer. A request that no route matched has no route, and unknown methods share a label: callers cannot invent labels.
    pub fn count(&self, method: &Method, route: Option<&str>, status: u16, seconds: f64) {
        let method = match (route, KNOWN.contains(method)) {
            (None, _) => "",
            (Some(_), true) => method.as_str(),
            (Some(_), false) => "other",
        };
        let labels = vec![("method", method.to_owned()), ("route", route.unwrap_or_default().to_owned())];
        self.seconds.get_or_create(&labels).observe(seconds);
        self.answered.get_or_create(&[labels, vec![("status", status.to_string())]].concat()).inc();
    }

    /// The counts under their names.
    pub(super) fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("muniment_http");
        registry.register("requests", "Answered requests", self.answered.clone());
        registry.register("request_seconds", "Time from the head of a request to its answer", self.seconds.clone());
        registry
    }
}
