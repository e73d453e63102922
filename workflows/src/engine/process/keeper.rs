//! The loops: one for each chain, that follows, finalises and tends it, and one that sweeps. A lease keeps them to one process at a time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use muniment_domain::{Result, step};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::engine::follow::{self, Pass};
use crate::engine::{Engine, Network};
use crate::engine::{finalise, lane, observe, rebroadcast as tend, sweep, timer};

/// How often a lease is renewed: a third of its life.
const RENEW: Duration = Duration::from_secs(5);
/// How often lanes are tended at most.
const TEND: Duration = Duration::from_secs(1);
/// The pause after the database failed.
const PAUSE: Duration = Duration::from_secs(1);
/// The first pause after a send on a chain that mines at once; it doubles up to the chain's own pace.
const QUICK: Duration = Duration::from_millis(5);
/// How often what is final is looked for when the cursor does not move.
const SETTLE: Duration = Duration::from_secs(1);
/// How often one turn of the sweep seals a page of the audit log at most.
const SEAL_PASSES: usize = 20;
const PRUNE: Duration = Duration::from_secs(3600);

/// Keeps one chain until it is told to stop: follows and tends it, and settles beside that what is final, so that neither waits for the
/// other's commits.
pub async fn keep(engine: Engine, chain_id: i64, stop: CancellationToken) {
    let Some(network) = engine.network(chain_id) else { return };
    let keeper = Keeper { engine: &engine, network, held: None, tended: None, observed: None, quick: None };
    tokio::join!(keeper.follow(&stop), settle(&engine, network, &stop));
}

/// Settles what is final whenever the cursor has moved, while this process leads.
async fn settle(engine: &Engine, network: &Network, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        let leads = network.followed_here.load(Ordering::Relaxed);
        let settled = if leads { finalise::finalise(engine, network).await } else { Ok(0) };
        let pause = match settled {
            Ok(count) if count >= engine.settings.settle_batch => continue,
            // What could not be judged yet is looked at with the next block, or after a while.
            Ok(_) => SETTLE,
            Err(error) => {
                tracing::error!(chain.id = network.id(), "what is final is looked at again in a second: {error}");
                PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = network.followed.notified() => {}
            () = sleep(pause) => {}
        }
    }
}

struct Keeper<'a> {
    engine: &'a Engine,
    network: &'a Network,
    held: Option<Instant>,
    tended: Option<Instant>,
    observed: Option<Instant>,
    quick: Option<Duration>,
}

impl Keeper<'_> {
    async fn follow(mut self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let pause = match self.turn().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(chain.id = self.network.id(), "the chain is looked at again in a second: {error}");
                    self.held = None;
                    PAUSE
                }
            };
            if !pause.is_zero() {
                self.wait(pause, stop).await;
            }
        }
    }

    /// One look at the chain; how long to wait before the next.
    async fn turn(&mut self) -> Result<Duration> {
        if self.held.is_none_or(|at| at.elapsed() >= RENEW) {
            let fresh = self.held.is_none();
            let holds = self.engine.holder.hold(&self.engine.db, &format!("chain:{}", self.network.id())).await?;
            self.network.followed_here.store(holds, Ordering::Relaxed);
            if !holds {
                self.held = None;
                return Ok(PAUSE);
            }
            self.held = Some(Instant::now());
            if fresh {
                lane::check_all(self.engine, self.network).await?;
            }
        }
        let pass = follow::follow(self.engine, self.network).await?;
        if self.tended.is_none_or(|at| at.elapsed() >= TEND) {
            tend::tend(self.engine, self.network).await?;
            self.tended = Some(Instant::now());
        }
        let every = Duration::from_secs(self.engine.settings.observe_seconds.max(1));
        if self.observed.is_none_or(|at| at.elapsed() >= every) {
            observe::observe(self.engine, self.network).await?;
            self.observed = Some(Instant::now());
        }
        let moved = matches!(pass, Pass::Moved | Pass::Reached);
        if self.quick.is_some() && moved {
            self.quick = Some(QUICK);
            return Ok(Duration::ZERO);
        }
        if pass == Pass::Moved {
            return Ok(Duration::from_millis(1));
        }
        self.pace().await
    }

    /// Waits for the next look. A send on a chain that mines at once is looked after at once; on any other it takes a block's time,
    /// and a look for each send would cost calls by the operation.
    async fn wait(&mut self, pause: Duration, stop: &CancellationToken) {
        let config = &self.network.chain.config;
        let mut until = Instant::now() + pause;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep_until(until) => return,
                () = self.network.sent.notified() => {
                    if config.block_seconds <= 1 {
                        self.quick = Some(QUICK);
                        return;
                    }
                    until = until.min(Instant::now() + Duration::from_millis(config.poll_milliseconds));
                }
            }
        }
    }

    /// How soon the chain may have something new: quickly after a send, at its pace while something is under way, else once a block.
    async fn pace(&mut self) -> Result<Duration> {
        let config = &self.network.chain.config;
        let pace = Duration::from_millis(config.poll_milliseconds);
        if let Some(quick) = self.quick {
            self.quick = (quick * 2 < pace).then_some(quick * 2);
            return Ok(quick);
        }
        let mut tx = self.engine.db.read().await?;
        let busy = step::any_under_way(&mut tx, self.network.id()).await?;
        Ok(if busy { pace } else { pace.max(Duration::from_secs(config.block_seconds)) })
    }
}

/// Wakes what is overdue, until it is told to stop.
pub async fn keep_sweeping(engine: Engine, stop: CancellationToken) {
    let mut pruned: Option<Instant> = None;
    let every = Duration::from_secs(engine.settings.sweep_seconds.max(1));
    while !stop.is_cancelled() {
        if let Err(error) = turn(&engine, &mut pruned).await {
            tracing::error!("the sweep is tried again: {error}");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(every) => {}
        }
    }
}

async fn turn(engine: &Engine, pruned: &mut Option<Instant>) -> Result<()> {
    if !engine.holder.hold(&engine.db, "sweep").await? {
        return Ok(());
    }
    while sweep::sweep(engine).await? > 0 {}
    for sweep in engine.platform.sweeps {
        while sweep(engine).await? > 0 {}
    }
    while timer::sweep(engine).await? > 0 {}
    // What is left after these passes has its turn in the next one: a mass payout must not keep the sweep from what is overdue.
    for _ in 0..SEAL_PASSES {
        if sweep::seal(engine).await? == 0 {
            break;
        }
    }
    if pruned.is_none_or(|at| at.elapsed() >= PRUNE) {
        sweep::prune(engine).await?;
        *pruned = Some(Instant::now());
    }
    Ok(())
}
