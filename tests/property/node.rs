//! The embedded chain as a node of the engine, with a line to it that loses things.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_activities::Node;
use muniment_devchain::Devchain;
use serde_json::{Value, json};
use world::Seed;

/// How bad the line is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Nothing comes through.
    pub outage: bool,
    /// The share of requests that never arrive.
    pub lost_requests: f64,
    /// The share of answers that never come back, although the node has done what it was asked.
    pub lost_answers: f64,
    /// The share of requests that are refused for their number.
    pub rate_limited: f64,
}

/// The node.
pub struct Line {
    chain: Devchain,
    state: Mutex<(Weather, Seed)>,
}

impl Line {
    pub fn new(chain: Devchain, seed: Seed) -> Arc<Self> {
        Arc::new(Self { chain, state: Mutex::new((Weather::default(), seed)) })
    }

    pub fn set(&self, weather: Weather) {
        self.state().0 = weather;
    }

    fn state(&self) -> MutexGuard<'_, (Weather, Seed)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry(&self, request: Value) -> Result<Value, String> {
        let (weather, lost_request, lost_answer, limited) = {
            let mut state = self.state();
            let weather = state.0;
            let strikes = |seed: &mut Seed, odds: f64| odds > 0.0 && seed.chance(odds);
            let lost_request = strikes(&mut state.1, weather.lost_requests);
            let lost_answer = strikes(&mut state.1, weather.lost_answers);
            (weather, lost_request, lost_answer, strikes(&mut state.1, weather.rate_limited))
        };
        if weather.outage || lost_request {
            return Err("connection refused".to_owned());
        }
        if limited {
            return Ok(
                json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32_005, "message": "too many requests" } }),
            );
        }
        let answer = self.chain.handle(request);
        if lost_answer { Err("connection reset while the answer was read".to_owned()) } else { Ok(answer) }
    }
}

impl Node for Line {
    fn handle(&self, request: Value) -> BoxFuture<'_, Result<Value, String>> {
        std::future::ready(self.carry(request)).boxed()
    }
}
