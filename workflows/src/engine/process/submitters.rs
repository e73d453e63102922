//! The submitters of all lanes: a task for each.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures::FutureExt;
use muniment_domain::id::LaneId;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;

use crate::engine::prepare::Prepared;
use crate::engine::process::held::{Held, Hold};
use crate::engine::process::submitter::{HELD_FULL_LANES, Incoming, Sending, Submitter, finished, in_flight_max};
use crate::engine::{Engine, Network};

/// How lanes and sends run beside everything else: as tasks. The simulation makes their steps one by one.
#[derive(Clone)]
pub struct Spawn {
    /// Starts the task of a lane.
    pub lane: Arc<dyn Fn(Submitter, Incoming) -> JoinHandle<()> + Send + Sync>,
    /// Starts a send.
    pub send: fn(Sending) -> Sending,
}

impl Default for Spawn {
    fn default() -> Self {
        Self {
            lane: Arc::new(|submitter, incoming| tokio::spawn(submitter.run(incoming))),
            send: |sending| tokio::spawn(sending).map(finished).boxed(),
        }
    }
}

/// The submitters of all lanes.
#[derive(Clone)]
pub struct Submitters {
    engine: Engine,
    spawn: Spawn,
    lanes: Arc<Mutex<HashMap<LaneId, Lane>>>,
    loads: Arc<std::sync::Mutex<HashMap<LaneId, Arc<AtomicI64>>>>,
    wants_more: Arc<HashMap<i64, Arc<Notify>>>,
    /// The operations that this process has in memory.
    pub held: Held,
}

/// A lane's task, and the channel into it.
struct Lane {
    chain_id: i64,
    sender: mpsc::Sender<(Prepared, Hold)>,
    load: Arc<AtomicI64>,
    task: JoinHandle<()>,
}

impl Submitters {
    /// Submitters for the lanes of this engine.
    pub fn new(engine: Engine) -> Self {
        Self::with(engine, Spawn::default())
    }

    /// The same, with lanes and sends that run in another way.
    pub fn with(engine: Engine, spawn: Spawn) -> Self {
        let wants_more = engine.networks.keys().map(|id| (*id, Arc::default())).collect();
        Self {
            engine,
            spawn,
            lanes: Arc::default(),
            loads: Arc::default(),
            wants_more: Arc::new(wants_more),
            held: Held::default(),
        }
    }

    /// Passes a step to its lane.
    pub async fn submit(&self, prepared: Prepared, hold: Hold) {
        let Some(network) = self.engine.network(prepared.op.chain_id) else { return };
        let sender = {
            let mut lanes = self.lanes.lock().await;
            if lanes.get(&prepared.lane_id).is_some_and(|lane| lane.sender.is_closed()) {
                tracing::error!(
                    lane.id = prepared.lane_id.as_str(),
                    "the submitter of a lane had ended and is started again"
                );
                lanes.remove(&prepared.lane_id);
            }
            let lane = lanes.entry(prepared.lane_id.clone()).or_insert_with(|| self.start(network, &prepared.lane_id));
            lane.sender.clone()
        };
        if sender.send((prepared, hold)).await.is_err() {
            tracing::error!("the submitter of a lane has ended; the sweep will wake its operations");
        }
    }

    fn start(&self, network: &Network, lane_id: &LaneId) -> Lane {
        let (sender, receiver) = mpsc::channel(self.engine.settings.sign_batch.max(1));
        let (chain_id, load) = (network.id(), self.load(lane_id));
        load.store(0, Ordering::Relaxed);
        let wants_more = self.wants_more(chain_id);
        let submitter =
            Submitter::new(self.engine.clone(), network, lane_id, (load.clone(), wants_more), self.spawn.send);
        Lane { chain_id, sender, load, task: (self.spawn.lane)(submitter, receiver) }
    }

    fn load(&self, lane_id: &LaneId) -> Arc<AtomicI64> {
        let mut loads = self.loads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loads.entry(lane_id.clone()).or_default().clone()
    }

    /// How many steps a lane accepts beyond those in flight.
    pub fn spare(&self, lane_id: &LaneId) -> i64 {
        let most = self.engine.networks.values().map(in_flight_max).max().unwrap_or_default() * HELD_FULL_LANES;
        most - self.load(lane_id).load(Ordering::Relaxed)
    }

    /// How many operations the lanes of a chain can take from the table now: enough for the room of the next two blocks. Also returns the
    /// lanes that take none.
    pub async fn wanted(&self, chain_id: i64) -> (usize, Vec<LaneId>) {
        let Some(network) = self.engine.network(chain_id) else { return (0, Vec::new()) };
        let (most, lanes) = (in_flight_max(network), self.lanes.lock().await);
        let of_chain = lanes.iter().filter(|(_, lane)| lane.chain_id == chain_id);
        let known: Vec<(&LaneId, i64)> = of_chain.map(|(id, lane)| (id, lane.load.load(Ordering::Relaxed))).collect();
        let idle = network.signers.len().saturating_sub(known.len());
        let wanted: i64 = known.iter().filter(|(_, load)| *load < most).map(|(_, load)| 2 * most - load).sum();
        let full = known.iter().filter(|(_, load)| *load >= most).map(|(id, _)| (*id).clone()).collect();
        (usize::try_from(wanted).unwrap_or(0) + idle * usize::try_from(most).unwrap_or(0), full)
    }

    /// The signal that the lanes of a chain have little left to sign.
    pub fn wants_more(&self, chain_id: i64) -> Arc<Notify> {
        self.wants_more.get(&chain_id).cloned().unwrap_or_default()
    }

    /// Asks for parked operations on every chain.
    pub fn ask_for_more(&self) {
        self.wants_more.values().for_each(|wants_more| wants_more.notify_one());
    }

    /// Lets every lane sign and send as much as it has room for, and ends it.
    pub async fn drain(&self) {
        let lanes: Vec<_> = self.lanes.lock().await.drain().map(|(_, lane)| lane).collect();
        for lane in lanes {
            drop(lane.sender);
            if let Err(error) = lane.task.await {
                tracing::error!("the submitter of a lane failed: {error}");
            }
        }
    }
}
