//! Parts of a worker process that end or hang begin again, and what they held goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use muniment_domain::clock::Clock;
use muniment_domain::id::OperationId;
use muniment_domain::meanwhile::{self, Call, Visitor};
use muniment_domain::operation;
use muniment_workflows::engine::process::intake::Intake;
use muniment_workflows::engine::process::keeper::Keeper;
use muniment_workflows::engine::process::submitter::{Incoming, Submitter};
use muniment_workflows::engine::process::submitters::{Spawn, Submitters};
use muniment_workflows::engine::sweep;
use serde_json::json;
use world::{Database, Engine, Mining, on_both_databases};

use crate::installation::{CHAIN_ID, EngineFixture, Installation, Terms, deploy_with};

/// The limit of a turn here. It is ten minutes in a process.
const TURN: Duration = Duration::from_millis(300);

/// Lanes of which the first task panics when so many steps have arrived. Counts the tasks.
fn first_lane_panics(started: &Arc<AtomicUsize>, steps: usize) -> Spawn {
    let started = started.clone();
    let lane = move |submitter: Submitter, mut incoming: Incoming| {
        if started.fetch_add(1, Ordering::SeqCst) > 0 {
            return tokio::spawn(submitter.run(incoming));
        }
        tokio::spawn(async move {
            let mut arrived = Vec::new();
            while arrived.len() < steps {
                arrived.extend(incoming.recv().await);
            }
            drop(submitter);
            panic!("{steps} steps arrived");
        })
    };
    Spawn { lane: Arc::new(lane), ..Spawn::default() }
}

#[allow(clippy::disallowed_methods, reason = "the test's clock starts with the machine's, as the queue's does")]
fn clock() -> Clock {
    Clock::manual(chrono::Utc::now())
}

on_both_databases! {
    async fn a_lane_that_panicked_is_started_again_and_its_operation_goes_on(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let clock = clock();
        let engine = site.engine_at(clock.clone(), |_| {}).await;
        let started = Arc::default();
        let submitters = Submitters::with(engine.clone(), first_lane_panics(&started, 1));
        let (intake, moves) = Intake::start(engine.clone(), submitters.clone());
        let id = deploy_with(&engine, &site.offerings[0]).await;

        intake.wake(&id.as_str().into()).await;
        site.until("the lane has panicked", async || {
            started.load(Ordering::SeqCst) == 1 && submitters.held.count() == 0
        })
        .await;
        assert_eq!(site.count("attempts").await, 0);

        clock.advance(TimeDelta::seconds(2 * operation::WAKE_AGAIN_SECONDS));
        assert_eq!(sweep::sweep(&engine).await.unwrap(), 1, "the sweep finds what the lane held");
        intake.wake(&id.as_str().into()).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
        assert_eq!(started.load(Ordering::SeqCst), 2);

        drop(intake);
        moves.await.unwrap();
        submitters.drain().await;
        let fixture = EngineFixture::run(engine);
        site.mined_until_settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.attention), (1, 0));
        fixture.close().await;
    }

    async fn a_full_lane_that_panicked_is_started_again(database: Database) {
        // One in flight, and four that wait.
        let places = 5;
        let site = Installation::new(database, Mining::Quick, &vec![Terms::free(1); places]).await;
        let engine = site.engine_at(Clock::System, |chain| chain.in_flight_max = 1).await;
        let started = Arc::default();
        let submitters = Submitters::with(engine.clone(), first_lane_panics(&started, places));
        let (intake, moves) = Intake::start(engine.clone(), submitters.clone());
        let mut ids: Vec<OperationId> = Vec::new();
        for offering in &site.offerings {
            ids.push(deploy_with(&engine, offering).await.as_str().into());
        }
        futures::future::join_all(ids.iter().map(|id| intake.wake(id))).await;
        site.until("the lane has panicked", async || {
            started.load(Ordering::SeqCst) == 1 && submitters.held.count() == 0
        })
        .await;

        intake.wake(&ids[0]).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
        assert_eq!(started.load(Ordering::SeqCst), 2);
        drop(intake);
        moves.await.unwrap();
        submitters.drain().await;
    }
}

/// The first transaction of this thread never begins, as on a connection that is half open.
fn first_call_hangs() -> Visitor {
    let has_hung = AtomicBool::new(false);
    Arc::new(move |call| {
        let hangs = call == Call::Begin && !has_hung.swap(true, Ordering::SeqCst);
        hangs.then(|| Box::pin(std::future::pending()) as meanwhile::Visit)
    })
}

// On one thread, which alone has the connection that hangs.
#[tokio::test]
async fn a_turn_that_hangs_is_given_up_and_the_next_one_follows_the_chain() {
    let site = Installation::new(Database::fresh(Engine::Sqlite).await, Mining::Manual, &[Terms::free(1)]).await;
    let engine = site.engine_at(Clock::System, |_| {}).await;
    let network = engine.network(CHAIN_ID).unwrap();
    site.anvil.mine(3).await;
    let head = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
    let mut keeper = Keeper::default();

    meanwhile::visit(Some(first_call_hangs()));
    let begun = Instant::now();
    let pause = keeper.turn_within(TURN, &engine, network).await;
    assert!(begun.elapsed() >= TURN, "it hung for {:?}", begun.elapsed());
    assert_eq!(pause, Duration::from_secs(1));
    assert!(!network.followed_here.load(Ordering::SeqCst));

    keeper.turn_within(TURN * 100, &engine, network).await;
    meanwhile::visit(None);
    assert!(network.followed_here.load(Ordering::SeqCst));
    assert_eq!(site.count(&format!("chains where head_number = {head}")).await, 1);
    engine.db.close().await;
}

// On one thread, which sees every call of the engine.
#[tokio::test]
async fn a_part_that_panics_ends_the_engine_with_its_reason() {
    let site = Installation::new(Database::fresh(Engine::Sqlite).await, Mining::Quick, &[Terms::free(1)]).await;
    let fixture = site.engine_fixture(|_| {}).await;
    site.until("the chain is followed", async || {
        fixture.engine.network(CHAIN_ID).unwrap().followed_here.load(Ordering::SeqCst)
    })
    .await;

    let has_panicked = AtomicBool::new(false);
    let panics_once: Visitor = Arc::new(move |call| {
        let panics = call == Call::Begin && !has_panicked.swap(true, Ordering::SeqCst);
        assert!(!panics, "the clock of the machine is gone");
        None
    });
    meanwhile::visit(Some(panics_once));
    let failure = fixture.failure().await.to_string();
    meanwhile::visit(None);
    assert!(failure.contains("a part of the engine panicked"), "{failure}");
    assert!(failure.contains("the clock of the machine is gone"), "{failure}");
}
