//! One endpoint: its connection, its health and the methods it lacks.
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Serialize;

use crate::{
    fault::Fault,
    rpc::{
        self, Answer, Request,
        answer::{Unreadable, answers},
        calls::CallCounter,
        classify,
        redact::Redaction,
        transport::{Transport, TransportFault},
    },
};

/// Calls in one batch. Providers refuse batches above 100 to 1,000 calls.
const BATCH_REQUESTS_MAX: usize = 100;
/// The longest pause before a failed endpoint is asked again.
const COOLING_MILLISECONDS_MAX: u64 = 30_000;

/// The health of one endpoint, for `doctor`, metrics and the console.
#[derive(Clone, Debug, Serialize)]
pub struct EndpointHealth {
    /// Scheme and host of the URL; never the path, which can hold a key.
    pub endpoint: String,
    /// Whether the last answer was usable.
    pub up: bool,
    /// When the endpoint went up or down, in milliseconds of the clock; 0 before the first answer.
    pub since_milliseconds: u64,
    /// Class of the last error.
    pub last_error: Option<&'static str>,
    /// Duration of the last answer.
    pub latency_milliseconds: Option<u64>,
    /// The number of the newest block that it last showed.
    pub head: Option<u64>,
    /// Why the other endpoints are asked before this one: it is behind them, or shows a head that it does not have.
    pub distrusted: Option<String>,
    /// The chain it serves, if that is not the configured one; such an endpoint is not used.
    pub wrong_chain: Option<String>,
}

#[derive(Default)]
struct State {
    up: bool,
    verified: bool,
    failures: u32,
    /// When the last of them was counted.
    failed_at: u64,
    since: u64,
    cooling_until: u64,
    last_error: Option<&'static str>,
    latency: Option<u64>,
    head: Option<u64>,
    distrusted: Option<String>,
    wrong_chain: Option<Fault>,
}

pub(crate) struct Endpoint {
    pub redaction: Redaction,
    transport: Transport,
    state: Mutex<State>,
    missing_methods: Mutex<BTreeSet<String>>,
    refuses_batches: AtomicBool,
}

impl Endpoint {
    pub fn new(transport: Transport, label: &str) -> Endpoint {
        Endpoint {
            redaction: Redaction::of(label),
            transport,
            state: Mutex::default(),
            missing_methods: Mutex::default(),
            refuses_batches: AtomicBool::new(false),
        }
    }

    /// Sends the calls in batches where the endpoint accepts them, and returns the answers in the order of the calls.
    pub async fn post(&self, requests: &[Request], calls: &CallCounter) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(requests.len());
        for batch in requests.chunks(BATCH_REQUESTS_MAX) {
            if batch.len() > 1 && !self.refuses_batches.load(Ordering::Relaxed) {
                match self.post_body(batch, calls).await {
                    // The calls are sent one by one below, and from now on always.
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
                        return Err(Fault::Malformed("a single call got the answer of a batch".into()));
                    }
                }
            }
        }
        Ok(answers)
    }

    async fn post_body(&self, requests: &[Request], calls: &CallCounter) -> Result<Vec<Answer>, PostFault> {
        calls.count(requests);
        let body =
            self.transport.post(rpc::body(requests), &self.redaction).await.map_err(|fault| self.fault(fault))?;
        let mut answers = answers(requests.len(), body).map_err(|unreadable| match unreadable {
            // Some providers answer a whole batch with one rate-limit error.
            Unreadable::BatchRefused(error) if classify::is_rate_limit(error.code, &error.message) => {
                PostFault::Fault(self.fault(TransportFault::RateLimited(None)))
            }
            Unreadable::BatchRefused(error) if classify::is_batch_refusal(error.code, &error.message) => {
                PostFault::BatchRefused
            }
            Unreadable::BatchRefused(error) => {
                PostFault::Fault(self.fault(TransportFault::Broken(self.redaction.clean(&error.message))))
            }
            Unreadable::Text(text) => PostFault::Fault(Fault::Malformed(format!("{}: {text}", self.redaction.label))),
        })?;
        for error in answers.iter_mut().filter_map(|answer| answer.as_mut().err()) {
            error.message = self.redaction.clean(&error.message);
        }
        // The texts of nodes can quote the URL with its key.
        let limited =
            |answer: &Answer| matches!(answer, Err(error) if classify::is_rate_limit(error.code, &error.message));
        // A send keeps one answer for each transaction, so a rate limit stays in the answer of its transaction.
        if requests.iter().all(|request| request.method != "eth_sendRawTransaction") && answers.iter().any(limited) {
            return Err(PostFault::Fault(self.fault(TransportFault::RateLimited(None))));
        }
        Ok(answers)
    }

    fn fault(&self, fault: TransportFault) -> Fault {
        let endpoint = self.redaction.label.clone();
        match fault {
            TransportFault::RateLimited(retry_after_seconds) => Fault::RateLimited { endpoint, retry_after_seconds },
            TransportFault::Timeout => Fault::Late(format!("{endpoint}: no answer in time")),
            TransportFault::Broken(text) => Fault::Outage(format!("{endpoint}: {text}")),
        }
    }

    /// Records a usable answer.
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

    /// Records the failure of a request that began at this time. After an outage the chain id is checked again.
    pub fn failed(&self, started: u64, now: u64, fault: &Fault) {
        let mut state = self.state();
        // Log the change to down once, not every failure.
        if state.up || state.failures == 0 {
            state.since = now;
            tracing::warn!(endpoint.url = %self.redaction.label, error.class = fault.code(), error = %fault, "endpoint is down");
        }
        state.up = false;
        state.verified = false;
        // Requests that were on their way together fail together: the pause doubles once.
        if state.failures == 0 || started >= state.failed_at {
            state.failures = state.failures.saturating_add(1);
            state.failed_at = now;
        }
        state.last_error = Some(fault.code());
        // The pause doubles with each failure, from one second up to the limit.
        let pause = (500u64 << state.failures.min(6)).min(COOLING_MILLISECONDS_MAX);
        let asked = match fault {
            Fault::RateLimited { retry_after_seconds: Some(seconds), .. } => seconds.saturating_mul(1_000),
            _ => 0,
        };
        // A node in memory never hangs, so a pause gains nothing, and a simulation must depend on its seed alone.
        if matches!(self.transport, Transport::Http { .. }) {
            // A huge Retry-After must not disable the endpoint for longer than ten minutes.
            state.cooling_until = now.saturating_add(pause.max(asked.min(600_000)));
        }
    }

    /// Records that the endpoint serves another chain; `None` admits it again.
    pub fn set_wrong_chain(&self, wrong_chain: Option<Fault>) {
        let mut state = self.state();
        if let Some(fault) = &wrong_chain {
            tracing::error!(endpoint.url = %self.redaction.label, error = %fault, "endpoint serves another chain and is not used");
        }
        state.verified = wrong_chain.is_none();
        state.wrong_chain = wrong_chain;
    }

    /// Why the endpoint must not be used, if it serves another chain.
    pub fn wrong_chain(&self) -> Option<Fault> {
        self.state().wrong_chain.clone()
    }

    /// Whether its chain id was checked since its last outage.
    pub fn is_verified(&self) -> bool {
        self.state().verified
    }

    /// Whether its last failure is so recent that it is not asked.
    pub fn is_cooling(&self, now: u64) -> bool {
        self.state().cooling_until > now
    }

    /// Records the newest block of this endpoint. The last one counts, so that an absurd number is not believed for ever.
    pub fn note_head(&self, number: u64) {
        self.state().head = Some(number);
    }

    /// Puts the endpoint behind the others, with the reason, or admits it again.
    pub fn distrust(&self, reason: Option<String>) {
        let mut state = self.state();
        match (&state.distrusted, &reason) {
            (None, Some(why)) => {
                tracing::warn!(endpoint.url = %self.redaction.label, "the other endpoints are asked before this one: {why}");
            }
            (Some(_), None) => tracing::info!(endpoint.url = %self.redaction.label, "endpoint is at the head again"),
            _ => {}
        }
        state.distrusted = reason;
    }

    /// Whether the other endpoints are asked first.
    pub fn is_distrusted(&self) -> bool {
        self.state().distrusted.is_some()
    }

    /// Records a method that the endpoint lacks; false if it was recorded before.
    pub fn note_missing_method(&self, method: &str) -> bool {
        self.missing_methods.lock().unwrap_or_else(PoisonError::into_inner).insert(method.to_owned())
    }

    /// Whether the endpoint lacks the method.
    pub fn lacks(&self, method: &str) -> bool {
        self.missing_methods.lock().unwrap_or_else(PoisonError::into_inner).contains(method)
    }

    /// The health as shown to people.
    pub fn health(&self) -> EndpointHealth {
        let state = self.state();
        EndpointHealth {
            endpoint: self.redaction.label.clone(),
            up: state.up,
            since_milliseconds: state.since,
            last_error: state.last_error,
            latency_milliseconds: state.latency,
            head: state.head,
            distrusted: state.distrusted.clone(),
            wrong_chain: state.wrong_chain.as_ref().map(ToString::to_string),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another thread cannot leave the state half written: its fields are independent values.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ChainConfig;

    #[test]
    fn requests_that_fail_together_lengthen_the_pause_once() {
        let url = "http://localhost:1";
        let endpoint = Endpoint::new(Transport::http(url, &ChainConfig::default()).expect("a URL"), url);
        let fault = Fault::Late("no answer".to_owned());
        for _ in 0..8 {
            endpoint.failed(0, 10_000, &fault);
        }
        assert!(endpoint.is_cooling(10_999) && !endpoint.is_cooling(11_000));
        endpoint.failed(11_000, 21_000, &fault);
        assert!(endpoint.is_cooling(22_999) && !endpoint.is_cooling(23_000), "the next failure doubles it");
    }
}
