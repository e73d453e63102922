//! Wakes that arrive together are handled together: one read of the database and one question to the chain for all of them.

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

/// The limit of wakes that are handled together. A smaller group is signed while the next one is prepared.
const TOGETHER: usize = 16;

/// Accepts the wakes of operations.
#[derive(Clone)]
pub struct Intake {
    wakes: mpsc::Sender<Wake>,
    held: Held,
}

/// A wake. Dropping it notifies the waiter.
struct Wake {
    hold: Hold,
    _done: oneshot::Sender<()>,
}

impl Intake {
    /// Collects wakes until the last clone is dropped. The task ends after the last move.
    pub fn start(engine: Engine, submitters: Submitters) -> (Self, JoinHandle<()>) {
        let (wakes, receiver) = mpsc::channel(TOGETHER);
        let held = submitters.held.clone();
        (Self { wakes, held }, tokio::spawn(collect(engine, submitters, receiver)))
    }

    /// Returns when the operation has moved, has its next time, or is with its lane.
    pub async fn wake(&self, operation_id: &str) {
        let Some(hold) = self.held.wake(operation_id) else { return };
        let (notify, done) = oneshot::channel();
        if self.wakes.send(Wake { hold, _done: notify }).await.is_ok() {
            // Nothing is ever sent: the other end is dropped after the move.
            let _: std::result::Result<(), _> = done.await;
        }
    }
}

async fn collect(engine: Engine, submitters: Submitters, mut receiver: mpsc::Receiver<Wake>) {
    let (mut wakes, mut moves) = (Vec::new(), JoinSet::new());
    while receiver.recv_many(&mut wakes, TOGETHER).await > 0 {
        let (holds, waiting): (Vec<Hold>, Vec<_>) = wakes.drain(..).map(|wake| (wake.hold, wake._done)).unzip();
        let (engine, submitters) = (engine.clone(), submitters.clone());
        moves.spawn(async move {
            advance_held(&engine, &submitters, holds).await;
            drop(waiting);
        });
        while moves.try_join_next().is_some() {}
    }
    moves.join_all().await;
}

/// Makes the moves of operations and passes prepared steps to their lanes. A failure is recorded in the operation's row. If that fails too,
/// the sweep wakes the operation again.
async fn advance_held(engine: &Engine, submitters: &Submitters, mut holds: Vec<Hold>) {
    while !holds.is_empty() {
        holds = advance_once(engine, submitters, holds).await;
    }
}

/// Makes one move of each. Returns the operations that were woken meanwhile: their rows may have been read before that wake's commit.
async fn advance_once(engine: &Engine, submitters: &Submitters, holds: Vec<Hold>) -> Vec<Hold> {
    let ids: Vec<&str> = holds.iter().map(Hold::id).collect();
    let mut moved = match together(engine, submitters, &ids).await {
        Ok(moved) => moved,
        // One that fails must not stop the others.
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
            // It waits for room, or no move is due.
            None => {
                left = true;
                again.extend(hold.end());
            }
        }
    }
    if left {
        // There may be room by now, or it leaves its room to others. Nothing else would notice.
        submitters.ask_for_more();
    }
    again
}

type Moved = HashMap<String, Result<Next>>;

async fn together(engine: &Engine, submitters: &Submitters, ids: &[&str]) -> std::result::Result<Moved, String> {
    let spare = |lane_id: &str| submitters.spare(lane_id);
    let moved = job::attempt(advance::advance_all(engine, ids, &spare)).await?;
    Ok(moved.into_iter().collect())
}

/// Takes parked operations back into memory whenever the lanes of a chain have little left to sign.
pub async fn refill(engine: Engine, submitters: Submitters, chain_id: i64, stop: CancellationToken) {
    let Some(network) = engine.network(chain_id) else { return };
    let mut room = network.room.subscribe();
    let wants_more: Arc<tokio::sync::Notify> = submitters.wants_more(chain_id);
    while !stop.is_cancelled() {
        match parked(&engine, &submitters, chain_id).await {
            Ok(holds) if holds.is_empty() => {}
            Ok(holds) => advance_held(&engine, &submitters, holds).await,
            Err(error) => tracing::error!(chain.id = chain_id, "parked operations are left to the sweep: {error}"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = wants_more.notified() => {}
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
    // Operations in memory are still marked as parked in the table.
    let limit = i64::try_from(wanted + submitters.held.count()).unwrap_or(i64::MAX);
    let ids = operation::waiting_for_lane(&mut tx, chain_id, &full, limit).await?;
    drop(tx);
    Ok(ids.iter().filter_map(|id| submitters.held.hold(id)).take(wanted).collect())
}
