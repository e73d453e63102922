//! One task for each lane. Prepared steps wait there for room, in memory, up to four times the lane's limit in flight. Those that arrive
//! together are signed in one commit and sent in one call.
//!
//! More operations than that wait in their rows with `blocked_reason = lane_full`. When a block makes room, the lane takes them without a
//! wake. `queue::line_up` puts all but the first of a large payout there from the start, so that the queue does not carry their wakes again
//! and again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use muniment_domain::Result;
use muniment_domain::attempt::{Attempt, SendAnswer};
use muniment_domain::operation::WAITS_FOR_LANE;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::engine::prepare::Prepared;
use crate::engine::process::held::{Held, Hold};
use crate::engine::send::{self, Broadcast};
use crate::engine::submit::{self, Stored};
use crate::engine::{Engine, Network};

/// The limit of a lane's steps in memory, as a multiple of its limit in flight. The rest waits in the table.
const HELD_FULL_LANES: i64 = 4;
/// After this time a step is prepared again, because fees and state have changed.
const FRESH_SECONDS: i64 = 15;
/// How soon a full lane is checked again without a new block: another process may follow the chain.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long an answer waits for a commit that can store it.
const NOTE_AFTER: Duration = Duration::from_millis(25);

/// The submitters of all lanes.
#[derive(Clone)]
pub struct Submitters {
    engine: Engine,
    lanes: Arc<Mutex<HashMap<String, Lane>>>,
    loads: Arc<std::sync::Mutex<HashMap<String, Arc<AtomicI64>>>>,
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
        let wants_more = engine.networks.keys().map(|id| (*id, Arc::default())).collect();
        Self {
            engine,
            lanes: Arc::default(),
            loads: Arc::default(),
            wants_more: Arc::new(wants_more),
            held: Held::default(),
        }
    }

    /// Passes a step to its lane.
    pub async fn submit(&self, prepared: Prepared, hold: Hold) {
        let sender = {
            let mut lanes = self.lanes.lock().await;
            if lanes.get(&prepared.lane_id).is_some_and(|lane| lane.sender.is_closed()) {
                tracing::error!(lane.id = prepared.lane_id, "the submitter of a lane had ended and is started again");
                lanes.remove(&prepared.lane_id);
            }
            let lane = lanes.entry(prepared.lane_id.clone()).or_insert_with(|| self.start(&prepared));
            lane.sender.clone()
        };
        if sender.send((prepared, hold)).await.is_err() {
            tracing::error!("the submitter of a lane has ended; the sweep will wake its operations");
        }
    }

    fn start(&self, first: &Prepared) -> Lane {
        let (sender, receiver) = mpsc::channel(self.engine.settings.sign_batch.max(1));
        let (chain_id, load) = (first.op.chain_id, self.load(&first.lane_id));
        load.store(0, Ordering::Relaxed);
        let submitter = Submitter {
            engine: self.engine.clone(),
            chain_id,
            lane_id: first.lane_id.clone(),
            load: load.clone(),
            wants_more: self.wants_more(chain_id),
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

    /// How many steps a lane accepts beyond those in flight.
    pub fn spare(&self, lane_id: &str) -> i64 {
        let most = self.engine.networks.values().map(in_flight_max).max().unwrap_or_default() * HELD_FULL_LANES;
        most - self.load(lane_id).load(Ordering::Relaxed)
    }

    /// How many operations the lanes of a chain can take from the table now: enough for the room of the next two blocks. Also returns the
    /// lanes that take none.
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

fn in_flight_max(network: &Network) -> i64 {
    i64::from(network.chain.config.in_flight_max)
}

struct Submitter {
    engine: Engine,
    chain_id: i64,
    lane_id: String,
    load: Arc<AtomicI64>,
    wants_more: Arc<Notify>,
    /// Prepared steps, in the order of their arrival.
    waiting: Vec<Prepared>,
    holds: HashMap<String, Hold>,
    /// Answers that are not stored yet. They are not urgent.
    answers: Vec<SendAnswer>,
    /// The send in progress. The next one must not overtake it.
    sending: Option<JoinHandle<Result<Broadcast>>>,
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
                // Marked as seen before the check, so that room that appears meanwhile is not missed.
                room.mark_unchanged();
                let signed = self.sign(network).await;
                if signed > 0 {
                    noted = Instant::now();
                }
                // After a full batch there may be room for another one.
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
                result = sent(&mut self.sending) => self.finish_send(network, result).await,
                () = sleep(LOOK_AGAIN), if waits => open = true,
                () = sleep(NOTE_AFTER), if notes => {}
            }
        }
    }

    fn take(&mut self, (prepared, hold): (Prepared, Hold)) {
        self.holds.insert(prepared.op.id.clone(), hold);
        self.waiting.push(prepared);
    }

    /// Signs and sends as much as there is room for, one batch at most. Returns the number of steps.
    async fn sign(&mut self, network: &Network) -> usize {
        self.drop_stale().await;
        let batch = std::mem::take(&mut self.waiting);
        let stored = match submit::store(&self.engine, network, &self.lane_id, batch, &self.answers).await {
            Ok(stored) => stored,
            Err(error) => {
                // Committed steps are followed and sent again. The sweep wakes the others.
                tracing::error!(lane.id = self.lane_id, "a batch was not submitted: {error}");
                Stored::default()
            }
        };
        self.waiting = stored.rest;
        // Freed before the send, because the next block may already wake the next step.
        let waiting: Vec<&str> = self.waiting.iter().map(|prepared| prepared.op.id.as_str()).collect();
        self.holds.retain(|id, _| waiting.contains(&id.as_str()));
        if self.waiting.len() < usize::try_from(in_flight_max(network)).unwrap_or(0) {
            self.wants_more.notify_one();
        }
        let signed = stored.attempts.len();
        if signed > 0 {
            self.answers = stored.held;
            self.send(network, stored.attempts).await;
        }
        signed
    }

    async fn send(&mut self, network: &Network, stored: Vec<Attempt>) {
        if let Some(before) = self.sending.take() {
            let sent = finished(before.await);
            self.finish_send(network, sent).await;
        }
        let (engine, chain_id) = (self.engine.clone(), self.chain_id);
        self.sending = Some(tokio::spawn(async move {
            match engine.network(chain_id) {
                Some(network) => send::broadcast(&engine, network, stored.iter().collect()).await,
                None => Ok(Broadcast::nothing()),
            }
        }));
    }

    async fn finish_send(&mut self, network: &Network, sent: Result<Broadcast>) {
        self.sending = None;
        let noted = match sent {
            // The commit that stores the answer notifies the process that follows the chain.
            Ok(sent) if sent.all_taken && network.followed_here.load(Ordering::Relaxed) => {
                self.answers.extend(sent.answers);
                Ok(())
            }
            Ok(sent) => send::record_answers(&self.engine, network, &sent).await,
            Err(error) => Err(error),
        };
        if let Err(error) = noted {
            tracing::error!(lane.id = self.lane_id, "the answers to a send were not recorded: {error}");
        }
    }

    async fn note(&mut self, network: &Network) {
        let sent = Broadcast::taken(std::mem::take(&mut self.answers));
        if let Err(error) = send::record_answers(&self.engine, network, &sent).await {
            tracing::error!(lane.id = self.lane_id, "the answers to a send were not recorded: {error}");
        }
    }

    /// Returns steps that were prepared too long ago to the table. They are prepared again when there is room.
    async fn drop_stale(&mut self) {
        let now = self.engine.db.clock().now();
        // A time in the future comes from a clock that was set back since; it says nothing.
        let fresh = now - chrono::Duration::seconds(FRESH_SECONDS)..=now;
        let (fresh, stale) =
            std::mem::take(&mut self.waiting).into_iter().partition(|prepared| fresh.contains(&prepared.at));
        self.waiting = fresh;
        self.park(stale).await;
    }

    /// Returns the steps above the limit of memory to the table.
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
        if let Err(error) = submit::postpone(&self.engine, batch, WAITS_FOR_LANE).await {
            tracing::error!(lane.id = self.lane_id, "parked operations are left to the sweep: {error}");
        }
        ids.iter().for_each(|id| drop(self.holds.remove(id)));
        self.wants_more.notify_one();
    }

    async fn end(&mut self, network: &Network) {
        if !self.waiting.is_empty() {
            self.sign(network).await;
        }
        if let Some(last) = self.sending.take() {
            let sent = finished(last.await);
            self.finish_send(network, sent).await;
        }
        self.note(network).await;
    }
}

fn engine_most(engine: &Engine, chain_id: i64) -> usize {
    let most = engine.network(chain_id).map_or(0, in_flight_max) * HELD_FULL_LANES;
    usize::try_from(most).unwrap_or(0)
}

/// Waits for the send in progress. Without one it never returns.
async fn sent(sending: &mut Option<JoinHandle<Result<Broadcast>>>) -> Result<Broadcast> {
    match sending {
        Some(task) => finished(task.await),
        None => std::future::pending().await,
    }
}

fn finished(ended: std::result::Result<Result<Broadcast>, tokio::task::JoinError>) -> Result<Broadcast> {
    ended.unwrap_or_else(|error| {
        // The stored bytes are sent again by the rebroadcast of the lane.
        tracing::error!("a send panicked: {error}");
        Ok(Broadcast::nothing())
    })
}
