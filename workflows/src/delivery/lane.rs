//! The lane of an endpoint: takes its due deliveries, sends them, stores the answers, until nothing is due.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::delivery::claim::{self, Batch, Claim};
use muniment_domain::delivery::record::Verdict;
use muniment_domain::delivery::{again, record};
use muniment_domain::id::{EndpointId, of};
use muniment_domain::point::Point;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::delivery::courier::Courier;
use crate::delivery::send;
use crate::engine::process::held::{Held, Hold};
use crate::engine::process::job;
use crate::engine::queue;

/// Deliveries that a lane takes at once, and while its endpoint fails. Even if every request hangs, a batch ends before its claims do.
const BATCH: i64 = 64;
const BATCH_FAILING: i64 = 16;
/// Lanes that send at once, and those of failing endpoints. With the batch it bounds the memory.
const LANES: usize = 64;
const LANES_FAILING: usize = 16;
/// Events of a recovery that one commit looks at.
const RECOVERED: i64 = 200;

/// The lanes of this process.
#[derive(Clone)]
pub struct Lanes {
    courier: Arc<Courier>,
    held: Held<of::Endpoint>,
    tasks: TaskTracker,
    stop: CancellationToken,
    room: Arc<Semaphore>,
    room_failing: Arc<Semaphore>,
    failing: Arc<Mutex<HashSet<EndpointId>>>,
}

/// What a turn leaves.
enum After {
    /// The next batch, taken.
    Batch(Box<Batch>),
    /// More can be due.
    Look,
    Nothing,
}

impl Lanes {
    /// None is open yet.
    pub fn new(courier: Arc<Courier>, stop: CancellationToken) -> Self {
        Self {
            courier,
            held: Held::default(),
            tasks: TaskTracker::new(),
            stop,
            room: Arc::new(Semaphore::new(LANES)),
            room_failing: Arc::new(Semaphore::new(LANES_FAILING)),
            failing: Arc::default(),
        }
    }

    /// Opens the lane of an endpoint, or makes the open one look again.
    pub fn wake(&self, endpoint_id: &EndpointId) {
        if let Some(hold) = self.held.wake(endpoint_id) {
            let lanes = self.clone();
            self.tasks.spawn(async move { lanes.run(hold).await });
        }
    }

    /// Whether the lane of an endpoint is open in this process. It may end at any moment.
    pub fn is_open(&self, endpoint_id: &EndpointId) -> bool {
        self.held.contains(endpoint_id)
    }

    /// Waits for the requests in progress.
    pub async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn run(&self, hold: Hold<of::Endpoint>) {
        let mut next = Some(hold);
        while let Some(hold) = next {
            let (mut taken, mut place) = (None, None);
            loop {
                // What is taken is sent, also while the process stops.
                if taken.is_none() && self.stop.is_cancelled() {
                    return;
                }
                // Outside of the limit of time of a turn: a room can be full of endpoints that hang. It is never closed.
                let room = self.room_of(hold.id());
                if place.is_none() {
                    place = room.acquire().await.ok();
                }
                match job::attempt(self.turn(hold.id(), taken, room)).await {
                    Ok(After::Batch(batch)) => taken = Some(batch),
                    Ok(After::Look) => (taken, place) = (None, None),
                    Ok(After::Nothing) => break,
                    Err(why) => {
                        tracing::error!(endpoint.id = hold.id().as_str(), "deliveries are left to the sweep: {why}");
                        break;
                    }
                }
            }
            next = hold.end();
        }
    }

    /// One batch: the one that the turn before took, or a new one. A lost claim or answer sends the same bytes again, so neither is synced.
    async fn turn(&self, endpoint_id: &EndpointId, taken: Option<Box<Batch>>, room: &Semaphore) -> Result<After> {
        let batch = match taken {
            Some(batch) => batch,
            None => match self.take(endpoint_id).await? {
                After::Batch(batch) => batch,
                other => return Ok(other),
            },
        };
        let outcomes = send::all(&self.courier, &batch).await;
        let healthy = outcomes.iter().any(|outcome| outcome.verdict == Verdict::Delivered);
        let mut tx = self.courier.db.begin_unsynced().await?;
        if let Some(next) = record::store(&mut tx, endpoint_id, &outcomes).await? {
            queue::wake_id(&mut tx, queue::DELIVERY, endpoint_id, next).await?;
        }
        // The next batch needs no commit of its own. While other lanes wait for a place, this one gives up its own instead.
        let mut after = After::Look;
        if healthy && room.available_permits() > 0 && !self.stop.is_cancelled() {
            after = self.take_in(&mut tx, endpoint_id).await?;
        }
        tx.commit(Point::Deliver).await?;
        if healthy {
            self.failing().remove(endpoint_id);
        } else {
            self.failing().insert(endpoint_id.clone());
        }
        Ok(after)
    }

    async fn take(&self, endpoint_id: &EndpointId) -> Result<After> {
        let mut tx = self.courier.db.begin_unsynced().await?;
        let after = self.take_in(&mut tx, endpoint_id).await?;
        match after {
            After::Nothing => {}
            After::Look => tx.commit(Point::FanOut).await?,
            After::Batch(_) => tx.commit(Point::Claim).await?,
        }
        Ok(after)
    }

    /// Takes what is due, or does the next page of a recovery.
    async fn take_in(&self, tx: &mut Tx, endpoint_id: &EndpointId) -> Result<After> {
        Ok(match claim::take(tx, endpoint_id, BATCH, BATCH_FAILING).await? {
            Claim::Nothing => After::Nothing,
            Claim::Recovery => {
                again::recover_page(tx, endpoint_id, RECOVERED).await?;
                After::Look
            }
            Claim::Batch(batch) => After::Batch(batch),
        })
    }

    fn room_of(&self, endpoint_id: &EndpointId) -> &Semaphore {
        if self.failing().contains(endpoint_id) { &self.room_failing } else { &self.room }
    }

    fn failing(&self) -> std::sync::MutexGuard<'_, HashSet<EndpointId>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
