//! A lane signs ahead: transactions are stored while the node has as many of the lane as it may, and are sent when a block makes room.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use muniment_activities::config::ChainConfig;
use muniment_domain::clock::Clock;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::process::intake::Intake;
use muniment_workflows::engine::process::submitter::{Incoming, Submitter};
use muniment_workflows::engine::process::submitters::{Spawn, Submitters};
use tokio::task::AbortHandle;
use world::{Database, Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms, deploy_with};

const IN_FLIGHT: u64 = 2;
/// The rebroadcast has had several turns by then.
const REBROADCASTS: Duration = Duration::from_secs(3);
const OPERATIONS: usize = 7;

/// An installation whose blocks the test makes, and its node.
async fn without_blocks(database: Database) -> (Installation, Engine, FaultProxy) {
    limited_to(IN_FLIGHT, OPERATIONS, database).await
}

async fn limited_to(in_flight: u64, operations: usize, database: Database) -> (Installation, Engine, FaultProxy) {
    let site = Installation::new(database, Mining::Quick, &vec![Terms::free(1); operations]).await;
    site.stop_blocks().await;
    let node = FaultProxy::start(site.anvil.url(), 1);
    let limited = |chain: &mut ChainConfig| {
        chain.in_flight_max = in_flight as u32;
        chain.endpoints = vec![node.url().to_owned()];
    };
    let engine = site.engine_at(Clock::System, limited).await;
    for offering in &site.offerings {
        deploy_with(&engine, offering).await;
    }
    (site, engine, node)
}

/// As many again as the node may have are signed, and the node does not have them.
async fn signed_ahead(site: &Installation) {
    signed_twice(IN_FLIGHT, site).await;
}

async fn signed_twice(in_flight: u64, site: &Installation) {
    let signed = 2 * in_flight;
    let is_signed = async || site.count("operation_steps where state = 'signed'").await == signed.cast_signed();
    site.until("it is signed ahead", async || site.in_pool().await == in_flight && is_signed().await).await;
}

/// Every offering of the installation gets its token once.
pub async fn all_are_deployed_once(site: &Installation, fixture: EngineFixture) {
    site.mined_until_settled().await;
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.attention), (site.offerings.len(), 0));
    fixture.close().await;
}

on_both_databases! {
    async fn the_node_has_no_more_of_a_lane_than_it_may(database: Database) {
        let (site, engine, _node) = without_blocks(database).await;
        let fixture = EngineFixture::run(engine);
        signed_ahead(&site).await;
        site.until("the rebroadcast sends again", async || site.count("attempts where sends > 1").await > 0).await;
        assert_eq!(site.in_pool().await, IN_FLIGHT);
        let above = format!("attempts where nonce >= (select min(nonce) from attempts) + {IN_FLIGHT} and sends > 0");
        assert_eq!(site.count(&above).await, 0, "the rebroadcast sends nothing that is signed ahead");

        site.anvil.mine(1).await;
        site.until("the room is used", async || site.in_pool().await == IN_FLIGHT).await;
        signed_ahead(&site).await;
        site.resume_blocks().await;
        all_are_deployed_once(&site, fixture).await;
    }

    async fn a_full_lane_sends_several_at_once(database: Database) {
        let (site, engine, node) = limited_to(8, 20, database).await;
        let fixture = EngineFixture::run(engine);
        signed_twice(8, &site).await;
        // Nothing is sent again before the block.
        node.add(Rule::new(Fault::DropRequest).on(&["eth_sendRawTransaction"]));
        let above = "nonce > (select min(nonce) from attempts)";
        for row in site.rows(&format!("select tx_hash from attempts where {above}")).await {
            site.anvil.evict(&row[0]).await;
        }
        site.anvil.mine(1).await;
        site.until("one is included", async || site.count("operation_steps where state = 'included'").await == 1).await;
        node.heal();
        site.until("the others are sent again", async || site.in_pool().await == 7).await;
        assert_eq!(site.count("attempts where sends > 0").await, 8, "there is room for one, and more wait");

        site.anvil.mine(1).await;
        site.until("the room is used", async || site.in_pool().await == 8).await;
        site.resume_blocks().await;
        all_are_deployed_once(&site, fixture).await;
    }

    async fn what_is_signed_ahead_is_sent_before_the_block_is_stored(database: Database) {
        let (site, engine, node) = without_blocks(database).await;
        let fixture = EngineFixture::run(engine);
        signed_ahead(&site).await;
        node.add(Rule::new(Fault::DropResponse).on(&["eth_getBlockReceipts", "eth_getTransactionReceipt"]));
        site.anvil.mine(1).await;
        site.until("they are sent", async || site.in_pool().await == IN_FLIGHT).await;
        assert_eq!(site.count("operation_steps where state = 'included'").await, 0, "the block cannot be stored");

        node.heal();
        site.resume_blocks().await;
        all_are_deployed_once(&site, fixture).await;
    }

    async fn what_is_signed_ahead_is_not_lost_with_its_process(database: Database) {
        let (site, engine, _node) = without_blocks(database).await;
        let tasks: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
        let started = tasks.clone();
        let lane = Arc::new(move |submitter: Submitter, incoming: Incoming| {
            let task = tokio::spawn(submitter.run(incoming));
            started.lock().unwrap().push(task.abort_handle());
            task
        });
        let submitters = Submitters::with(engine.clone(), Spawn { lane, ..Spawn::default() });
        let (intake, moves) = Intake::start(engine.clone(), submitters.clone());
        for row in site.rows("select id from operations").await {
            intake.wake(&row[0].as_str().into()).await;
        }
        signed_ahead(&site).await;
        tasks.lock().unwrap().iter().for_each(AbortHandle::abort);
        drop(intake);
        moves.await.unwrap();

        site.resume_blocks().await;
        all_are_deployed_once(&site, EngineFixture::run(engine)).await;
    }

    async fn a_send_without_an_answer_is_not_repeated_at_once(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let node = FaultProxy::start(site.anvil.url(), 1);
        // This clock stands still, so the transaction stays young.
        #[allow(clippy::disallowed_methods, reason = "the test's clock starts with the machine's, as the queue's does")]
        let clock = Clock::manual(chrono::Utc::now());
        let engine = site.engine_at(clock, |chain| chain.endpoints = vec![node.url().to_owned()]).await;
        deploy_with(&engine, &site.offerings[0]).await;
        let sends = || node.calls("eth_sendRawTransaction");
        let rule = Rule::new(Fault::Delay(2 * REBROADCASTS)).on(&["eth_sendRawTransaction"]);
        node.add(rule.times(1));
        let fixture = EngineFixture::run(engine);
        site.until("it is sent", async || sends() > 0).await;
        tokio::time::sleep(REBROADCASTS).await;
        assert_eq!((sends(), site.count("attempts where sends > 0").await), (1, 0));

        site.until("it is answered", async || site.count("attempts where sends > 0").await == 1).await;
        site.mined_until_settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        fixture.close().await;
    }

    async fn a_lane_in_quarantine_sends_nothing_that_is_signed_ahead(database: Database) {
        let (site, engine, _node) = without_blocks(database).await;
        let fixture = EngineFixture::run(engine);
        signed_ahead(&site).await;
        site.lanes("quarantined").await;
        site.mined_until("the others are confirmed", async || {
            site.count("operations where status = 'confirmed'").await == IN_FLIGHT.cast_signed()
        })
        .await;
        assert_eq!((site.in_pool().await, site.count("attempts where sends = 0").await), (0, IN_FLIGHT.cast_signed()));

        fixture.resume().await;
        site.resume_blocks().await;
        all_are_deployed_once(&site, fixture).await;
    }
}
