//! Wakes that come at the same time are looked at together: one look into the database and one question to the chain for all of them.

use std::collections::HashMap;
use std::sync::Arc;

use muniment_domain::{Result, operation};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::advance::{self, Next};
use crate::engine::process::held::{Held, Hold};
use crate::engine::process::job;
use crate::engine::process::submitter::Submitters;

/// How many wakes are looked at together at most. Not all that there are: what was tried first is signed while the rest is tried.
const TOGETHER: usize = 16;

/// The way in for wakes.
#[derive(Clone)]
pub struct Intake {
    wakes: mpsc::Sender<Wake>,
    held: Held,
}

/// A wake, and whoever waits for the look at it; told by being dropped.
struct Wake {
    hold: Hold,
    _looked_at: oneshot::Sender<()>,
}

impl Intake {
    /// Collects wakes until the last clone is gone; the task ends when the last of them was looked at.
    pub fn start(engine: Engine, submitters: Submitters) -> (Self, JoinHandle<()>) {
        let (wakes, receiver) = mpsc::channel(TOGETHER);
        let held = submitters.held.clone();
        (Self { wakes, held }, tokio::spawn(collect(engine, submitters, receiver)))
    }

    /// Returns when the operation was looked at: it has moved, waits with its next time, or is with its lane.
    pub async fn wake(&self, operation_id: &str) {
        let Some(hold) = self.held.wake(operation_id) else { return };
        let (looked_at, done) = oneshot::channel();
        if self.wakes.send(Wake { hold, _looked_at: looked_at }).await.is_ok() {
            // Nothing is ever sent: the other end is dropped, whatever became of the look.
            let _: std::result::Result<(), _> = done.await;
        }
    }
}

async fn collect(engine: Engine, submitters: Submitters, mut receiver: mpsc::Receiver<Wake>) {
    let (mut wakes, mut looks) = (Vec::new(), JoinSet::new());
    while receiver.recv_many(&mut wakes, TOGETHER).await > 0 {
        let (holds, waiting): (Vec<Hold>, Vec<_>) = wakes.drain(..).map(|wake| (wake.hold, wake._looked_at)).unzip();
        let (engine, submitters) = (engine.clone(), submitters.clone());
        looks.spawn(async move {
            look(&engine, &submitters, holds).await;
            drop(waiting);
        });
        while looks.try_join_next().is_some() {}
    }
    looks.join_all().await;
}

/// Makes the moves of operations and hands what was prepared to its lane. A failure is in the operation's own row when this returns;
/// what could not even be written is woken again by the sweep.
async fn look(engine: &Engine, submitters: &Submitters, mut holds: Vec<Hold>) {
    while !holds.is_empty() {
        holds = look_once(engine, submitters, holds).await;
    }
}

/// One look; those that were woken meanwhile come back, because it may have read their rows before the commit that woke them.
async fn look_once(engine: &Engine, submitters: &Submitters, holds: Vec<Hold>) -> Vec<Hold> {
    let ids: Vec<&str> = holds.iter().map(Hold::id).collect();
    let mut moved = match together(engine, submitters, &ids).await {
        Ok(moved) => moved,
        // One that cannot be looked at must not take the others with it.
        Err(_) if ids.len() > 1 => {
            let mut moved = HashMap::new();
            for id in &ids {
                match together(engine, submitters, &[id]).await {
                    Ok(one) => moved.extend(one),
                    Err(why) => tracing::error!(operation.id = id, "the move is made again later: {why}"),
                }
            }
            moved
        }
        Err(why) => {
            tracing::error!(operation.id = ids[0], "the move is made again later: {why}");
            return Vec::new();
        }
    };
    let (mut left, mut again) = (false, Vec::new());
    for hold in holds {
        match moved.remove(hold.id()) {
            Some(Ok(Next::Sign(prepared))) => submitters.submit(*prepared, hold).await,
            Some(Ok(Next::Nothing)) => {
                left = true;
                again.extend(hold.end());
            }
            Some(Err(error)) => tracing::error!(operation.id = hold.id(), "the move is made again later: {error}"),
            // It waits for room, or it is due nothing: as it was read.
            None => {
                left = true;
                again.extend(hold.end());
            }
        }
    }
    if left {
        // It waits for room and there may be some by now, or it leaves its room to others; nobody else would look.
        submitters.hungry();
    }
    again
}

type Moved = HashMap<String, Result<Next>>;

async fn together(engine: &Engine, submitters: &Submitters, ids: &[&str]) -> std::result::Result<Moved, String> {
    let spare = |lane_id: &str| submitters.spare(lane_id);
    let moved = job::attempt(advance::advance_all(engine, ids, &spare)).await?;
    Ok(moved.into_iter().collect())
}

/// Takes operations that were parked for want of room back into memory, whenever the lanes of a chain have little left to sign.
pub async fn refill(engine: Engine, submitters: Submitters, chain_id: i64, stop: CancellationToken) {
    let Some(network) = engine.network(chain_id) else { return };
    let mut room = network.room.subscribe();
    let hungry: Arc<tokio::sync::Notify> = submitters.hunger(chain_id);
    while !stop.is_cancelled() {
        match parked(&engine, &submitters, chain_id).await {
            Ok(holds) if holds.is_empty() => {}
            Ok(holds) => look(&engine, &submitters, holds).await,
            Err(error) => tracing::error!(chain.id = chain_id, "what waits for room is left to the sweep: {error}"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = hungry.notified() => {}
            changed = room.changed() => if changed.is_err() { return },
        }
    }
}

async fn parked(engine: &Engine, submitters: &Submitters, chain_id: i64) -> Result<Vec<Hold>> {
    let (wanted, full) = submitters.wanted(chain_id).await;
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let mut tx = engine.db.read().await?;
    // Those that are in memory already still stand in the table as parked.
    let limit = i64::try_from(wanted + submitters.held.count()).unwrap_or(i64::MAX);
    let ids = operation::waiting_for_lane(&mut tx, chain_id, &full, limit).await?;
    drop(tx);
    Ok(ids.iter().filter_map(|id| submitters.held.hold(id)).take(wanted).collect())
}
