//! One endpoint: its wire, its health, and what it was found unable to do.
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Serialize;

use crate::{
    calls::Calls,
    classify,
    fault::Fault,
    redact::Redaction,
    rpc::{self, Answer, Request, Unreadable},
    wire::{Wire, WireFault},
};

/// How many calls one batch holds at most; providers refuse more than 100 to 1,000.
const BATCH_REQUESTS_MAX: usize = 100;
/// The longest pause before an endpoint that failed is asked again.
const COOLING_MILLISECONDS_MAX: u64 = 30_000;

/// The state of one endpoint, for `doctor`, metrics and the console.
#[derive(Clone, Debug, Serialize)]
pub struct EndpointHealth {
    /// Scheme and host; never the path, which may hold a key.
    pub endpoint: String,
    /// Whether its last answer was usable.
    pub up: bool,
    /// Since when it is up or down, in milliseconds of the clock; 0 before its first answer.
    pub since_milliseconds: u64,
    /// The class of the last error.
    pub last_error: Option<&'static str>,
    /// How long the last answer took.
    pub latency_milliseconds: Option<u64>,
    /// The highest block it has shown.
    pub head: Option<u64>,
    /// What it serves instead of the configured chain; such an endpoint is not used.
    pub wrong_chain: Option<String>,
}

#[derive(Default)]
struct State {
    up: bool,
    verified: bool,
    failures: u32,
    since: u64,
    cooling_until: u64,
    last_error: Option<&'static str>,
    latency: Option<u64>,
    head: Option<u64>,
    wrong_chain: Option<Fault>,
}

pub(crate) struct Endpoint {
    pub redaction: Redaction,
    wire: Wire,
    state: Mutex<State>,
    lacks: Mutex<BTreeSet<String>>,
    refuses_batches: AtomicBool,
}

impl Endpoint {
    pub fn new(wire: Wire, label: &str) -> Endpoint {
        Endpoint {
            redaction: Redaction::of(label),
            wire,
            state: Mutex::default(),
            lacks: Mutex::default(),
            refuses_batches: AtomicBool::new(false),
        }
    }

    /// Sends the calls, in one body where the endpoint takes batches, and answers in their order.
    pub async fn post(&self, requests: &[Request], calls: &Calls) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(requests.len());
        for batch in requests.chunks(BATCH_REQUESTS_MAX) {
            if batch.len() > 1 && !self.refuses_batches.load(Ordering::Relaxed) {
                match self.post_body(batch, calls).await {
                    Err(PostFault::BatchRefused) => self.refuses_batches.store(true, Ordering::Relaxed),
                    Err(PostFault::Fault(fault)) => return Err(fault),
                    Ok(part) => {
                        answers.extend(part);
                        continue;
                    }
                }
            }
            for request in batch {
                match self.post_body(std::slice::from_ref(request), calls).await {
                    Ok(part) => answers.extend(part),
                    Err(PostFault::Fault(fault)) => return Err(fault),
                    Err(PostFault::BatchRefused) => {
                        return Err(Fault::Malformed("a single call was answered as a batch".into()));
                    }
                }
            }
        }
        Ok(answers)
    }

    async fn post_body(&self, requests: &[Request], calls: &Calls) -> Result<Vec<Answer>, PostFault> {
        calls.count(requests);
        let body = self.wire.post(rpc::body(requests), &self.redaction).await.map_err(|fault| self.fault(fault))?;
        let mut answers = rpc::answers(requests.len(), body).map_err(|unreadable| match unreadable {
            Unreadable::BatchRefused(error) if classify::is_rate_limit(error.code, &error.message) => {
                PostFault::Fault(self.fault(WireFault::RateLimited(None)))
            }
            Unreadable::BatchRefused(error) if classify::is_batch_refusal(error.code, &error.message) => {
                PostFault::BatchRefused
            }
            Unreadable::BatchRefused(error) => {
                PostFault::Fault(self.fault(WireFault::Broken(self.redaction.clean(&error.message))))
            }
            Unreadable::Text(text) => PostFault::Fault(Fault::Malformed(format!("{}: {text}", self.redaction.label))),
        })?;
        for error in answers.iter_mut().filter_map(|answer| answer.as_mut().err()) {
            error.message = self.redaction.clean(&error.message);
        }
        let limited =
            |answer: &Answer| matches!(answer, Err(error) if classify::is_rate_limit(error.code, &error.message));
        // A send must keep the answers of its other transactions, so its limits stay in their place.
        if requests.iter().all(|request| request.method != "eth_sendRawTransaction") && answers.iter().any(limited) {
            return Err(PostFault::Fault(self.fault(WireFault::RateLimited(None))));
        }
        Ok(answers)
    }

    fn fault(&self, fault: WireFault) -> Fault {
        let endpoint = self.redaction.label.clone();
        match fault {
            WireFault::RateLimited(retry_after_seconds) => Fault::RateLimited { endpoint, retry_after_seconds },
            WireFault::Timeout => Fault::Late(format!("{endpoint}: no answer in time")),
            WireFault::Broken(text) => Fault::Outage(format!("{endpoint}: {text}")),
        }
    }

    /// Notes a good answer.
    pub fn succeeded(&self, now: u64, latency: u64) {
        let mut state = self.state();
        if !state.up {
            state.since = now;
            tracing::info!(endpoint.url = %self.redaction.label, "endpoint is up");
        }
        state.up = true;
        state.failures = 0;
        state.cooling_until = 0;
        state.latency = Some(latency);
    }

    /// Notes an answer that was none; after an outage the chain id is asked again.
    pub fn failed(&self, now: u64, fault: &Fault) {
        let mut state = self.state();
        if state.up || state.failures == 0 {
            state.since = now;
            tracing::warn!(endpoint.url = %self.redaction.label, error.class = fault.code(), error = %fault, "endpoint is down");
        }
        state.up = false;
        state.verified = false;
        state.failures = state.failures.saturating_add(1);
        state.last_error = Some(fault.code());
        let pause = (500u64 << state.failures.min(6)).min(COOLING_MILLISECONDS_MAX);
        let asked = match fault {
            Fault::RateLimited { retry_after_seconds: Some(seconds), .. } => seconds.saturating_mul(1_000),
            _ => 0,
        };
        // A node in memory never hangs, so nothing is won by waiting, and a simulation stays a function of its seed.
        if matches!(self.wire, Wire::Http { .. }) {
            state.cooling_until = now.saturating_add(pause.max(asked.min(600_000)));
        }
    }

    /// Notes that the endpoint serves another chain; `None` takes it in again.
    pub fn judged(&self, wrong_chain: Option<Fault>) {
        let mut state = self.state();
        if let Some(fault) = &wrong_chain {
            tracing::error!(endpoint.url = %self.redaction.label, error = %fault, "endpoint serves another chain and is taken out");
        }
        state.verified = wrong_chain.is_none();
        state.wrong_chain = wrong_chain;
    }

    /// Why the endpoint may not be used, if it may not.
    pub fn wrong_chain(&self) -> Option<Fault> {
        self.state().wrong_chain.clone()
    }

    /// Whether its chain id was seen since it was last down.
    pub fn is_verified(&self) -> bool {
        self.state().verified
    }

    /// Whether it failed so recently that it is left alone.
    pub fn is_cooling(&self, now: u64) -> bool {
        self.state().cooling_until > now
    }

    /// Notes a block that it has shown.
    pub fn saw_head(&self, number: u64) {
        let mut state = self.state();
        state.head = state.head.max(Some(number));
    }

    /// The highest block it has shown.
    pub fn head(&self) -> Option<u64> {
        self.state().head
    }

    /// Remembers a method that it does not offer; false if that was known.
    pub fn learned_lack(&self, method: &str) -> bool {
        self.lacks.lock().unwrap_or_else(PoisonError::into_inner).insert(method.to_owned())
    }

    /// Whether it was found not to offer the method.
    pub fn lacks(&self, method: &str) -> bool {
        self.lacks.lock().unwrap_or_else(PoisonError::into_inner).contains(method)
    }

    /// What people are shown.
    pub fn health(&self) -> EndpointHealth {
        let state = self.state();
        EndpointHealth {
            endpoint: self.redaction.label.clone(),
            up: state.up,
            since_milliseconds: state.since,
            last_error: state.last_error,
            latency_milliseconds: state.latency,
            head: state.head,
            wrong_chain: state.wrong_chain.as_ref().map(ToString::to_string),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is plain figures: a thread that panicked while holding it left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum PostFault {
    BatchRefused,
    Fault(Fault),
}

impl From<Fault> for PostFault {
    fn from(fault: Fault) -> Self {
        PostFault::Fault(fault)
    }
}
