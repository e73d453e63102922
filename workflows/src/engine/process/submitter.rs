//! One task for each lane. Prepared steps wait there for room, in memory, up to four times the lane's limit in flight. Those that arrive
//! together are signed in one commit and sent in one call.
//!
//! On a chain that mines at once a lane signs ahead: while the node has as many of its transactions as it may, the lane stores the next
//! ones, and sends them as soon as the follower sees that blocks made room for several. A process that ends in between leaves them to the
//! rebroadcast.
//!
//! More operations than that wait in their rows with `blocked_reason = lane_full`. When a block makes room, the lane takes them without a
//! wake. `queue::line_up` puts all but the first of a large payout there from the start, so that the queue does not carry their wakes again
//! and again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_domain::Result;
use muniment_domain::attempt::Attempt;
use muniment_domain::id::{LaneId, OperationId};
use muniment_domain::lane_state;
use muniment_domain::operation::WAITS_FOR_LANE;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::sleep;

use crate::engine::prepare::Prepared;
use crate::engine::process::held::Hold;
use crate::engine::process::last::Last;
use crate::engine::send::{self, Broadcast};
use crate::engine::submit::{self, Stored};
use crate::engine::{Engine, Network};

/// The limit of a lane's steps in memory, as a multiple of its limit in flight. The rest waits in the table.
pub const HELD_FULL_LANES: i64 = 4;
/// After this time a step is prepared again, because fees and state have changed.
const FRESH_SECONDS: i64 = 15;
/// How soon a full lane is checked again without a new block: another process may follow the chain.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long an answer waits for a commit that can store it.
const NOTE_AFTER: Duration = Duration::from_millis(200);

/// A prepared step on its way to its lane.
pub type Incoming = mpsc::Receiver<(Prepared, Hold)>;
/// A send in progress.
pub type Sending = BoxFuture<'static, Result<Broadcast>>;

/// The work of one lane.
pub struct Submitter {
    engine: Engine,
    chain_id: i64,
    lane_id: LaneId,
    load: Arc<AtomicI64>,
    wants_more: Arc<Notify>,
    room: watch::Receiver<u64>,
    /// Whether there may be room.
    open: bool,
    /// Prepared steps, in the order of their arrival.
    waiting: Vec<Prepared>,
    /// What is signed ahead: stored transactions that the node does not have yet, lowest nonce first.
    ahead: Vec<Attempt>,
    /// The node may have transactions with lower nonces than this.
    sent_below: i64,
    holds: HashMap<OperationId, Hold>,
    /// When there were last no answers to note. A signature puts the note off: the next block may store the answers.
    noted: Last,
    send: fn(Sending) -> Sending,
    /// The send in progress. The next one must not overtake it.
    sending: Option<Sending>,
}

impl Submitter {
    /// The submitter of a lane, with its load and the signal that it wants more.
    pub fn new(
        engine: Engine,
        network: &Network,
        lane_id: &LaneId,
        (load, wants_more): (Arc<AtomicI64>, Arc<Notify>),
        send: fn(Sending) -> Sending,
    ) -> Self {
        Self {
            engine,
            chain_id: network.id(),
            lane_id: lane_id.to_owned(),
            load,
            wants_more,
            room: network.room.subscribe(),
            open: true,
            waiting: Vec::new(),
            ahead: Vec::new(),
            sent_below: 0,
            holds: HashMap::new(),
            noted: Last::default(),
            send,
            sending: None,
        }
    }

    /// Works until no more steps can arrive.
    pub async fn run(mut self, mut incoming: Incoming) {
        let engine = self.engine.clone();
        let Some(network) = engine.network(self.chain_id) else { return };
        loop {
            self.turn(network, &mut incoming).await;
            let (waits, notes) = (self.waits(), network.holds_answers());
            tokio::select! {
                next = incoming.recv() => match next {
                    Some(next) => {
                        self.open |= self.waiting.is_empty();
                        self.take(next);
                    }
                    None => return self.end(network).await,
                },
                Ok(()) = self.room.changed(), if waits => self.open = true,
                result = sent(&mut self.sending) => self.finish_send(network, result).await,
                () = sleep(LOOK_AGAIN), if waits => self.open = true,
                () = sleep(NOTE_AFTER), if notes => {}
            }
        }
    }

    /// Whether it needs room.
    const fn waits(&self) -> bool {
        !self.waiting.is_empty() || !self.ahead.is_empty()
    }

    /// Takes what has arrived, signs and sends as much as there is room for, and stores the answers that nothing else has stored.
    pub async fn turn(&mut self, network: &Network, incoming: &mut Incoming) {
        while let Ok(next) = incoming.try_recv() {
            self.take(next);
        }
        while self.open && self.waits() {
            // Marked as seen before the check, so that room that appears meanwhile is not missed.
            self.room.mark_unchanged();
            let signed = self.sign(network).await;
            if signed > 0 {
                self.noted.mark(network.chain.milliseconds());
            }
            // After a full batch there may be room for another one.
            self.open = signed == self.engine.settings.sign_batch.max(1);
            self.spill().await;
        }
        let now = network.chain.milliseconds();
        if !network.holds_answers() {
            self.noted.mark(now);
        } else if self.noted.is_past(now, NOTE_AFTER) && self.waiting.is_empty()
            || self.noted.is_past(now, LOOK_AGAIN * 10)
        {
            self.note(network).await;
            self.noted.mark(network.chain.milliseconds());
        }
        self.load.store(i64::try_from(self.waiting.len() + incoming.len()).unwrap_or(i64::MAX), Ordering::Relaxed);
        network.room.set_waiting(&self.lane_id, self.waits());
    }

    /// There may be room: the next turn looks again.
    pub const fn look_again(&mut self) {
        self.open = true;
    }

    /// Its lane.
    pub fn lane_id(&self) -> &str {
        &self.lane_id
    }

    /// Whether a send is in progress.
    pub const fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// The number of steps that wait for room, signed ahead or not.
    pub const fn waiting(&self) -> usize {
        self.waiting.len() + self.ahead.len()
    }

    /// Waits for the send in progress, if there is one.
    pub async fn finish(&mut self, network: &Network) {
        if let Some(last) = self.sending.take() {
            let sent = last.await;
            self.finish_send(network, sent).await;
        }
    }

    fn take(&mut self, (prepared, hold): (Prepared, Hold)) {
        self.holds.insert(prepared.op.id.clone(), hold);
        self.waiting.push(prepared);
    }

    /// Sends and signs as much as there is room for, one batch at most. Returns the number of signed steps.
    async fn sign(&mut self, network: &Network) -> usize {
        self.drop_stale().await;
        let batch = std::mem::take(&mut self.waiting);
        let stored = match self.store(network, batch).await {
            Ok(stored) => stored,
            Err(error) => {
                // Committed steps are followed and sent again, also those that are signed ahead: whether the lane may send is not known. The
                // sweep wakes the others.
                self.ahead.clear();
                tracing::error!(lane.id = self.lane_id.as_str(), "a batch was not submitted: {error}");
                Stored::default()
            }
        };
        self.waiting = stored.rest;
        // Freed before the send, because the next block may already wake the next step.
        let waiting: Vec<&OperationId> = self.waiting.iter().map(|prepared| &prepared.op.id).collect();
        self.holds.retain(|id, _| waiting.contains(&id));
        // Where a transaction does not wait for the time of the next block, the next one may come before more steps are prepared.
        if self.waiting.len() < usize::try_from(network.signed_max()).unwrap_or(0) {
            self.wants_more.notify_one();
        }
        let signed = stored.attempts.len();
        self.ahead.extend(stored.attempts);
        self.send_ahead(network).await;
        signed
    }

    /// Sends what is signed ahead, and signs and stores the next steps meanwhile.
    async fn store(&mut self, network: &Network, batch: Vec<Prepared>) -> Result<Stored> {
        let coming = network.room.take(&self.lane_id);
        let state = lane_state::find(&mut self.engine.db.read().await?, &self.lane_id).await?;
        if !state.may_send() {
            self.ahead.clear();
        }
        let lowest = state.lowest.unwrap_or(state.lane.next_nonce);
        // The lowest nonce that neither a block in the database includes nor the next commit of the follower.
        let missing = coming.nonce.map_or(lowest, |nonce| nonce.max(lowest));
        self.ahead.retain(|attempt| attempt.nonce >= missing);
        self.sent_below = missing + network.in_flight_max();
        self.send_ahead(network).await;
        // The follower still gathers blocks, and its commit shares the signatures for their room.
        if coming.nonce.is_some() && !coming.may_sign && !self.ahead.is_empty() {
            return Ok(Stored { rest: batch, ..Stored::default() });
        }
        let included = if coming.may_sign { (missing - lowest).min(state.in_flight) } else { 0 };
        submit::store(&self.engine, network, state, included, network.signed_max(), batch).await
    }

    /// Sends what the node may have now.
    async fn send_ahead(&mut self, network: &Network) {
        let room = self.ahead.partition_point(|attempt| attempt.nonce < self.sent_below);
        let rest = self.ahead.split_off(due(room, self.ahead.len(), network.sent_together()));
        let due = std::mem::replace(&mut self.ahead, rest);
        if !due.is_empty() {
            self.send(network, due).await;
        }
    }

    async fn send(&mut self, network: &Network, stored: Vec<Attempt>) {
        self.finish(network).await;
        let (engine, chain_id) = (self.engine.clone(), self.chain_id);
        let sending = async move {
            match engine.network(chain_id) {
                Some(network) => send::broadcast(&engine, network, stored.iter().collect()).await,
                None => Ok(Broadcast::nothing()),
            }
        };
        self.sending = Some((self.send)(sending.boxed()));
    }

    async fn finish_send(&mut self, network: &Network, sent: Result<Broadcast>) {
        self.sending = None;
        let noted = match sent {
            // The commit that stores the answer notifies the process that follows the chain.
            Ok(sent) if sent.all_taken && network.followed_here.load(Ordering::Relaxed) => {
                network.hold_answers(sent.answers);
                Ok(())
            }
            Ok(sent) => send::record_answers(&self.engine, network, &sent).await,
            Err(error) => Err(error),
        };
        if let Err(error) = noted {
            tracing::error!(lane.id = self.lane_id.as_str(), "the answers to a send were not recorded: {error}");
        }
    }

    async fn note(&mut self, network: &Network) {
        let sent = Broadcast::taken(network.take_answers());
        if let Err(error) = send::record_answers(&self.engine, network, &sent).await {
            tracing::error!(lane.id = self.lane_id.as_str(), "the answers to a send were not recorded: {error}");
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
        let ids: Vec<OperationId> = batch.iter().map(|prepared| prepared.op.id.clone()).collect();
        if let Err(error) = submit::postpone(&self.engine, batch, WAITS_FOR_LANE).await {
            tracing::error!(lane.id = self.lane_id.as_str(), "parked operations are left to the sweep: {error}");
        }
        ids.iter().for_each(|id| drop(self.holds.remove(id)));
        self.wants_more.notify_one();
    }

    async fn end(&mut self, network: &Network) {
        if self.waits() {
            self.sign(network).await;
        }
        // More than the node may have, once: nothing that is signed is left behind.
        let rest = std::mem::take(&mut self.ahead);
        if !rest.is_empty() {
            self.send(network, rest).await;
        }
        self.finish(network).await;
        self.note(network).await;
    }
}

impl Drop for Submitter {
    /// After a panic its steps are gone. They must not count, or the lane would seem full and would never be started again.
    fn drop(&mut self) {
        self.load.store(0, Ordering::Relaxed);
    }
}

/// How many of the transactions that are signed ahead are sent now. A node that mines at once can make a block for each send. So if there is
/// not room for all of them, they wait until there is room for `together`: the lane has others in flight, and a block makes more room.
const fn due(room: usize, ahead: usize, together: usize) -> usize {
    if room < ahead && room < together { 0 } else { room }
}

fn engine_most(engine: &Engine, chain_id: i64) -> usize {
    let most = engine.network(chain_id).map_or(0, Network::in_flight_max) * HELD_FULL_LANES;
    usize::try_from(most).unwrap_or(0)
}

/// Waits for the send in progress. Without one it never returns.
async fn sent(sending: &mut Option<Sending>) -> Result<Broadcast> {
    match sending {
        Some(sending) => sending.await,
        None => std::future::pending().await,
    }
}

/// The outcome of a send that ran as a task.
pub fn finished(ended: std::result::Result<Result<Broadcast>, tokio::task::JoinError>) -> Result<Broadcast> {
    ended.unwrap_or_else(|error| {
        // The stored bytes are sent again by the rebroadcast of the lane.
        tracing::error!("a send panicked: {error}");
        Ok(Broadcast::nothing())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_lane_sends_several_at_once() {
        assert_eq!((due(3, 8, 4), due(4, 8, 4), due(8, 8, 4)), (0, 4, 8));
        assert_eq!((due(1, 1, 4), due(3, 3, 4)), (1, 3), "there is room for all that is signed");
        assert_eq!((due(0, 8, 0), due(1, 8, 0)), (0, 1), "a lane with few in flight sends each by itself");
    }
}
