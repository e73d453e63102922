//! A proxy between the engine and its node that records the requests and their times.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use world::Rpc;

/// The name under which requests for a block by its number are counted.
pub const BY_NUMBER: &str = "a block by number";

/// A running proxy and its recorded traffic.
#[derive(Clone)]
pub struct RecordingProxy {
    /// The address to give to the engine.
    pub url: String,
    node: Rpc,
    traffic: Arc<Mutex<Traffic>>,
}

/// Recorded traffic.
#[derive(Clone, Default)]
pub struct Traffic {
    /// The time when each signed transaction was first sent.
    pub sends: Vec<Instant>,
    /// The time when the node first reported each block as final.
    pub finals: Vec<(u64, Instant)>,
    /// Calls by method.
    pub calls: BTreeMap<String, u64>,
    /// HTTP requests: a batch is one.
    pub posts: u64,
    known: HashSet<String>,
}

impl RecordingProxy {
    /// Starts a proxy for this node.
    pub async fn start(node: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound listener has an address"));
        let proxy = Self { url, node: Rpc::new(node), traffic: Arc::default() };
        let router = Router::new().route("/", post(relay)).with_state(proxy.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        proxy
    }

    /// The traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.lock().clone()
    }

    /// The time when the transaction with this number was sent. None if it was not yet.
    pub fn sent_at(&self, number: usize) -> Option<Instant> {
        self.lock().sends.get(number).copied()
    }

    fn lock(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn relay(State(proxy): State<RecordingProxy>, body: String) -> (StatusCode, String) {
    let arrived = Instant::now();
    let request: Value = serde_json::from_str(&body).unwrap_or_default();
    proxy.lock().note_request(&request, arrived);
    match proxy.node.post(body).await {
        Ok(answer) => {
            let read: Value = serde_json::from_str(&answer).unwrap_or_default();
            proxy.lock().note_answer(&request, &read);
            (StatusCode::OK, answer)
        }
        Err(why) => (StatusCode::BAD_GATEWAY, why),
    }
}

fn parts(body: &Value) -> &[Value] {
    body.as_array().map_or(std::slice::from_ref(body), Vec::as_slice)
}

impl Traffic {
    fn note_request(&mut self, request: &Value, arrived: Instant) {
        self.posts += 1;
        for call in parts(request) {
            let method = call["method"].as_str().unwrap_or_default();
            // The engine reads a block by number before it signs. This is not a poll for a new head.
            let by_number = call["params"][0].as_str().is_some_and(|text| text.starts_with("0x"));
            let name = if by_number && method == "eth_getBlockByNumber" { BY_NUMBER } else { method };
            *self.calls.entry(name.to_owned()).or_default() += 1;
            // A repeated send of the same bytes does not count.
            let raw = call["params"][0].as_str().unwrap_or_default();
            if method == "eth_sendRawTransaction" && self.known.insert(raw.to_owned()) {
                self.sends.push(arrived);
            }
        }
    }

    fn note_answer(&mut self, request: &Value, answer: &Value) {
        for call in parts(request).iter().filter(|call| call["params"][0] == "finalized") {
            let Some(answer) = parts(answer).iter().find(|answer| answer["id"] == call["id"]) else { continue };
            let number = answer["result"]["number"].as_str().and_then(|text| text.strip_prefix("0x"));
            let Some(number) = number.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else { continue };
            if self.finals.last().is_none_or(|(last, _)| *last < number) {
                self.finals.push((number, Instant::now()));
            }
        }
    }

    /// The time from which the engine could know that this block is final.
    pub fn final_at(&self, block: u64) -> Option<Instant> {
        self.finals.iter().find(|(last, _)| *last >= block).map(|(_, at)| *at)
    }
}
