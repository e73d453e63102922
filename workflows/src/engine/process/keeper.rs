//! The loop of each chain: follow, finalise, rebroadcast. And the loop of the sweep. A lease keeps each to one process at a time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use muniment_domain::{Error, Result, step};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::engine::follow::{self, Pass};
use crate::engine::process::last::Last;
use crate::engine::process::pace::Pace;
use crate::engine::{Engine, Network};
use crate::engine::{finalise, lane, observe, rebroadcast, sweep, timer, used_nonce};

/// Renewals of a lease happen after a third of its life.
const RENEW: Duration = Duration::from_secs(5);
/// The shortest time between two rebroadcasts.
const REBROADCAST: Duration = Duration::from_secs(1);
/// The limit of one turn of a loop. Catching up after a long absence on a slow node takes minutes.
const TURN: Duration = Duration::from_secs(600);
/// The pause after a database error.
const PAUSE: Duration = Duration::from_secs(1);
/// How often final receipts are looked up while the cursor does not move.
const SETTLE: Duration = Duration::from_secs(1);
/// The longest pause after a turn of the settling, while operations wait for room in the lanes: more verdicts share the next commit.
const GATHER_FINAL: Duration = Duration::from_millis(300);
/// How often such a pause looks whether they still wait.
const LOOK: Duration = Duration::from_millis(20);
/// The limit of audit pages that one turn of the sweep seals.
const SEAL_PASSES: usize = 10;
const PRUNE: Duration = Duration::from_secs(3600);

/// Runs the loop of one chain until the process stops. Following and settling run side by side, so that neither waits for the other's
/// commits.
pub async fn keep(engine: Engine, chain_id: i64, stop: CancellationToken) {
    let Some(network) = engine.network(chain_id) else { return };
    tokio::join!(Keeper::default().follow(&engine, network, &stop), settle(&engine, network, &stop));
}

/// Settles final receipts whenever the cursor moves, while this process follows the chain.
async fn settle(engine: &Engine, network: &Network, stop: &CancellationToken) {
    let mut renewed = Last::default();
    while !stop.is_cancelled() {
        let settled = limited("settling", TURN, settle_once(engine, network, &mut renewed)).await;
        let pause = match settled {
            Ok(true) => continue,
            // The rest is checked again with the next block, or after a while.
            Ok(false) => {
                let begun = Instant::now();
                while network.room.is_awaited() && begun.elapsed() < GATHER_FINAL && !stop.is_cancelled() {
                    sleep(LOOK).await;
                }
                SETTLE
            }
            Err(error) => {
                tracing::error!(chain.id = network.id(), "final receipts are settled again in a second: {error}");
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

/// Settles final receipts, if this process follows the chain. Its lease is only a sign of life. Returns whether more can be settled.
pub async fn settle_once(engine: &Engine, network: &Network, renewed: &mut Last) -> Result<bool> {
    if !network.followed_here.load(Ordering::Relaxed) {
        return Ok(false);
    }
    if renewed.is_past(network.chain.milliseconds(), RENEW)
        && engine.holder.acquire(&engine.db, &format!("settle:{}", network.id())).await?
    {
        renewed.mark(network.chain.milliseconds());
    }
    finalise::finalise(engine, network).await
}

/// One turn of a loop. Every wait inside has its own limit, so a turn that passes this one hangs: it is dropped and begun again.
async fn limited<T>(name: &'static str, limit: Duration, turn: impl Future<Output = Result<T>>) -> Result<T> {
    let hung = |_| Error::Worker(format!("{name} did not end its turn within {limit:?} and is begun again"));
    timeout(limit, turn).await.map_err(hung)?
}

/// What the loop of a chain remembers between its turns.
#[derive(Default)]
pub struct Keeper {
    held: Last,
    rebroadcast: Last,
    observed: Last,
    pace: Pace,
}

impl Keeper {
    async fn follow(mut self, engine: &Engine, network: &Network, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let pause = self.turn_within(TURN, engine, network).await;
            if !pause.is_zero() {
                self.wait(network, pause, stop).await;
            }
        }
    }

    /// One turn, which is begun again when it fails or takes too long. Returns the pause before the next.
    pub async fn turn_within(&mut self, limit: Duration, engine: &Engine, network: &Network) -> Duration {
        match limited("following", limit, self.turn(engine, network)).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(chain.id = network.id(), "the chain is read again in a second: {error}");
                self.begin_again();
                PAUSE
            }
        }
    }

    /// After a failed turn the lease and the lanes are looked at again.
    pub const fn begin_again(&mut self) {
        self.held.forget();
    }

    /// One pass over the chain. Returns the pause before the next.
    pub async fn turn(&mut self, engine: &Engine, network: &Network) -> Result<Duration> {
        let now = network.chain.milliseconds();
        if self.held.is_past(now, RENEW) {
            let fresh = self.held.is_first();
            engine.begin_missing_lanes(network).await?;
            // Another process may have followed the chain meanwhile.
            drop(network.take_position());
            let holds = engine.holder.acquire(&engine.db, &format!("chain:{}", network.id())).await?;
            network.followed_here.store(holds, Ordering::Relaxed);
            if !holds {
                self.held.forget();
                rebroadcast::raise_own(engine, network).await?;
                return Ok(PAUSE);
            }
            self.held.mark(now);
            if fresh {
                lane::check_all(engine, network).await?;
            }
        }
        let pass = follow::follow(engine, network).await?;
        if self.rebroadcast.is_past(now, REBROADCAST) {
            rebroadcast::rebroadcast(engine, network).await?;
            self.rebroadcast.mark(network.chain.milliseconds());
        }
        let every = Duration::from_secs(engine.settings.observe_seconds.max(1));
        if self.observed.is_past(now, every) {
            observe::observe(engine, network).await?;
            used_nonce::reconcile(engine, network).await?;
            self.observed.mark(network.chain.milliseconds());
        }
        let moved = matches!(pass, Pass::Moved | Pass::Reached);
        if self.pace.is_quick() && moved {
            self.pace.hurry();
            return Ok(Duration::ZERO);
        }
        if pass == Pass::Moved {
            return Ok(Duration::from_millis(1));
        }
        self.pause(engine, network, moved).await
    }

    /// Waits for the next pass. After a send, a chain that mines at once is read at once. On other chains the next block has its time.
    async fn wait(&mut self, network: &Network, pause: Duration, stop: &CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(pause) => {}
            () = network.sent.notified(), if network.mines_at_once() => self.pace.hurry(),
        }
    }

    /// How soon the chain may have something new. One that mines at once: soon after a send, and often while transactions are open.
    async fn pause(&mut self, engine: &Engine, network: &Network, moved: bool) -> Result<Duration> {
        let config = &network.chain.config;
        let (block, poll) =
            (Duration::from_secs(config.block_seconds), Duration::from_millis(config.poll_milliseconds));
        if !network.mines_at_once() {
            return Ok(self.pace.until_block(moved, block, poll));
        }
        if let Some(quick) = self.pace.quick(poll) {
            return Ok(quick);
        }
        let busy = step::any_unfinished(&mut engine.db.read().await?, network.id()).await?;
        Ok(if busy { poll } else { poll.max(block) })
    }
}

/// Wakes overdue rows until the process stops.
pub async fn keep_sweeping(engine: Engine, stop: CancellationToken) {
    let mut last = LastDone::default();
    let every = Duration::from_secs(engine.settings.sweep_seconds.max(1));
    while !stop.is_cancelled() {
        if let Err(error) = limited("the sweep", TURN, sweep_once(&engine, &mut last)).await {
            tracing::error!("the sweep is run again: {error}");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(every) => {}
        }
    }
}

/// When the sweep last did what it does not do in every turn.
#[derive(Default)]
pub struct LastDone {
    probed: Option<Instant>,
    pruned: Option<Instant>,
}

/// One turn of the sweep, if this process has its lease.
pub async fn sweep_once(engine: &Engine, last: &mut LastDone) -> Result<()> {
    if !engine.holder.acquire(&engine.db, "sweep").await? {
        return Ok(());
    }
    while sweep::sweep(engine).await? > 0 {}
    let pause = Duration::from_secs(engine.settings.outage_pause_seconds);
    if last.probed.is_none_or(|at| at.elapsed() >= pause) {
        sweep::probe(engine).await?;
        last.probed = Some(Instant::now());
    }
    for sweep in engine.platform.sweeps {
        while sweep(engine).await? > 0 {}
    }
    while timer::sweep(engine).await? > 0 {}
    // The rest is sealed in the next turn: a mass payout must not keep the sweep from overdue rows.
    for _ in 0..SEAL_PASSES {
        if sweep::seal(engine).await? == 0 {
            break;
        }
    }
    if last.pruned.is_none_or(|at| at.elapsed() >= PRUNE) {
        sweep::prune(engine).await?;
        last.pruned = Some(Instant::now());
    }
    Ok(())
}
