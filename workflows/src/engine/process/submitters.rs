//! The submitters of all lanes: a task for each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};

use futures::FutureExt;
use muniment_domain::id::LaneId;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;

use crate::engine::prepare::{Memory, Prepared};
use crate::engine::process::held::{Held, Hold};
use crate::engine::process::submitter::{HELD_FULL_LANES, Incoming, Sending, Submitter, finished};
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
    loads: Arc<StdMutex<HashMap<LaneId, Arc<AtomicI64>>>>,
    /// Steps that are being prepared for each lane.
    coming: Arc<StdMutex<HashMap<LaneId, i64>>>,
    wants_more: Arc<HashMap<i64, Arc<Notify>>>,
    /// The operations that this process has in memory.
    pub held: Held,
}

/// The steps that one group of moves prepares, until they are with their lanes. Other groups count them, so that no two prepare steps for
/// the same place.
pub struct Coming<'a> {
    submitters: &'a Submitters,
    own: StdMutex<HashMap<LaneId, i64>>,
}

impl Coming<'_> {
    fn own(&self) -> MutexGuard<'_, HashMap<LaneId, i64>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for Coming<'_> {
    fn held(&self, lane_id: &LaneId) -> i64 {
        self.submitters.held_steps(lane_id) - self.own().get(lane_id).copied().unwrap_or_default()
    }

    fn hold(&self, lane_id: &LaneId) {
        *self.own().entry(lane_id.clone()).or_default() += 1;
        *self.submitters.coming().entry(lane_id.clone()).or_default() += 1;
    }

    fn limit(&self, in_flight_max: i64) -> i64 {
        in_flight_max * HELD_FULL_LANES
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        let mut coming = self.submitters.coming();
        for (lane_id, steps) in self.own().iter() {
            coming.entry(lane_id.clone()).and_modify(|count| *count -= steps);
        }
    }
}

/// A lane's task, and the channel into it.
struct Lane {
    chain_id: i64,
    sender: mpsc::Sender<(Prepared, Hold)>,
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
            coming: Arc::default(),
            wants_more: Arc::new(wants_more),
            held: Held::default(),
        }
    }

    /// The steps that a group of moves is about to prepare.
    pub fn prepares(&self) -> Coming<'_> {
        Coming { submitters: self, own: StdMutex::default() }
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
        let load = self.load(&prepared.lane_id);
        load.fetch_add(1, Ordering::Relaxed);
        if sender.send((prepared, hold)).await.is_err() {
            load.fetch_sub(1, Ordering::Relaxed);
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
        Lane { chain_id, sender, task: (self.spawn.lane)(submitter, receiver) }
    }

    fn load(&self, lane_id: &LaneId) -> Arc<AtomicI64> {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loads.entry(lane_id.clone()).or_default().clone()
    }

    /// Steps of a lane that wait there or are being prepared for it.
    fn held_steps(&self, lane_id: &LaneId) -> i64 {
        self.load(lane_id).load(Ordering::Relaxed) + self.coming().get(lane_id).copied().unwrap_or_default()
    }

    fn coming(&self) -> MutexGuard<'_, HashMap<LaneId, i64>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many operations the lanes of a chain can take from the table now: enough for the room of one more block. Also returns the lanes
    /// that take none.
    pub async fn wanted(&self, chain_id: i64) -> (usize, Vec<LaneId>) {
        let Some(network) = self.engine.network(chain_id) else { return (0, Vec::new()) };
        let (most, below, lanes) = (network.in_flight_max(), network.signed_max(), self.lanes.lock().await);
        let of_chain = lanes.iter().filter(|(_, lane)| lane.chain_id == chain_id);
        let known: Vec<(&LaneId, i64)> = of_chain.map(|(id, _)| (id, self.held_steps(id))).collect();
        let idle = network.signers.len().saturating_sub(known.len());
        let wanted: i64 = known.iter().filter(|(_, load)| *load < below).map(|(_, load)| below + most - load).sum();
        let full = known.iter().filter(|(_, load)| *load >= below).map(|(id, _)| (*id).clone()).collect();
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
