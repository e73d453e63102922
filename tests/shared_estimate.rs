//! Calls of one shape that arrive together: one of them is estimated.

use std::time::Duration;

use muniment_domain::clock::Clock;
use muniment_domain::id::OperationId;
use muniment_workflows::engine::process::intake::Intake;
use muniment_workflows::engine::process::submitters::Submitters;
use world::{Database, Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms, deploy_with};

/// More than one group of moves.
const OPERATIONS: usize = 40;

/// Wakes deployments at once, under a rule for the first estimates. Returns how many estimates were made.
async fn estimates(database: Database, rule: Rule) -> u64 {
    let site = Installation::new(database, Mining::Quick, &[Terms::free(1); OPERATIONS]).await;
    let proxy = FaultProxy::start(site.anvil.url(), 1);
    let engine = site.engine_at(Clock::System, |chain| chain.endpoints = vec![proxy.url().to_owned()]).await;
    let mut ids: Vec<OperationId> = Vec::new();
    for offering in &site.offerings {
        ids.push(deploy_with(&engine, offering).await.as_str().into());
    }
    proxy.add(rule.on(&["eth_estimateGas"]));
    let submitters = Submitters::new(engine.clone());
    let (intake, moves) = Intake::start(engine.clone(), submitters.clone());
    futures::future::join_all(ids.iter().map(|id| intake.wake(id))).await;
    drop(intake);
    moves.await.unwrap();
    let estimates = proxy.calls("eth_estimateGas");
    submitters.drain().await;

    let fixture = EngineFixture::run(engine);
    site.settled().await;
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.attention), (OPERATIONS, 0));
    fixture.close().await;
    estimates
}

on_both_databases! {
    async fn a_burst_of_alike_calls_is_estimated_once(database: Database) {
        // Slow enough that all groups find the call unknown.
        assert_eq!(estimates(database, Rule::new(Fault::Delay(Duration::from_millis(500)))).await, 1);
    }

    async fn alike_calls_do_not_wait_for_an_estimate_that_failed(database: Database) {
        let fault = Fault::Error(-32603, "Internal error".to_owned());
        let made = estimates(database, Rule::new(fault).times(1)).await;
        assert!((2..=OPERATIONS as u64).contains(&made), "{made}");
    }
}
