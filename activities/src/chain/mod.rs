//! A chain and its endpoints: which endpoint is asked, and what happens when it fails.
pub mod account;
mod alone;
pub mod block;
mod chain_log;
pub mod check;
pub mod fees;
pub mod gas;
pub mod header;
pub mod heads;
pub mod inclusion;
pub mod logs;
mod proof;
mod proved_events;
mod raw_receipt;
pub mod receipt;
pub mod send;
pub mod sequence;
pub mod simulate;
mod watch;

use std::{
    collections::BTreeMap,
    slice,
    sync::{Arc, Mutex, OnceLock},
    time::{SystemTime, UNIX_EPOCH},
};

use alloy::primitives::B256;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    chain::{proof::Proofs, proved_events::ProvedEvents, watch::Watch},
    config::{ChainConfig, ConfigError},
    fault::Fault,
    rpc::{
        Answer, Request,
        calls::CallCounter,
        endpoint::{Endpoint, EndpointHealth},
        transport::{Node, Transport},
    },
};

/// Returns milliseconds since 1970. Tests pass their own clock.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A chain with its endpoints. Clones share health, counters and connections.
#[derive(Clone)]
pub struct Chain {
    /// The configuration of the chain.
    pub config: Arc<ChainConfig>,
    endpoints: Arc<Vec<Endpoint>>,
    /// The place of the only endpoint that is asked, if not all are.
    only: Option<usize>,
    pub(crate) genesis: Arc<OnceLock<B256>>,
    calls: Arc<CallCounter>,
    /// What the follower's last heads were, and what the endpoints agreed on.
    pub(crate) watch: Arc<Mutex<Watch>>,
    pub(crate) proofs: Arc<Proofs>,
    pub(crate) proved: Arc<ProvedEvents>,
    pub(crate) now: Clock,
}

impl Chain {
    /// A chain over HTTP. Nothing is sent before the first read.
    pub fn http(config: ChainConfig) -> Result<Chain, ConfigError> {
        config.check()?;
        let mut endpoints = Vec::new();
        for url in &config.endpoints {
            let wire = Transport::http(url, &config).map_err(|why| ConfigError {
                chain: config.key.clone(),
                key: "endpoints",
                why: format!(
                    "{}: {why}; write http:// or https://, a host and a path",
                    crate::rpc::redact::Redaction::of(url).label
                ),
            })?;
            endpoints.push(Endpoint::new(wire, url));
        }
        Ok(Chain::new(config, endpoints))
    }

    /// A chain over nodes in this process, for tests and the simulation.
    pub fn in_process(config: ChainConfig, nodes: Vec<Arc<dyn Node>>) -> Chain {
        let endpoint = |(index, node)| Endpoint::new(Transport::Node(node), &format!("node-{index}"));
        let endpoints = nodes.into_iter().enumerate().map(endpoint).collect();
        Chain::new(config, endpoints)
    }

    fn new(config: ChainConfig, endpoints: Vec<Endpoint>) -> Chain {
        Chain {
            config: Arc::new(config),
            endpoints: Arc::new(endpoints),
            only: None,
            genesis: Arc::default(),
            calls: Arc::default(),
            watch: Arc::default(),
            proofs: Arc::default(),
            proved: Arc::default(),
            now: Arc::new(system_milliseconds),
        }
    }

    /// The same chain with another clock. The clock times health and pauses; it never changes an answer.
    pub fn with_clock(mut self, now: Clock) -> Chain {
        self.now = now;
        self
    }

    /// The time of its clock, for pauses between questions.
    pub fn milliseconds(&self) -> u64 {
        (self.now)()
    }

    /// The health of each endpoint, in the order of the configuration.
    pub fn health(&self) -> Vec<EndpointHealth> {
        self.endpoints().iter().map(Endpoint::health).collect()
    }

    /// The distrusted endpoints, each with the reason; `None` if all are trusted.
    pub fn endpoint_warning(&self) -> Option<String> {
        let named = self.health().into_iter().filter_map(|health| {
            let why = health.wrong_chain.or(health.distrusted)?;
            Some(format!("{}: {why}", health.endpoint))
        });
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| named.join("; "))
    }

    /// Calls made so far; each call of a batch counts.
    pub fn calls(&self) -> u64 {
        self.calls.by_method().values().sum()
    }

    /// Calls made so far, by method.
    pub fn calls_by_method(&self) -> BTreeMap<&'static str, u64> {
        self.calls.by_method()
    }

    /// Request bodies posted so far; a batch is one body.
    pub fn posts(&self) -> u64 {
        self.calls.posts()
    }

    /// Sends the same requests to one endpoint after the other until `read` accepts the answers.
    pub(crate) async fn ask<T>(
        &self,
        requests: Vec<Request>,
        read: impl Fn(Vec<Answer>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.ask_each(|_| requests.clone(), read).await
    }

    /// Like `ask`, with requests that depend on what the endpoint offers.
    pub(crate) async fn ask_each<T>(
        &self,
        requests: impl Fn(&Endpoint) -> Vec<Request>,
        read: impl Fn(Vec<Answer>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut faults = Vec::new();
        for endpoint in self.candidates() {
            match self.ask_one(endpoint, &requests, &read).await {
                Ok(value) => return Ok(value),
                Err(fault) => faults.push(fault),
            }
        }
        Err(combined(faults))
    }

    /// Asks one endpoint.
    pub(crate) async fn ask_one<T>(
        &self,
        endpoint: &Endpoint,
        requests: &impl Fn(&Endpoint) -> Vec<Request>,
        read: &impl Fn(Vec<Answer>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let answer = self.ask_verified(endpoint, requests, read).await;
        // An endpoint with unreadable answers is treated like one that is down.
        if let Err(fault @ Fault::Malformed(_)) = &answer {
            let now = (self.now)();
            endpoint.failed(now, now, fault);
        }
        answer
    }

    async fn ask_verified<T>(
        &self,
        endpoint: &Endpoint,
        requests: &impl Fn(&Endpoint) -> Vec<Request>,
        read: &impl Fn(Vec<Answer>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.verified(endpoint).await?;
        loop {
            match read(self.post(endpoint, &requests(endpoint)).await?) {
                // The endpoint remembers the missing method, so the next round of `requests` takes its other form.
                Err(Fault::NoMethod(method)) if endpoint.note_missing_method(&method) => {}
                answer => return answer,
            }
        }
    }

    /// Posts to one endpoint and updates its health.
    pub(crate) async fn post(&self, endpoint: &Endpoint, requests: &[Request]) -> Result<Vec<Answer>, Fault> {
        let started = (self.now)();
        let answers = endpoint.post(requests, &self.calls).await;
        let now = (self.now)();
        match &answers {
            Ok(_) => endpoint.succeeded(now, now.saturating_sub(started)),
            Err(fault) => endpoint.failed(started, now, fault),
        }
        answers
    }

    /// The endpoints that may be asked, in the order of the configuration.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        match self.only {
            Some(at) => self.endpoints.get(at).map_or(&[], slice::from_ref),
            None => &self.endpoints,
        }
    }

    /// How many endpoints must say the same.
    pub fn quorum(&self) -> usize {
        self.config.quorum.clamp(1, self.endpoints().len().max(1))
    }

    /// The endpoints in the order in which to ask them. Equal endpoints keep their configured order: nodes differ by a block
    /// for a moment, so a switch by latency would look like a reorganisation.
    pub(crate) fn candidates(&self) -> Vec<&Endpoint> {
        let now = (self.now)();
        let all = self.endpoints().iter();
        let mut ready: Vec<&Endpoint> = all.clone().filter(|endpoint| !endpoint.is_cooling(now)).collect();
        // If every endpoint is cooling down, ask anyway: one more request is better than an outage reported from memory.
        if ready.iter().all(|endpoint| endpoint.wrong_chain().is_some()) {
            ready = all.collect();
        }
        ready.sort_by_key(|endpoint| (endpoint.wrong_chain().is_some(), endpoint.is_distrusted()));
        ready
    }
}

/// One fault for several endpoints. An answer from a reachable endpoint says more than no answer.
pub(crate) fn combined(faults: Vec<Fault>) -> Fault {
    let weight = |fault: &Fault| match fault {
        Fault::Refused(_) | Fault::Incomplete(_) | Fault::UnknownBlock | Fault::Pruned(_) => 4,
        Fault::Malformed(_) | Fault::NoMethod(_) => 3,
        Fault::RateLimited { .. } => 2,
        Fault::Outage(_) | Fault::Late(_) => 1,
        Fault::WrongChain { .. } => 0,
    };
    let silent: Vec<String> = faults
        .iter()
        .filter_map(|fault| match fault {
            Fault::Outage(text) | Fault::Late(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    // If all are late, waiting is enough. If one of them is down, an operator has to act, so it is an outage.
    let late = !faults.is_empty() && faults.iter().all(|fault| matches!(fault, Fault::Late(_)));
    match faults.into_iter().rev().max_by_key(weight) {
        Some(Fault::Late(_)) if late => Fault::Late(silent.join("; ")),
        Some(Fault::Outage(_) | Fault::Late(_)) | None => Fault::Outage(silent.join("; ")),
        Some(fault) => fault,
    }
}

#[allow(clippy::disallowed_methods, reason = "the only place where the crate reads the time; `with_clock` replaces it")]
fn system_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The block whose state is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    /// The newest block.
    Latest,
    /// The newest block with the node's own mempool.
    Pending,
    /// The newest final block, on chains that have the tag.
    Finalized,
    /// The block with this number.
    Number(u64),
}

impl Tag {
    pub(crate) fn param(self) -> serde_json::Value {
        match self {
            Tag::Latest => json!("latest"),
            Tag::Pending => json!("pending"),
            Tag::Finalized => json!("finalized"),
            Tag::Number(number) => json!(format!("{number:#x}")),
        }
    }
}
