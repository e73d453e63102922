//! One endpoint of the chain, with everything that may go wrong between it and the engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy::primitives::{B256, Bytes};
use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_activities::Node;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::task::JoinHandle;

use crate::block::{Block, Tx};
use crate::fault::Fault;
use crate::middle::{Meanwhile, Met, Place};
use crate::mood::Mood;
use crate::net::{Net, Taken};
use crate::rpc::{Answer, View, error};

/// What all endpoints share.
pub struct Shared {
    net: Mutex<Net>,
    state: Mutex<State>,
}

/// What is arranged for the endpoints.
pub struct State {
    pub mood: Mood,
    /// No endpoint answers.
    pub outage: bool,
    /// This endpoint does not.
    pub down: Option<usize>,
    /// What an endpoint still believes, if it stands still.
    pub frozen: Option<(usize, Vec<Arc<Block>>, u64)>,
    /// What happens after so many more calls of a kind.
    pub meanwhile: Option<(Place, u64, Meanwhile)>,
    /// How the move under way ends, if it does not end by itself.
    pub met: Option<Met>,
    /// Whether the planned crash ends the process. Else the commit fails, or its answer is lost, and the process goes on.
    pub crash_ends: bool,
    /// A move of another process that began in the middle of the one under way, on a server.
    pub other: Option<JoinHandle<()>>,
    /// The server, if the database is one: there a move can begin while another one holds its locks.
    pub server: Option<PgPool>,
    pub now: u64,
}

impl Shared {
    pub fn new(net: Net, mood: Mood, server: Option<PgPool>) -> Arc<Self> {
        let state = State {
            mood,
            outage: false,
            down: None,
            frozen: None,
            meanwhile: None,
            met: None,
            crash_ends: true,
            other: None,
            server,
            now: 0,
        };
        Arc::new(Self { net: Mutex::new(net), state: Mutex::new(state) })
    }

    pub fn net(&self) -> MutexGuard<'_, Net> {
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of them.
pub struct Endpoint {
    pub index: usize,
    pub shared: Arc<Shared>,
}

impl Node for Endpoint {
    fn handle(&self, request: Value) -> BoxFuture<'_, Result<Value, String>> {
        self.visited(request).boxed()
    }
}

impl Endpoint {
    async fn visited(&self, request: Value) -> Result<Value, String> {
        if let Some(meanwhile) = self.shared.due(Place::Question) {
            if matches!(meanwhile, Meanwhile::Kill { served: true }) {
                let _ = self.reply(&request);
            }
            self.shared.happen(Place::Question, meanwhile).await;
        }
        self.reply(&request)
    }

    /// Serves a body, or fails to.
    fn reply(&self, request: &Value) -> Result<Value, String> {
        let mut state = self.shared.state();
        let mut net = self.shared.net();
        if state.outage || state.down == Some(self.index) {
            net.hit(if state.outage { Fault::Outage } else { Fault::EndpointDown });
            return Err("connection refused".to_owned());
        }
        let mut strikes = |net: &mut Net, fault| {
            let strikes = state.mood.strikes(fault);
            if strikes {
                net.hit(fault);
            }
            strikes
        };
        if strikes(&mut net, Fault::LostRequest) {
            return Err("connection reset before the request was sent".to_owned());
        }
        if strikes(&mut net, Fault::RateLimited) {
            return Ok(
                json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32_005, "message": "too many requests" } }),
            );
        }
        let twice = strikes(&mut net, Fault::Duplicated);
        let (lost, garbage) = (strikes(&mut net, Fault::LostResponse), strikes(&mut net, Fault::Garbage));
        let mut answer = self.serve(request, &mut state, &mut net);
        if twice {
            answer = self.serve(request, &mut state, &mut net);
        }
        match (lost, garbage) {
            (true, _) => Err("connection reset while the answer was read".to_owned()),
            (_, true) => Ok(json!("<html>bad gateway</html>")),
            _ => Ok(answer),
        }
    }

    fn serve(&self, request: &Value, state: &mut State, net: &mut Net) -> Value {
        match request {
            Value::Array(parts) => parts.iter().map(|part| self.one(part, state, net)).collect(),
            single => self.one(single, state, net),
        }
    }

    fn one(&self, request: &Value, state: &mut State, net: &mut Net) -> Value {
        let (id, method) = (&request["id"], request["method"].as_str().unwrap_or_default());
        let answer = match method {
            "eth_sendRawTransaction" => send(&request["params"][0], state, net),
            _ => {
                let missing = state.mood.missing_blocks(net);
                let newest_is_final = state.mood.calls_newest_final(self.index, &request["params"][0], net);
                let (blocks, last) = match &state.frozen {
                    Some((index, blocks, last)) if *index == self.index => {
                        net.hit(Fault::Stale);
                        (&blocks[..], *last)
                    }
                    _ => (&net.blocks[..], net.last),
                };
                let shown = blocks.len().saturating_sub(missing).max(1);
                let (blocks, last) = (&blocks[..shown], last.min(shown as u64 - 1));
                let last = if newest_is_final { shown as u64 - 1 } else { last };
                let view = View { blocks, last, base_fee: net.base_fee, pool: &net.pool };
                let answer = view.answer(method, &request["params"]);
                state.mood.twist(self.index, (method, &request["params"]), answer, net)
            }
        };
        match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message, data)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": data } })
            }
        }
    }
}

fn send(raw: &Value, state: &mut State, net: &mut Net) -> Answer {
    let raw: Bytes = serde_json::from_value(raw.clone()).map_err(|_| error("invalid params"))?;
    let hash = alloy::primitives::keccak256(&raw);
    let known = net.seen.get(&hash).cloned();
    let tx = match known {
        Some(tx) => tx,
        None => Arc::new(Tx::decode(&raw).ok_or_else(|| error("rlp: cannot decode"))?),
    };
    if state.mood.strikes(Fault::Swallowed) {
        net.hit(Fault::Swallowed);
        net.seen.insert(hash, tx);
        return Ok(json!(hash));
    }
    match net.take(tx) {
        Taken::Yes if state.mood.strikes(Fault::OtherHash) => {
            net.hit(Fault::OtherHash);
            Ok(json!(B256::repeat_byte(0x0b)))
        }
        Taken::Yes => Ok(json!(hash)),
        Taken::Known => Err(error("already known")),
        Taken::NonceTooLow => Err(error("nonce too low")),
        Taken::Underpriced => Err(error("replacement transaction underpriced")),
        Taken::Unfunded => Err(error("insufficient funds for gas * price + value")),
    }
}
