//! One task for each lane. What was prepared for it waits there for room, in memory and bounded; what comes at the same time is signed
//! in one commit and sent in one call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use muniment_domain::Result;
use muniment_domain::attempt::{Answered, Attempt};
use muniment_domain::operation::LANE_FULL;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::engine::prepare::Prepared;
use crate::engine::process::held::{Held, Hold};
use crate::engine::submit::{self, Told};
use crate::engine::{Engine, Network};

/// How many times what may be in flight is held in memory for a lane; the rest waits in the table.
const HELD_FULL_LANES: i64 = 4;
/// After this time a prepared step is prepared again: fees and state have moved on.
const FRESH_SECONDS: i64 = 15;
/// How soon a full lane is looked at again when no block of this process said that there is room: another process may follow the chain.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long the note of an answer waits for a commit to go along with.
const NOTE_AFTER: Duration = Duration::from_millis(25);

/// The lanes' submitters.
#[derive(Clone)]
pub struct Submitters {
    engine: Engine,
    lanes: Arc<Mutex<HashMap<String, Lane>>>,
    loads: Arc<std::sync::Mutex<HashMap<String, Arc<AtomicI64>>>>,
    hunger: Arc<HashMap<i64, Arc<Notify>>>,
    /// What this process has in memory.
    pub held: Held,
}

/// The way into a lane's task, and the task.
struct Lane {
    chain_id: i64,
    sender: mpsc::Sender<(Prepared, Hold)>,
    load: Arc<AtomicI64>,
    task: JoinHandle<()>,
}

impl Submitters {
    /// Submitters that sign with this engine's keys.
    pub fn new(engine: Engine) -> Self {
        let hunger = engine.networks.keys().map(|id| (*id, Arc::default())).collect();
        Self { engine, lanes: Arc::default(), loads: Arc::default(), hunger: Arc::new(hunger), held: Held::default() }
    }

    /// Hands a step to its lane.
    pub async fn submit(&self, prepared: Prepared, hold: Hold) {
        let sender = {
            let mut lanes = self.lanes.lock().await;
            let lane = lanes.entry(prepared.lane_id.clone()).or_insert_with(|| self.start(&prepared));
            lane.sender.clone()
        };
        if sender.send((prepared, hold)).await.is_err() {
            tracing::error!("a lane's submitter is gone; the sweep will wake its operations");
        }
    }

    fn start(&self, first: &Prepared) -> Lane {
        let (sender, receiver) = mpsc::channel(self.engine.settings.sign_batch.max(1));
        let (chain_id, load) = (first.op.chain_id, self.load(&first.lane_id));
        let submitter = Submitter {
            engine: self.engine.clone(),
            chain_id,
            lane_id: first.lane_id.clone(),
            load: load.clone(),
            hungry: self.hunger(chain_id),
            waiting: Vec::new(),
            holds: HashMap::new(),
            answers: Vec::new(),
            sending: None,
        };
        Lane { chain_id, sender, load, task: tokio::spawn(submitter.run(receiver)) }
    }

    fn load(&self, lane_id: &str) -> Arc<AtomicI64> {
        let mut loads = self.loads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loads.entry(lane_id.to_owned()).or_default().clone()
    }

    /// How many more steps than it has in flight a lane still takes.
    pub fn spare(&self, lane_id: &str) -> i64 {
        let most = self.engine.networks.values().map(in_flight_max).max().unwrap_or_default() * HELD_FULL_LANES;
        most - self.load(lane_id).load(Ordering::Relaxed)
    }

    /// How many operations the lanes of a chain would take from the table now, enough for the room of the next two blocks, and which
    /// lanes take none.
    pub async fn wanted(&self, chain_id: i64) -> (usize, Vec<String>) {
        let Some(network) = self.engine.network(chain_id) else { return (0, Vec::new()) };
        let (most, lanes) = (in_flight_max(network), self.lanes.lock().await);
        let of_chain = lanes.iter().filter(|(_, lane)| lane.chain_id == chain_id);
        let known: Vec<(&String, i64)> = of_chain.map(|(id, lane)| (id, lane.load.load(Ordering::Relaxed))).collect();
        let idle = network.signers.len().saturating_sub(known.len());
        let wanted: i64 = known.iter().filter(|(_, load)| *load < most).map(|(_, load)| 2 * most - load).sum();
        let full = known.iter().filter(|(_, load)| *load >= most).map(|(id, _)| (*id).clone()).collect();
        (usize::try_from(wanted).unwrap_or(0) + idle * usize::try_from(most).unwrap_or(0), full)
    }

    /// What is rung when the lanes of a chain have little left to sign.
    pub fn hunger(&self, chain_id: i64) -> Arc<Notify> {
        self.hunger.get(&chain_id).cloned().unwrap_or_default()
    }

    /// Looks for parked operations on every chain.
    pub fn hungry(&self) {
        self.hunger.values().for_each(|hungry| hungry.notify_one());
    }

    /// Lets every lane sign and send what it has room for.
    pub async fn drain(&self) {
        let lanes: Vec<_> = self.lanes.lock().await.drain().map(|(_, lane)| lane).collect();
        for lane in lanes {
            drop(lane.sender);
            if let Err(error) = lane.task.await {
                tracing::error!("a lane's submitter failed: {error}");
            }
        }
    }
}

fn in_flight_max(network: &Network) -> i64 {
    i64::from(network.chain.config.in_flight_max)
}

struct Submitter {
    engine: Engine,
    chain_id: i64,
    lane_id: String,
    load: Arc<AtomicI64>,
    hungry: Arc<Notify>,
    /// Prepared, in the order in which it came.
    waiting: Vec<Prepared>,
    holds: HashMap<String, Hold>,
    /// Answers that are still to be noted; nothing hangs on when.
    answers: Vec<Answered>,
    /// The send that is under way: the next one must not overtake it.
    sending: Option<JoinHandle<Result<Told>>>,
}

impl Submitter {
    async fn run(mut self, mut incoming: mpsc::Receiver<(Prepared, Hold)>) {
        let engine = self.engine.clone();
        let Some(network) = engine.network(self.chain_id) else { return };
        let mut room = network.room.subscribe();
        let (mut open, mut noted) = (true, Instant::now());
        loop {
            while let Ok(next) = incoming.try_recv() {
                self.take(next);
            }
            while open && !self.waiting.is_empty() {
                // Marked as seen before the look, so that room made meanwhile is not overlooked.
                room.mark_unchanged();
                let signed = self.sign(network).await;
                if signed > 0 {
                    noted = Instant::now();
                }
                // A full batch may have left room for another one.
                open = signed == self.engine.settings.sign_batch.max(1);
                self.spill().await;
            }
            if self.answers.is_empty() {
                noted = Instant::now();
            } else if noted.elapsed() >= NOTE_AFTER && self.waiting.is_empty() || noted.elapsed() >= LOOK_AGAIN * 10 {
                self.note(network).await;
            }
            self.load.store(i64::try_from(self.waiting.len()).unwrap_or(i64::MAX), Ordering::Relaxed);
            let (waits, notes) = (!self.waiting.is_empty(), !self.answers.is_empty());
            tokio::select! {
                next = incoming.recv() => match next {
                    Some(next) => {
                        open |= self.waiting.is_empty();
                        self.take(next);
                    }
                    None => return self.end(network).await,
                },
                changed = room.changed(), if waits => open |= changed.is_ok(),
                told = sent(&mut self.sending) => self.told(network, told).await,
                () = sleep(LOOK_AGAIN), if waits => open = true,
                () = sleep(NOTE_AFTER), if notes => {}
            }
        }
    }

    fn take(&mut self, (prepared, hold): (Prepared, Hold)) {
        self.holds.insert(prepared.op.id.clone(), hold);
        self.waiting.push(prepared);
    }

    /// Signs as much as there is room for, a batch at most, and puts it on the wire; how much that was.
    async fn sign(&mut self, network: &Network) -> usize {
        self.drop_stale().await;
        let batch = std::mem::take(&mut self.waiting);
        let stored = match submit::store(&self.engine, network, &self.lane_id, batch, &self.answers).await {
            Ok((stored, rest)) => {
                self.waiting = rest;
                stored
            }
            Err(error) => {
                // Whatever was committed is tended and followed; whatever was not is woken by the sweep.
                tracing::error!(lane.id = self.lane_id, "a batch was not submitted: {error}");
                Vec::new()
            }
        };
        // Free before they are sent: the wake for a next step may come with the very next block.
        let waiting: Vec<&str> = self.waiting.iter().map(|prepared| prepared.op.id.as_str()).collect();
        self.holds.retain(|id, _| waiting.contains(&id.as_str()));
        if self.waiting.len() < usize::try_from(in_flight_max(network)).unwrap_or(0) {
            self.hungry.notify_one();
        }
        let signed = stored.len();
        if signed > 0 {
            self.answers.clear();
            self.send(network, stored).await;
        }
        signed
    }

    async fn send(&mut self, network: &Network, stored: Vec<Attempt>) {
        if let Some(before) = self.sending.take() {
            let told = finished(before.await);
            self.told(network, told).await;
        }
        let (engine, chain_id) = (self.engine.clone(), self.chain_id);
        self.sending = Some(tokio::spawn(async move {
            match engine.network(chain_id) {
                Some(network) => submit::put(&engine, network, stored.iter().collect()).await,
                None => Ok(Told::nothing()),
            }
        }));
    }

    async fn told(&mut self, network: &Network, told: Result<Told>) {
        self.sending = None;
        let noted = match told {
            // Whoever follows the chain in another process is told by the note.
            Ok(told) if told.all_taken && network.followed_here.load(Ordering::Relaxed) => {
                self.answers.extend(told.answers);
                Ok(())
            }
            Ok(told) => submit::note(&self.engine, network, &told).await,
            Err(error) => Err(error),
        };
        if let Err(error) = noted {
            tracing::error!(lane.id = self.lane_id, "a send was not noted: {error}");
        }
    }

    async fn note(&mut self, network: &Network) {
        let told = Told::taken(std::mem::take(&mut self.answers));
        if let Err(error) = submit::note(&self.engine, network, &told).await {
            tracing::error!(lane.id = self.lane_id, "a send was not noted: {error}");
        }
    }

    /// What was tried too long ago goes back to the table, from where it is prepared again when there is room.
    async fn drop_stale(&mut self) {
        let oldest = self.engine.db.clock().now() - chrono::Duration::seconds(FRESH_SECONDS);
        let (stale, fresh) = std::mem::take(&mut self.waiting).into_iter().partition(|prepared| prepared.at < oldest);
        self.waiting = fresh;
        self.park(stale).await;
    }

    /// What is more than a lane should have in memory waits in the table.
    async fn spill(&mut self) {
        let most = engine_most(&self.engine, self.chain_id);
        let rest = self.waiting.split_off(self.waiting.len().min(most));
        self.park(rest).await;
    }

    async fn park(&mut self, batch: Vec<Prepared>) {
        if batch.is_empty() {
            return;
        }
        let ids: Vec<String> = batch.iter().map(|prepared| prepared.op.id.clone()).collect();
        if let Err(error) = submit::park(&self.engine, batch, LANE_FULL).await {
            tracing::error!(lane.id = self.lane_id, "what waits for room is left to the sweep: {error}");
        }
        ids.iter().for_each(|id| drop(self.holds.remove(id)));
        self.hungry.notify_one();
    }

    async fn end(&mut self, network: &Network) {
        if !self.waiting.is_empty() {
            self.sign(network).await;
        }
        if let Some(last) = self.sending.take() {
            let told = finished(last.await);
            self.told(network, told).await;
        }
        self.note(network).await;
    }
}

fn engine_most(engine: &Engine, chain_id: i64) -> usize {
    let most = engine.network(chain_id).map_or(0, in_flight_max) * HELD_FULL_LANES;
    usize::try_from(most).unwrap_or(0)
}

/// Waits for the send that is under way, for ever if there is none.
async fn sent(sending: &mut Option<JoinHandle<Result<Told>>>) -> Result<Told> {
    match sending {
        Some(task) => finished(task.await),
        None => std::future::pending().await,
    }
}

fn finished(ended: std::result::Result<Result<Told>, tokio::task::JoinError>) -> Result<Told> {
    ended.unwrap_or_else(|error| {
        // What was stored is sent again by whoever tends the lane.
        tracing::error!("a send panicked: {error}");
        Ok(Told::nothing())
    })
}
