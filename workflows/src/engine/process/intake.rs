//! Wakes that arrive together are handled together: one read of the database and one question to the chain for all of them. Each chain has
//! its own intake, so that a slow chain costs no other chain anything.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::lane::{self, Lane};
use muniment_domain::point::Point;
use muniment_domain::{Result, operation};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::advance::{self, Next};
use crate::engine::commits::Writes;
use crate::engine::prepare;
use crate::engine::process::held::{Held, Hold};
use crate::engine::process::job;
use crate::engine::process::submitters::{Coming, Submitters};

/// The limit of wakes that are handled together. A smaller group is signed while the next one is prepared.
const TOGETHER: usize = 16;
/// Groups of one chain that are prepared at the same time.
const GROUPS_MAX: usize = 16;
/// The longest pause after a refill in vain: a block ends it sooner.
const AFTER_VAIN: Duration = Duration::from_millis(100);
/// Wakes of one chain in memory. The rest waits in the table, like operations that wait for a lane.
pub const WAITING_MAX: usize = 256;

/// Accepts the wakes of operations.
#[derive(Clone)]
pub struct Intake {
    wakes: mpsc::Sender<Hold>,
    held: Held,
}

impl Intake {
    /// Collects wakes until the last clone is dropped. The task ends after the last move.
    pub fn start(engine: Engine, submitters: Submitters) -> (Self, JoinHandle<()>) {
        let (wakes, receiver) = mpsc::channel(WAITING_MAX);
        let held = submitters.held.clone();
        (Self { wakes, held }, tokio::spawn(route(engine, submitters, receiver)))
    }

    /// Returns when the wake is handed over: a job of the queue does not wait for a chain. The row has its next time, so a wake that is lost
    /// with the process is made up for by the sweep.
    pub async fn wake(&self, operation_id: &OperationId) {
        let Some(hold) = self.held.wake(operation_id) else { return };
        if self.wakes.send(hold).await.is_err() {
            tracing::warn!(
                operation.id = operation_id.as_str(),
                "the intake has ended; the sweep wakes the operation again"
            );
        }
    }
}

/// Passes each wake to the intake of its chain.
async fn route(engine: Engine, submitters: Submitters, mut receiver: mpsc::Receiver<Hold>) {
    let (mut holds, mut intakes) = (Vec::new(), JoinSet::new());
    let mut chains: HashMap<i64, mpsc::Sender<Hold>> = HashMap::new();
    while receiver.recv_many(&mut holds, WAITING_MAX).await > 0 {
        let woken = std::mem::take(&mut holds);
        let chain_of: HashMap<OperationId, i64> = match chains_of(&engine, &woken).await {
            Ok(found) => found.into_iter().collect(),
            Err(error) => {
                tracing::error!("{} wakes are left to the sweep: {error}", woken.len());
                continue;
            }
        };
        let mut too_many: HashMap<i64, Vec<Hold>> = HashMap::new();
        for hold in woken {
            // An operation without a row comes from a rolled-back test or a restored backup. There is nothing to do.
            let Some(chain_id) = chain_of.get(hold.id()) else { continue };
            let chain = chains.entry(*chain_id).or_insert_with(|| {
                let (sender, receiver) = mpsc::channel(WAITING_MAX);
                intakes.spawn(collect(engine.clone(), submitters.clone(), receiver));
                sender
            });
            match chain.try_send(hold) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(hold)) => too_many.entry(*chain_id).or_default().push(hold),
                // Its intake panicked. The next wake starts another one.
                Err(mpsc::error::TrySendError::Closed(_)) => _ = chains.remove(chain_id),
            }
        }
        for (chain_id, holds) in too_many {
            if let Err(error) = park(&engine, chain_id, &holds).await {
                tracing::error!("{} wakes are left to the sweep: {error}", holds.len());
            }
        }
    }
    drop(chains);
    while intakes.join_next().await.is_some() {}
}

async fn chains_of(engine: &Engine, woken: &[Hold]) -> Result<Vec<(OperationId, i64)>> {
    let ids: Vec<&OperationId> = woken.iter().map(Hold::id).collect();
    operation::chains(&mut engine.db.read().await?, &ids).await
}

/// Leaves operations of a chain to its refill, which takes them when it has room.
pub async fn park(engine: &Engine, chain_id: i64, holds: &[Hold]) -> Result<()> {
    let parked = Parked(holds.iter().map(|hold| hold.id().clone()).collect());
    engine.commit_soon(chain_id, Point::Fault, Arc::new(parked)).await
}

/// Operations that wait for their lane, ready to be marked.
struct Parked(Vec<OperationId>);

impl Writes for Parked {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        async move { operation::park(tx, &self.0.iter().collect::<Vec<_>>(), operation::WAITS_FOR_LANE).await.map(drop) }.boxed()
    }
}

/// The intake of one chain.
async fn collect(engine: Engine, submitters: Submitters, mut receiver: mpsc::Receiver<Hold>) {
    let (mut wakes, mut moves) = (Vec::new(), JoinSet::new());
    while receiver.recv_many(&mut wakes, TOGETHER).await > 0 {
        let holds = std::mem::take(&mut wakes);
        let (engine, submitters) = (engine.clone(), submitters.clone());
        moves.spawn(async move { advance_held(&engine, &submitters, holds).await });
        while moves.try_join_next().is_some() {}
        if moves.len() >= GROUPS_MAX {
            _ = moves.join_next().await;
        }
    }
    while moves.join_next().await.is_some() {}
}

/// Makes the moves of operations and passes prepared steps to their lanes. A failure is recorded in the operation's row. If that fails too,
/// the sweep wakes the operation again. Returns whether a move was made.
pub async fn advance_held(engine: &Engine, submitters: &Submitters, mut holds: Vec<Hold>) -> bool {
    let mut has_moved = false;
    while !holds.is_empty() {
        let (again, moves) = advance_once(engine, submitters, holds).await;
        has_moved |= moves;
        holds = again;
    }
    has_moved
}

/// Makes one move of each. Returns the operations that need another one: they were not tried yet, or they were woken meanwhile, and their
/// rows may have been read before that wake's commit. Also returns whether a move was made.
async fn advance_once(engine: &Engine, submitters: &Submitters, holds: Vec<Hold>) -> (Vec<Hold>, bool) {
    let ids: Vec<&OperationId> = holds.iter().map(Hold::id).collect();
    let coming = submitters.prepares();
    let mut moved = match together(engine, &coming, &ids).await {
        Ok(moved) => moved,
        // One that fails must not stop the others.
        Err(_) if ids.len() > 1 => {
            let mut moved = HashMap::new();
            for id in &ids {
                match together(engine, &coming, &[id]).await {
                    Ok(one) => moved.extend(one),
                    Err(why) => tracing::error!(operation.id = id.as_str(), "the move is made again later: {why}"),
                }
            }
            moved
        }
        Err(why) => {
            tracing::error!(operation.id = ids[0].as_str(), "the move is made again later: {why}");
            return (Vec::new(), false);
        }
    };
    let (mut left, mut has_moved, mut again) = (false, false, Vec::new());
    for hold in holds {
        match moved.remove(hold.id()) {
            Some(Ok(Next::Sign(prepared))) => {
                submitters.submit(*prepared, hold).await;
                has_moved = true;
            }
            Some(Ok(Next::Again)) => again.push(hold),
            Some(Ok(Next::Nothing)) => {
                (left, has_moved) = (true, true);
                again.extend(hold.end());
            }
            Some(Err(error)) => {
                tracing::error!(operation.id = hold.id().as_str(), "the move is made again later: {error}")
            }
            // It waits for room, or no move is due.
            None => {
                left = true;
                again.extend(hold.end());
            }
        }
    }
    drop(coming);
    if left {
        // There may be room by now, or it leaves its room to others. Nothing else would notice.
        submitters.ask_for_more();
    }
    (again, has_moved)
}

type Moved = HashMap<OperationId, Result<Next>>;

async fn together(engine: &Engine, coming: &Coming<'_>, ids: &[&OperationId]) -> std::result::Result<Moved, String> {
    let moved = job::attempt(advance::advance_all(engine, ids, coming)).await?;
    Ok(moved.into_iter().collect())
}

/// Takes parked operations back into memory whenever the lanes of a chain have little left to sign.
pub async fn refill(engine: Engine, submitters: Submitters, chain_id: i64, stop: CancellationToken) {
    let Some(network) = engine.network(chain_id) else { return };
    let mut room = network.room.subscribe();
    let wants_more: Arc<tokio::sync::Notify> = submitters.wants_more(chain_id);
    while !stop.is_cancelled() {
        let refilled = refill_once(&engine, &submitters, chain_id).await.unwrap_or_else(|error| {
            tracing::error!(chain.id = chain_id, "parked operations are left to the sweep: {error}");
            Refill::Nothing
        });
        tokio::select! {
            () = stop.cancelled() => return,
            changed = room.changed() => if changed.is_err() { return },
            () = wants_more.notified(), if refilled != Refill::InVain => {}
            () = sleep(AFTER_VAIN), if refilled == Refill::InVain => {}
        }
    }
}

/// What a refill brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// There was nothing to try: no lane wants more, or no operation is parked.
    Nothing,
    /// No move could be made: for example, one lane is full and the other is paused. The same operations would be tried again at once.
    InVain,
    /// At least one operation moved.
    Moved,
}

/// Makes the moves of parked operations, as many as the lanes of a chain can take now.
pub async fn refill_once(engine: &Engine, submitters: &Submitters, chain_id: i64) -> Result<Refill> {
    let holds = parked(engine, submitters, chain_id).await?;
    if holds.is_empty() {
        return Ok(Refill::Nothing);
    }
    let has_moved = advance_held(engine, submitters, holds).await;
    Ok(if has_moved { Refill::Moved } else { Refill::InVain })
}

/// Holds parked operations, as many as the lanes of a chain can take now.
pub async fn parked(engine: &Engine, submitters: &Submitters, chain_id: i64) -> Result<Vec<Hold>> {
    let (wanted, full) = submitters.wanted(chain_id).await;
    let Some(network) = engine.network(chain_id).filter(|_| wanted > 0) else { return Ok(Vec::new()) };
    let mut tx = engine.db.read().await?;
    // Operations in memory are still marked as parked in the table.
    let limit = i64::try_from(wanted + submitters.held.count()).unwrap_or(i64::MAX);
    // Operations of a lane whose key another process has are left to it.
    let own = |lane: &Lane| network.signers.contains_key(&lane.signer.0) && !full.contains(&lane.id);
    let lanes =
        lane::of_chain(&mut tx, chain_id).await?.into_iter().filter(own).map(|lane| lane.id).collect::<Vec<_>>();
    let no_signer = prepare::no_signer(chain_id);
    let ids = operation::waiting_for_lane(&mut tx, chain_id, &lanes, Some(&no_signer), limit).await?;
    drop(tx);
    network.room.set_behind(!ids.is_empty());
    Ok(ids.iter().filter_map(|id| submitters.held.hold(id)).take(wanted).collect())
}
