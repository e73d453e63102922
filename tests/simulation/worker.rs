//! A worker process: the real engine, what it has prepared and not yet signed, and every move that it can make.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use alloy::primitives::B256;
use futures::FutureExt;
use futures::future::{BoxFuture, poll_fn};
use muniment_domain::operation::{self, WAITS_FOR_LANE};
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::advance::{Next, advance, advance_all};
use muniment_workflows::engine::prepare::Prepared;
use muniment_workflows::engine::{finalise, follow, lane, observe, rebroadcast, submit, sweep, used_nonce};
use muniment_workflows::operator::{self, abandon, cancel, mark_confirmed, retry};

use crate::endpoint::Shared;
use crate::stage::CHAIN;

/// Who moves what the engine may not.
pub const PERSON: &str = "usr_operator";

/// One of the two processes.
#[derive(Default)]
pub struct Worker {
    /// None while the process is down.
    pub engine: Option<Engine>,
    /// What was prepared in this process and would be lost with it.
    pub prepared: Arc<Mutex<Vec<Prepared>>>,
}

/// A move.
#[derive(Clone, Debug)]
pub enum Move {
    Advance(String),
    /// Signs so many of what is prepared.
    Submit(usize),
    /// Looks at wakes that came at the same time.
    Together(Vec<String>),
    /// Takes so many of those that wait for room from the table.
    Refill(usize),
    Follow,
    Finalise,
    Tend,
    /// Reads the signers' counts, and explains the nonces that they show as used.
    Observe,
    Check,
    Hold,
    Sweep,
    WakeAll,
    Prune,
    Retry(String),
    Confirm(String, B256),
    Abandon(String),
    Cancel(String),
    Resume(String),
    Pause(String),
}

impl Worker {
    /// The move as a future of its own, so that it can be made in the middle of another.
    pub fn start(&self, order: Move) -> Option<BoxFuture<'static, Result<String>>> {
        let (engine, prepared) = (self.engine.clone()?, self.prepared.clone());
        Some(async move { perform(&engine, &prepared, order).await }.boxed())
    }

    /// The process ends; what it had in memory is gone.
    pub fn crash(&mut self) {
        self.engine = None;
        self.prepared = Arc::default();
    }

    pub fn has_prepared(&self) -> usize {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

async fn perform(engine: &Engine, prepared: &Mutex<Vec<Prepared>>, order: Move) -> Result<String> {
    let network = engine.network(CHAIN).expect("the chain is configured");
    let said = match order {
        Move::Advance(id) => match advance(engine, &id).await? {
            Next::Nothing => "nothing".to_owned(),
            Next::Sign(ready) => {
                prepared.lock().unwrap_or_else(PoisonError::into_inner).push(*ready);
                "prepared".to_owned()
            }
        },
        Move::Submit(count) => submit_some(engine, prepared, count).await?,
        Move::Together(ids) => together(engine, prepared, &ids).await?,
        Move::Refill(count) => refill(engine, prepared, count).await?,
        Move::Follow => format!("{:?}", follow::follow(engine, network).await?),
        Move::Finalise => format!("{} settled", finalise::finalise(engine, network).await?),
        Move::Tend => said(rebroadcast::rebroadcast(engine, network).await?),
        Move::Observe => {
            observe::observe(engine, network).await?;
            said(used_nonce::reconcile(engine, network).await?)
        }
        Move::Check => said(lane::check_all(engine, network).await?),
        Move::Hold => format!("{}", engine.holder.acquire(&engine.db, "chain:31337").await?),
        Move::Sweep => format!("{} woken, {} probed", sweep::sweep(engine).await?, sweep::probe(engine).await?),
        Move::WakeAll => format!("{} woken", sweep::wake_all(engine).await?),
        Move::Prune => said(sweep::prune(engine).await?),
        Move::Retry(id) => format!("{:?}", retry::retry(engine, &id, PERSON, "try again").await?),
        Move::Confirm(id, hash) => {
            let checks = mark_confirmed::mark_confirmed(engine, &id, hash, PERSON, "seen").await?;
            format!("{} checks", checks.len())
        }
        Move::Abandon(id) => said(abandon::abandon(engine, &id, PERSON, "no more").await?),
        Move::Cancel(id) => format!("{:?}", cancel::cancel(engine, &id, PERSON, "not wanted").await?),
        Move::Resume(id) => said(operator::lane::resume(engine, &id, PERSON, "looked at").await?),
        Move::Pause(id) => said(operator::lane::pause(engine, &id, PERSON, "wait").await?),
    };
    Ok(said)
}

/// Prepares what was parked for want of room, together, as the refill of a worker does.
async fn refill(engine: &Engine, prepared: &Mutex<Vec<Prepared>>, count: usize) -> Result<String> {
    let mut tx = engine.db.read().await?;
    let ids = operation::waiting_for_lane(&mut tx, CHAIN, &[], i64::try_from(count).unwrap_or(i64::MAX)).await?;
    drop(tx);
    together(engine, prepared, &ids).await
}

async fn together(engine: &Engine, prepared: &Mutex<Vec<Prepared>>, ids: &[String]) -> Result<String> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut ready = 0;
    for (_, next) in advance_all(engine, &ids, &|_| 0).await? {
        if let Next::Sign(one) = next? {
            prepared.lock().unwrap_or_else(PoisonError::into_inner).push(*one);
            ready += 1;
        }
    }
    Ok(format!("{ready} of {} prepared", ids.len()))
}

fn said((): ()) -> String {
    "done".to_owned()
}

/// Hands the oldest of what is prepared to its lane, as a collector would.
async fn submit_some(engine: &Engine, prepared: &Mutex<Vec<Prepared>>, count: usize) -> Result<String> {
    let batch = {
        let mut waiting = prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lane) = waiting.first().map(|p| p.lane_id.clone()) else { return Ok("nothing".to_owned()) };
        let mut batch = Vec::new();
        while let Some(at) = waiting.iter().position(|p| p.lane_id == lane).filter(|_| batch.len() < count) {
            batch.push(waiting.remove(at));
        }
        batch
    };
    let network = engine.network(CHAIN).expect("the chain is configured");
    let (lane_id, size) = (batch[0].lane_id.clone(), batch.len());
    let rest = submit::submit(engine, network, &lane_id, batch).await?;
    let waiting = rest.len();
    submit::postpone(engine, rest, WAITS_FOR_LANE).await?;
    Ok(format!("{} submitted", size - waiting))
}

/// Runs a move to its end, or until the process was killed in the middle of it.
pub async fn until_killed(shared: &Shared, mut running: BoxFuture<'static, Result<String>>) -> Result<String> {
    poll_fn(|context| match running.as_mut().poll(context) {
        Poll::Ready(ended) => Poll::Ready(ended),
        Poll::Pending if std::mem::take(&mut shared.state().killed) => {
            Poll::Ready(Err(Error::Crashed(Point::Housekeeping)))
        }
        Poll::Pending => Poll::Pending,
    })
    .await
}
