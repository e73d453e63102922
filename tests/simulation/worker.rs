//! A worker process: the real engine, its real submitters and loops, and every move that it can make.

use std::sync::Arc;

use alloy::primitives::B256;
use futures::FutureExt;
use futures::future::BoxFuture;
use muniment_domain::Result;
use muniment_domain::id::OperationId;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::advance::{Next, advance, advance_all};
use muniment_workflows::engine::prepare::Prepared;
use muniment_workflows::engine::process::held::{Held, Hold};
use muniment_workflows::engine::process::intake;
use muniment_workflows::engine::process::keeper::{self, Keeper};
use muniment_workflows::engine::process::last::Last;
use muniment_workflows::engine::process::submitters::Submitters;
use muniment_workflows::engine::{Network, finalise, follow, lane, observe, rebroadcast, sweep, used_nonce};
use muniment_workflows::operator::{self, abandon, cancel, mark_confirmed, retry};
use tokio::sync::Mutex;

use crate::lanes::Lanes;
use crate::stage::CHAIN;

/// Who moves what the engine may not.
pub const PERSON: &str = "usr_operator";

/// One of the two processes.
#[derive(Default)]
pub struct Worker {
    /// None while the process is down.
    process: Option<Process>,
}

/// What a process has in memory, and loses with its end.
#[derive(Clone)]
struct Process {
    engine: Engine,
    submitters: Submitters,
    lanes: Lanes,
    keeper: Arc<Mutex<Keeper>>,
    settled: Arc<Mutex<Last>>,
}

/// A move.
#[derive(Clone, Debug)]
pub enum Move {
    /// Looks at one wake, as if nothing else of this process did.
    Advance(String),
    /// Looks at wakes that came at the same time, in the same way.
    Together(Vec<String>),
    /// The intake takes wakes that came at the same time.
    Wake(Vec<String>),
    /// The intake has no place for wakes.
    Overflow(Vec<String>),
    /// Takes those that wait for room from the table, as many as the lanes want.
    Refill,
    /// A lane takes, signs and stores what it can.
    Sign(usize),
    /// A lane's send leaves and is answered.
    Send(usize),
    /// A turn of the loop that follows the chain.
    Keep,
    /// A turn of the loop that settles what is final.
    Settle,
    /// A turn of the loop that sweeps.
    KeepSweeping,
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

impl Move {
    /// Whether the process makes it under a limit of time, and goes on without it when it hangs.
    pub const fn is_limited(&self) -> bool {
        !matches!(self, Self::Sign(_) | Self::Send(_))
    }
}

impl Worker {
    /// The process starts.
    pub fn begin(&mut self, engine: Engine) {
        let lanes = Lanes::default();
        let submitters = Submitters::with(engine.clone(), lanes.spawn());
        self.process = Some(Process { engine, submitters, lanes, keeper: Arc::default(), settled: Arc::default() });
    }

    /// The engine, unless the process is down.
    pub fn engine(&self) -> Option<&Engine> {
        self.process.as_ref().map(|process| &process.engine)
    }

    /// The move as a future of its own, so that it can be made in the middle of another.
    pub fn start(&self, order: Move) -> Option<BoxFuture<'static, Result<String>>> {
        let process = self.process.clone()?;
        Some(async move { process.perform(order).await }.boxed())
    }

    /// The process ends; what it had in memory is gone.
    pub fn crash(&mut self) {
        self.process = None;
    }

    /// A turn of the loop that follows the chain was given up.
    pub async fn begin_again(&self) {
        if let Some(process) = &self.process {
            process.keeper.lock().await.begin_again();
        }
    }

    /// The task of a lane ends by a panic. True if there was one.
    pub fn end_lane(&self, nth: usize) -> bool {
        self.process.as_ref().is_some_and(|process| process.lanes.end(nth))
    }

    /// The number of lanes that have a task.
    pub fn lanes(&self) -> usize {
        self.process.as_ref().map_or(0, |process| process.lanes.count())
    }

    /// The number of prepared steps that wait to be signed.
    pub fn waiting(&self) -> usize {
        self.process.as_ref().map_or(0, |process| process.lanes.waiting())
    }

    /// The lane with a send under way.
    pub fn sending(&self) -> Option<usize> {
        self.process.as_ref().and_then(|process| process.lanes.sending())
    }
}

impl Process {
    fn network(&self) -> &Network {
        self.engine.network(CHAIN).expect("the chain is configured")
    }

    async fn perform(&self, order: Move) -> Result<String> {
        let (engine, network) = (&self.engine, self.network());
        let said = match order {
            Move::Advance(id) => match advance(engine, &id.as_str().into()).await? {
                Next::Nothing | Next::Again => "nothing".to_owned(),
                Next::Sign(ready) => {
                    self.hand_over(*ready).await;
                    "prepared".to_owned()
                }
            },
            Move::Together(ids) => self.together(&ids).await?,
            Move::Wake(ids) => {
                self.take_in(ids.iter().filter_map(|id| self.submitters.held.wake(&id.as_str().into())).collect()).await
            }
            Move::Overflow(ids) => {
                let holds: Vec<Hold> =
                    ids.iter().filter_map(|id| self.submitters.held.wake(&id.as_str().into())).collect();
                intake::park(engine, CHAIN, &holds).await?;
                format!("{} parked", holds.len())
            }
            Move::Refill => self.take_in(intake::parked(engine, &self.submitters, CHAIN).await?).await,
            Move::Sign(nth) => self.lanes.sign(network, nth).await,
            Move::Send(nth) => self.lanes.send(network, nth).await,
            Move::Keep => format!("pause {:?}", self.keeper.lock().await.turn(engine, network).await?),
            Move::Settle => {
                let more = keeper::settle_once(engine, network, &mut *self.settled.lock().await).await?;
                format!("more to settle: {more}")
            }
            Move::KeepSweeping => said(keeper::sweep_once(engine, &mut keeper::LastDone::default()).await?),
            Move::Follow => format!("{:?}", follow::follow(engine, network).await?),
            Move::Finalise => format!("more to settle: {}", finalise::finalise(engine, network).await?),
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
            Move::Retry(id) => format!("{:?}", retry::retry(engine, &id.as_str().into(), PERSON, "try again").await?),
            Move::Confirm(id, hash) => {
                let checks = mark_confirmed::mark_confirmed(engine, &id.as_str().into(), hash, PERSON, "seen").await?;
                format!("{} checks", checks.len())
            }
            Move::Abandon(id) => said(abandon::abandon(engine, &id.as_str().into(), PERSON, "no more").await?),
            Move::Cancel(id) => {
                format!("{:?}", cancel::cancel(engine, &id.as_str().into(), PERSON, "not wanted").await?)
            }
            Move::Resume(id) => said(operator::lane::resume(engine, &id.as_str().into(), PERSON, "looked at").await?),
            Move::Pause(id) => said(operator::lane::pause(engine, &id.as_str().into(), PERSON, "wait").await?),
        };
        Ok(said)
    }

    async fn take_in(&self, holds: Vec<Hold>) -> String {
        let count = holds.len();
        intake::advance_held(&self.engine, &self.submitters, holds).await;
        format!("{count} taken in")
    }

    async fn together(&self, ids: &[String]) -> Result<String> {
        let ids: Vec<OperationId> = ids.iter().map(|id| id.as_str().into()).collect();
        let (mut due, mut ready) = (ids.clone(), 0);
        while !due.is_empty() {
            let moved = advance_all(&self.engine, &due.iter().collect::<Vec<_>>(), &()).await?;
            due.clear();
            for (id, next) in moved {
                match next? {
                    Next::Sign(one) => {
                        self.hand_over(*one).await;
                        ready += 1;
                    }
                    Next::Again => due.push(id),
                    Next::Nothing => {}
                }
            }
        }
        Ok(format!("{ready} of {} prepared", ids.len()))
    }

    /// Passes a step to its lane, also if this process holds it already: its guards are what must keep it from being signed twice.
    async fn hand_over(&self, prepared: Prepared) {
        let id = prepared.op.id.clone();
        let hold = self.submitters.held.hold(&id).or_else(|| Held::default().wake(&id));
        self.submitters.submit(prepared, hold.expect("a new list holds nothing")).await;
    }
}

fn said((): ()) -> String {
    "done".to_owned()
}
