//! Verdicts on final steps: several are decided at a time, and a turn says whether it left some.

use std::sync::Arc;
use std::time::Duration;

use muniment_domain::clock::Clock;
use muniment_workflows::engine::finalise::finalise;
use muniment_workflows::engine::follow::{Pass, follow};
use world::{Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{CHAIN_ID, EngineFixture, Installation, Terms, deploy_with};

/// Longer than the test may take.
const FOREVER: Duration = Duration::from_secs(3_600);

/// Waits until a deployment of each offering is in one block that is not final.
async fn included(site: &Installation, fixture: &EngineFixture) {
    let count = site.offerings.len();
    for offering in &site.offerings {
        deploy_with(&fixture.engine, offering).await;
    }
    site.until("all are sent", async || site.in_pool().await == count as u64).await;
    site.anvil.mine(1).await;
    let steps = "operation_steps where state = 'included'";
    site.until("all are included", async || site.count(steps).await == count as i64).await;
}

on_both_databases! {
    async fn a_slow_endpoint_delays_all_verdicts_at_once(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1), Terms::free(1)]).await;
        let slow = FaultProxy::start(site.anvil.url(), 1);
        let engine = site.engine_at(Clock::System, |chain| {
            chain.endpoints = vec![site.anvil.url().to_owned(), slow.url().to_owned()];
            chain.quorum = 2;
            chain.request_timeout_seconds = FOREVER.as_secs();
        });
        let fixture = EngineFixture::run(engine.await);
        included(&site, &fixture).await;
        // A question that waited for the answer to another would never be asked.
        let silence = slow.add(Rule::new(Fault::Delay(FOREVER)).on(&["eth_getTransactionReceipt"]));
        site.anvil.mine(2).await;
        site.until("each receipt is asked for", async || slow.hits(silence) == 3).await;
        assert_eq!(site.count("operations where status = 'confirmed'").await, 0, "one endpoint is no quorum of two");
        drop(slow);
        fixture.close().await;
    }

    async fn a_full_turn_says_that_more_can_be_settled(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1), Terms::free(1)]).await;
        let mut engine = site.engine_at(Clock::System, |_| {}).await;
        Arc::make_mut(&mut engine.settings).settle_batch = 2;
        let fixture = EngineFixture::run(engine.clone());
        included(&site, &fixture).await;
        fixture.halt().await;
        site.anvil.mine(2).await;
        let network = engine.network(CHAIN_ID).unwrap();
        while follow(&engine, network).await.unwrap() != Pass::Still {}
        let confirmed = async || site.count("operations where status = 'confirmed'").await;
        assert!(finalise(&engine, network).await.unwrap(), "one is left");
        assert_eq!(confirmed().await, 2);
        assert!(!finalise(&engine, network).await.unwrap());
        assert_eq!(confirmed().await, 3);
        engine.db.close().await;
    }
}
