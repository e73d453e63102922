//! Blocks that share a commit while lanes wait for room.

use std::time::Duration;

use muniment_domain::clock::Clock;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::follow::{self, Pass};
use tokio::time::timeout;
use world::{Database, Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{CHAIN_ID, Installation};

const BLOCKS: &str = "eth_getBlockByNumber";
/// Longer than a test may take.
const LONG: Duration = Duration::from_secs(3_600);

/// An engine that the test moves by hand, at the head of its chain, and its node.
async fn at_the_head(database: Database) -> (Installation, FaultProxy, Engine) {
    let site = Installation::new(database, Mining::Manual, &[]).await;
    let node = FaultProxy::start(site.anvil.url(), 1);
    let engine = site
        .engine_at(Clock::System, |config| {
            config.endpoints = vec![node.url().to_owned()];
            config.request_timeout_seconds = LONG.as_secs();
        })
        .await;
    while follow(&engine).await != Pass::Still {}
    (site, node, engine)
}

async fn follow(engine: &Engine) -> Pass {
    let pass = follow::follow(engine, engine.network(CHAIN_ID).unwrap());
    timeout(Duration::from_secs(60), pass).await.expect("a pass does not wait for the next block").unwrap()
}

/// How often the pass over a block with no transaction asks for blocks.
async fn looks(site: &Installation, node: &FaultProxy, engine: &Engine) -> u64 {
    let before = node.calls(BLOCKS);
    site.anvil.mine(1).await;
    assert_eq!(follow(engine).await, Pass::Reached);
    node.calls(BLOCKS) - before
}

on_both_databases! {
    async fn the_follower_reads_on_only_while_lanes_wait_for_room(database: Database) {
        let (site, node, engine) = at_the_head(database).await;
        let network = engine.network(CHAIN_ID).unwrap();
        let looks = async || looks(&site, &node, &engine).await;
        let once = looks().await;
        network.room.set_behind(true);
        assert_eq!(looks().await, once, "its moves share no commits");
        network.commits.share();
        assert!(looks().await > once);
        network.room.set_behind(false);
        assert_eq!(looks().await, once);
        engine.db.close().await;
    }

    async fn a_block_is_stored_though_the_endpoint_does_not_answer_about_the_next(database: Database) {
        let (site, node, engine) = at_the_head(database).await;
        let network = engine.network(CHAIN_ID).unwrap();
        let once = looks(&site, &node, &engine).await;
        let before = site.count("chain_blocks").await;
        network.room.set_behind(true);
        network.commits.share();
        let stalls = node.add(Rule::new(Fault::Delay(LONG)).on(&[BLOCKS]).after(once));
        site.anvil.mine(1).await;
        assert_eq!(follow(&engine).await, Pass::Reached);
        assert!(node.hits(stalls) > 0);
        assert_eq!(site.count("chain_blocks").await, before + 1);
        engine.db.close().await;
    }
}
