//! A chain as seen through its endpoints: which one is asked, and what happens when it fails.
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::{SystemTime, UNIX_EPOCH},
};

use alloy::primitives::B256;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    calls::Calls,
    config::{ChainConfig, ConfigError},
    endpoint::{Endpoint, EndpointHealth},
    fault::Fault,
    rpc::{Answer, Request},
    wire::{Node, Wire},
};

/// By how many blocks an endpoint may trail the best head before another one is preferred.
const LAG_BLOCKS_MAX: u64 = 3;

/// Milliseconds since 1970, from whoever keeps the time.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A chain behind its endpoints; clones share health, counts and connections.
#[derive(Clone)]
pub struct Chain {
    /// What the configuration says about the chain.
    pub config: Arc<ChainConfig>,
    endpoints: Arc<Vec<Endpoint>>,
    pub(crate) genesis: Arc<OnceLock<B256>>,
    calls: Arc<Calls>,
    now: Clock,
}

impl Chain {
    /// A chain over HTTP; nothing is sent before the first question.
    pub fn over_http(config: ChainConfig) -> Result<Chain, ConfigError> {
        config.check()?;
        let mut endpoints = Vec::new();
        for url in &config.endpoints {
            let wire = Wire::http(url, &config).map_err(|why| ConfigError {
                chain: config.key.clone(),
                key: "endpoints",
                why: format!(
                    "{}: {why}; write http:// or https://, a host and a path",
                    crate::redact::Redaction::of(url).label
                ),
            })?;
            endpoints.push(Endpoint::new(wire, url));
        }
        Ok(Chain::new(config, endpoints))
    }

    /// A chain over nodes in this process.
    pub fn over_nodes(config: ChainConfig, nodes: Vec<Arc<dyn Node>>) -> Chain {
        let endpoint = |(index, node)| Endpoint::new(Wire::Node(node), &format!("node-{index}"));
        let endpoints = nodes.into_iter().enumerate().map(endpoint).collect();
        Chain::new(config, endpoints)
    }

    fn new(config: ChainConfig, endpoints: Vec<Endpoint>) -> Chain {
        Chain {
            config: Arc::new(config),
            endpoints: Arc::new(endpoints),
            genesis: Arc::default(),
            calls: Arc::default(),
            now: Arc::new(system_milliseconds),
        }
    }

    /// The same chain under another clock; it times health and pauses, never an answer.
    pub fn with_clock(mut self, now: Clock) -> Chain {
        self.now = now;
        self
    }

    /// What is known about each endpoint, in the order of the configuration.
    pub fn health(&self) -> Vec<EndpointHealth> {
        self.endpoints.iter().map(Endpoint::health).collect()
    }

    /// How many calls were made; each call of a batch counts.
    pub fn calls(&self) -> u64 {
        self.calls.by_method().values().sum()
    }

    /// How many calls of each method were made.
    pub fn calls_by_method(&self) -> BTreeMap<&'static str, u64> {
        self.calls.by_method()
    }

    /// How many bodies were posted; a batch is one.
    pub fn posts(&self) -> u64 {
        self.calls.posts()
    }

    /// Puts one question, with the same calls for every endpoint.
    pub(crate) async fn ask<T>(
        &self,
        requests: Vec<Request>,
        read: impl Fn(Vec<Answer>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.ask_each(|_| requests.clone(), read).await
    }

    /// Puts one question to one endpoint after the other until an answer can be used.
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
        Err(together(faults))
    }

    /// Puts the question to this endpoint alone.
    pub(crate) async fn ask_one<T>(
        &self,
        endpoint: &Endpoint,
        requests: &impl Fn(&Endpoint) -> Vec<Request>,
        read: &impl Fn(Vec<Answer>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let answer = self.ask_verified(endpoint, requests, read).await;
        // An endpoint that talks nonsense is as bad as one that is silent.
        if let Err(fault @ Fault::Malformed(_)) = &answer {
            endpoint.failed((self.now)(), fault);
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
                // Remembered, so that the question is put in its other form from now on.
                Err(Fault::NoMethod(method)) if endpoint.learned_lack(&method) => {}
                answer => return answer,
            }
        }
    }

    /// Posts to one endpoint and notes its health.
    pub(crate) async fn post(&self, endpoint: &Endpoint, requests: &[Request]) -> Result<Vec<Answer>, Fault> {
        let started = (self.now)();
        let answers = endpoint.post(requests, &self.calls).await;
        let now = (self.now)();
        match &answers {
            Ok(_) => endpoint.succeeded(now, now.saturating_sub(started)),
            Err(fault) => endpoint.failed(now, fault),
        }
        answers
    }

    /// All endpoints, in the order of the configuration.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Whom to ask, best first. The configured order is kept among equals: nodes differ by a block for
    /// a moment, and hopping between them by latency would look like reorganisations that never were.
    pub(crate) fn candidates(&self) -> Vec<&Endpoint> {
        let now = (self.now)();
        let best = self.endpoints.iter().filter_map(Endpoint::head).max().unwrap_or_default();
        let lags = |endpoint: &Endpoint| endpoint.head().is_some_and(|head| head + LAG_BLOCKS_MAX < best);
        let all = self.endpoints.iter();
        let mut ready: Vec<&Endpoint> = all.clone().filter(|endpoint| !endpoint.is_cooling(now)).collect();
        // With every endpoint resting, a question is still worth more than an outage declared from memory.
        if ready.iter().all(|endpoint| endpoint.wrong_chain().is_some()) {
            ready = all.collect();
        }
        ready.sort_by_key(|endpoint| (endpoint.wrong_chain().is_some(), lags(endpoint)));
        ready
    }
}

/// One fault for all: what an endpoint that was reached said weighs more than silence.
pub(crate) fn together(faults: Vec<Fault>) -> Fault {
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
    // One that is there and slow is waited for; where another one is gone as well, somebody has to look.
    let late = !faults.is_empty() && faults.iter().all(|fault| matches!(fault, Fault::Late(_)));
    match faults.into_iter().rev().max_by_key(weight) {
        Some(Fault::Late(_)) if late => Fault::Late(silent.join("; ")),
        Some(Fault::Outage(_) | Fault::Late(_)) | None => Fault::Outage(silent.join("; ")),
        Some(fault) => fault,
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place where the crate reads the time; `with_clock` replaces it")]
fn system_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The height of the state that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    /// The newest block.
    Latest,
    /// The newest block and the node's own pool.
    Pending,
    /// The newest final block, where the chain has the tag.
    Finalized,
    /// The block of this number.
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
