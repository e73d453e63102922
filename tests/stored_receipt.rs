//! A receipt is read from the chain once and stored; the verdict needs it no more from there.

use muniment_domain::clock::Clock;
use world::{Database, Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms, deploy_with};

/// An installation with an operation that is included and not final, whose node has no receipts any more.
async fn included(database: Database) -> (Installation, EngineFixture, FaultProxy) {
    let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
    let node = FaultProxy::start(site.anvil.url(), 1);
    let engine = site.engine_at(Clock::System, |chain| chain.endpoints = vec![node.url().to_owned()]).await;
    deploy_with(&engine, &site.offerings[0]).await;
    let fixture = EngineFixture::run(engine);
    site.until("it is sent", async || site.in_pool().await == 1).await;
    site.anvil.mine(1).await;
    site.until("it is included", async || site.count("attempts where receipt_text is not null").await == 1).await;
    node.add(Rule::new(Fault::Null).on(&["eth_getBlockReceipts", "eth_getTransactionReceipt"]));
    (site, fixture, node)
}

async fn is_confirmed(site: &Installation, fixture: EngineFixture) {
    site.mined_until_settled().await;
    assert_eq!(site.exactly_once().await.deployed, 1);
    fixture.close().await;
}

/// The receipt as an earlier release stored it.
const fn former(site: &Installation) -> &'static str {
    match site.database {
        Database::Sqlite(_) => "receipt_text",
        Database::Postgres(_) => "cast(receipt_text as jsonb)",
    }
}

on_both_databases! {
    async fn a_verdict_needs_the_stored_receipt_alone(database: Database) {
        let (site, fixture, _node) = included(database).await;
        is_confirmed(&site, fixture).await;
    }

    async fn a_receipt_of_an_earlier_release_still_counts(database: Database) {
        let (site, fixture, _node) = included(database).await;
        let former = former(&site);
        assert_eq!(site.write(&format!("update attempts set receipt = {former}, receipt_text = null")).await, 1);
        is_confirmed(&site, fixture).await;
    }

    async fn a_receipt_that_an_earlier_release_stored_again_counts(database: Database) {
        let (site, fixture, _node) = included(database).await;
        let former = former(&site);
        let outdated = "'{\"outdated\": true}'";
        assert_eq!(site.write(&format!("update attempts set receipt = {former}, receipt_text = {outdated}")).await, 1);
        is_confirmed(&site, fixture).await;
    }
}
