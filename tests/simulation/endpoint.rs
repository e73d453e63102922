//! One endpoint of the chain, with everything that may go wrong between it and the engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy::primitives::{B256, Bytes};
use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_activities::Node;
use serde_json::{Value, json};

use crate::block::{Block, Tx};
use crate::fault::Fault;
use crate::mood::Mood;
use crate::net::{Net, Taken};
use crate::rpc::{Answer, View, error};

/// What happens in the middle of a move, at one of its questions.
pub enum Meanwhile {
    /// The other worker makes a whole move.
    Move(BoxFuture<'static, ()>),
    /// The process ends, before the request leaves or after it was served.
    Kill { served: bool },
    /// A block or a reorganisation.
    Chain,
}

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
    /// After so many requests this happens.
    pub meanwhile: Option<(u64, Meanwhile)>,
    /// The move under way was killed.
    pub killed: bool,
    pub now: u64,
}

impl Shared {
    pub fn new(net: Net, mood: Mood) -> Arc<Self> {
        let state = State { mood, outage: false, down: None, frozen: None, meanwhile: None, killed: false, now: 0 };
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
        let due = {
            let mut state = self.shared.state();
            match state.meanwhile.take() {
                Some((0, meanwhile)) => Some(meanwhile),
                Some((left, meanwhile)) => {
                    state.meanwhile = Some((left - 1, meanwhile));
                    None
                }
                None => None,
            }
        };
        match due {
            None => self.reply(&request),
            Some(Meanwhile::Move(other)) => {
                self.shared.net().hit(Fault::Interleaved);
                other.await;
                self.reply(&request)
            }
            Some(Meanwhile::Kill { served }) => {
                self.shared.net().hit(Fault::Killed);
                if served {
                    let _ = self.reply(&request);
                }
                self.shared.state().killed = true;
                std::future::pending().await
            }
            Some(Meanwhile::Chain) => {
                let now = self.shared.state().now;
                let mut net = self.shared.net();
                net.hit(Fault::ChainMoved);
                if net.seed.chance(0.3) {
                    net.reorganise(now)
                } else {
                    net.mine(now, 0.8)
                }
                drop(net);
                self.reply(&request)
            }
        }
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
