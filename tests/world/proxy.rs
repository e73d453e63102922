//! A JSON-RPC proxy on the loopback between the engine and a node, with faults by rules.
//!
//! Faults are drawn from a seed, and a fault counts as a hit only when it changed something:
//! a test asserts its hits, so that it cannot pass because its fault changed nothing.

mod fault;
mod lie;
mod pool;
mod rule;
mod serve;
mod trace;
mod visit;

use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use fault::Fault;
pub use pool::Signed;
pub use rule::Rule;
pub use trace::{Fate, Sent, Trace};

use crate::stage::Stage;
use crate::{Rpc, Seed};
use pool::Pool;
use rule::Active;

/// A running proxy; it goes with the value.
pub struct FaultProxy {
    url: String,
    shared: Arc<Shared>,
    _stage: Stage,
}

/// Identifies an added rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(usize);

struct Shared {
    node: Rpc,
    seed: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rules: Vec<Active>,
    pool: Pool,
    trace: Trace,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultProxy {
    /// A proxy before this node; without rules it changes nothing.
    pub fn start(node: &str, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        listener.set_nonblocking(true).expect("a listener can be made asynchronous");
        let url = format!("http://{}", listener.local_addr().expect("a bound listener has an address"));
        let shared = Arc::new(Shared { node: Rpc::new(node), seed, state: Mutex::default() });
        let stage = Stage::run(serve::serve(listener, shared.clone()));
        Self { url, shared, _stage: stage }
    }

    /// The address to give to the engine.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds a rule. Rules are tried in the order of their addition.
    pub fn add(&self, rule: Rule) -> RuleId {
        let mut state = self.shared.state();
        let id = state.rules.len();
        // Each rule draws from a sequence of its own, so that one more rule changes no other's draws.
        let seed = Seed::new(self.shared.seed ^ (id as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93));
        state.rules.push(Active::new(rule, seed));
        RuleId(id)
    }

    /// Ends a rule; its hits stay readable.
    pub fn remove(&self, id: RuleId) {
        self.shared.state().rules[id.0].removed = true;
    }

    /// Ends every rule.
    pub fn heal(&self) {
        self.shared.state().rules.iter_mut().for_each(|rule| rule.removed = true);
    }

    /// How often a rule changed something.
    pub fn hits(&self, id: RuleId) -> u64 {
        self.shared.state().rules[id.0].hits
    }

    /// How often a method was called, faults included.
    pub fn calls(&self, method: &str) -> u64 {
        self.shared.state().trace.calls.get(method).copied().unwrap_or_default()
    }

    /// Everything counted so far.
    pub fn trace(&self) -> Trace {
        self.shared.state().trace.clone()
    }
}
