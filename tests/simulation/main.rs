//! The seeded simulation: the real engine on a database in memory, against a chain in memory that does everything a chain, its endpoints
//! and its users can do, with crashes at every durable write. A seed decides everything, so a failure can be run again:
//! `MUNIMENT_SEED=123 cargo test -p muniment-tests --test simulation -- replay --nocapture`.
//!
//! Fewer seeds run on PostgreSQL, where one move can begin while another one holds its row locks.
#![allow(missing_docs, reason = "the names of tests are their sentences")]
#![allow(clippy::unwrap_used, reason = "a failing test names its line")]

mod block;
mod chance;
mod drain;
mod endpoint;
mod facts;
mod fault;
mod lanes;
mod ledger;
mod middle;
mod mood;
mod net;
mod oracle;
mod people;
mod refused;
mod request;
mod rpc;
mod run;
mod stage;
mod terms;
mod trace;
mod ways;
mod worker;

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures::FutureExt;
use muniment_domain::point::{Point, When};

use world::{Engine, campaign, stay_on_core};

use crate::fault::{Fault, Totals};
use crate::run::Run;
use crate::stage::Stage;
use crate::trace::Trace;

/// Number of seeds, unless `MUNIMENT_SEEDS` says otherwise: in every run, and in the whole campaign.
const SEEDS: (u64, u64) = (400, 10_000);
/// Number of seeds that aim at a crash which no seed of the campaign met: in every run, and in the whole campaign.
const AIMED_SEEDS_MAX: (u64, u64) = (60, 2_000);
/// Number of seeds on PostgreSQL.
const SEEDS_ON_SERVER: (u64, u64) = (30, 300);
const THREADS: usize = 2;
/// The stack of a thread that runs seeds: one move is made inside a question of another one, and unoptimised futures are large.
const STACK_BYTES: usize = 32 << 20;
/// So many failing seeds are told, unless `MUNIMENT_FAILURES` says otherwise; more would only repeat them.
const FAILURES_MAX: usize = 5;

static TOTALS: Totals = Totals::new();
static TOTALS_ON_SERVER: Totals = Totals::new();

/// Runs one seed; an error is the whole story.
async fn run_seed(stage: &Stage, number: u64, aim: Option<(Point, When)>, thorough: bool) -> Result<Trace, String> {
    let totals = if stage.db.is_shared() { &TOTALS_ON_SERVER } else { &TOTALS };
    let trace = Trace::default();
    refused::listen();
    refused::take();
    let lived = async {
        let mut run = Run::begin(stage, number, aim, &trace, thorough).await;
        let lived = run.live().await;
        let net = run.shared.net();
        totals.add(&net.hits, &run.crashes);
        lived.map_err(|broken| (broken, net.story()))
    };
    let (broken, chain) = match AssertUnwindSafe(lived).catch_unwind().await {
        Ok(Ok(())) => return Ok(trace),
        Ok(Err(broken)) => broken,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            (text.unwrap_or_default(), String::new())
        }
    };
    let remains = facts::remains(stage).await;
    let mut aim = aim.map(|(point, when)| format!("MUNIMENT_CRASH='{point} {when:?}' ")).unwrap_or_default();
    if stage.db.is_shared() {
        aim.push_str("MUNIMENT_SEED_ON=postgres ");
    }
    Err(format!(
        "seed {number}: {broken}\n{}\n{remains}\n{chain}\n{aim}MUNIMENT_SEED={number} cargo test -p muniment-tests --test simulation -- replay --nocapture",
        trace.text(thorough)
    ))
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs the seeds of a campaign and prints how long they took.
fn run_seeds(engine: Engine, first: u64, count: u64) {
    let failures_max = from_environment("MUNIMENT_FAILURES").map_or(FAILURES_MAX, |most| most as usize);
    let (next, failures, started) = (AtomicU64::new(first), Mutex::new(Vec::new()), Instant::now());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (next, failures) = (&next, &failures);
            let live = move || {
                if engine == Engine::Sqlite {
                    // It takes turns with the thread of its database, and waking one on another core costs twice.
                    stay_on_core(thread);
                }
                let runtime = runtime();
                let mut stage = runtime.block_on(Stage::open(engine));
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count || failures.lock().unwrap().len() >= failures_max {
                        return;
                    }
                    if let Err(story) = runtime.block_on(run_seed(&stage, number, None, false)) {
                        failures.lock().unwrap().push(story);
                        // What a panic left open is not for the next seed.
                        stage = runtime.block_on(Stage::open(engine));
                    }
                }
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, live).unwrap();
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    let ran = next.load(Ordering::Relaxed).min(first + count) - first;
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    println!("{ran} seeds in {seconds:.1} s, {:.1} a second", ran as f64 / seconds);
}

#[test]
fn every_seed_keeps_the_promises() {
    let count = from_environment("MUNIMENT_SEEDS").unwrap_or(campaign(SEEDS));
    run_seeds(Engine::Sqlite, from_environment("MUNIMENT_FIRST_SEED").unwrap_or(0), count);
    // A short run has no chance to meet them all.
    let is_whole = count >= SEEDS.0;
    if is_whole {
        with_stack(aim_at_missed_crashes);
    }
    let (table, never) = TOTALS.report();
    println!("{table}");
    assert!(!is_whole || never.is_empty(), "never met work in flight: {never:?}");
}

#[test]
fn seeds_keep_the_promises_on_postgres() {
    let count = from_environment("MUNIMENT_SEEDS_ON_POSTGRES").unwrap_or(campaign(SEEDS_ON_SERVER));
    run_seeds(Engine::Postgres, from_environment("MUNIMENT_FIRST_SEED").unwrap_or(0), count);
    let waited = TOTALS_ON_SERVER.count(Fault::WaitedForLock);
    println!("{}\n{waited} moves waited for a lock of the move around them", TOTALS_ON_SERVER.report().0);
    assert!(count < campaign(SEEDS_ON_SERVER) || waited > 0, "no move began while another one held its locks");
}

/// Runs it on a thread with the stack that seeds need.
fn with_stack(act: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, act).unwrap();
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Runs seeds that plan nothing but one crash, for each crash that the campaign missed, until one of them meets it. Random plans reach a
/// rare write too seldom: they crash elsewhere first, or wait for its third passing.
fn aim_at_missed_crashes() {
    let runtime = runtime();
    let stage = runtime.block_on(Stage::open(Engine::Sqlite));
    for aim in TOTALS.missed_crashes() {
        for number in 0..campaign(AIMED_SEEDS_MAX) {
            if TOTALS.has_crashed(aim) {
                println!("aimed at {} {:?}: met after {number} seeds", aim.0, aim.1);
                break;
            }
            runtime.block_on(run_seed(&stage, number, Some(aim), false)).unwrap_or_else(|story| panic!("{story}"));
        }
    }
}

/// The crash that `MUNIMENT_CRASH` names, as a failure prints it.
fn aim_from_environment() -> Option<(Point, When)> {
    let named = std::env::var("MUNIMENT_CRASH").ok()?;
    let all = Point::ALL.iter().flat_map(|point| [(*point, When::Before), (*point, When::After)]);
    Some(
        all.into_iter()
            .find(|(point, when)| format!("{point} {when:?}") == named)
            .expect("MUNIMENT_CRASH names a crash"),
    )
}

#[test]
fn replay() {
    with_stack(replay_twice);
}

fn replay_twice() {
    let number = from_environment("MUNIMENT_SEED").unwrap_or(1);
    let aim = aim_from_environment();
    let runtime = runtime();
    let on_server = std::env::var("MUNIMENT_SEED_ON").is_ok_and(|name| name == "postgres");
    let stage = runtime.block_on(Stage::open(if on_server { Engine::Postgres } else { Engine::Sqlite }));
    match runtime.block_on(run_seed(&stage, number, aim, true)) {
        Ok(trace) => println!("{}", trace.text(true)),
        Err(story) => panic!("{story}"),
    }
    if on_server {
        // There the order of what two sessions do beside each other is the server's.
        return;
    }
    // The same seed tells the same story, or a failure could not be replayed.
    let again = runtime.block_on(run_seed(&stage, number, aim, true)).map(|trace| trace.text(true));
    let first = runtime.block_on(run_seed(&stage, number, aim, true)).map(|trace| trace.text(true));
    assert_eq!(first, again);
}
