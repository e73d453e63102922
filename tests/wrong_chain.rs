//! Another chain behind the same URL: nothing is signed for it, and the message says what to do.

use std::time::Duration;

use serde_json::json;
use world::{Anvil, Database, Mining, on_both_databases};

use crate::installation::{Installation, PATIENCE, Terms};

/// Replaces the node by one with the same chain id and another history.
fn replace_node(site: &mut Installation) {
    let port = site.anvil.url().rsplit(':').next().unwrap().to_owned();
    let args = ["--slots-in-an-epoch", "1", "--block-time", "1", "--mixed-mining", "--timestamp", "1700000000"];
    let spare = Anvil::start(Mining::Manual);
    drop(std::mem::replace(&mut site.anvil, spare));
    site.anvil = Anvil::on(&port, &args.map(str::to_owned));
}

/// A chain whose known final block is gone, and so many other blocks are there instead, halts.
async fn final_block_vanishes(database: Database, blocks: u64) {
    let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
    let server = site.start().await;
    let before = site.anvil.rpc().call("evm_snapshot", json!([])).await;
    let met = site.rows("select cast(head_number as text) from chains").await[0][0].parse::<i64>().unwrap();
    site.anvil.mine(6).await;
    site.until("they are final", async || site.count(&format!("chains where final_number > {met}")).await == 1).await;
    assert_eq!(site.anvil.rpc().call("evm_revert", json!([before])).await, true);
    site.anvil.rpc().call("evm_increaseTime", json!([5000])).await;
    site.anvil.mine(blocks).await;
    site.until("it is halted", async || site.count("chains where halted_reason is not null").await == 1).await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    let waits = "operations where status = 'pending' and blocked_reason like 'chain_halted%'";
    site.until("the operation waits", async || site.count(waits).await == 1).await;
    assert_eq!(site.count("attempts").await, 0);
}

on_both_databases! {
    async fn a_start_on_another_chain_is_refused(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let mut server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        server.process.kill();
        replace_node(&mut site);
        let mut process = site.launch(&["run"]).spawn();
        let status = process.wait(PATIENCE).unwrap();
        assert_eq!(status.code(), Some(1));
        let log = process.log();
        assert!(log.contains("is not the chain that this database was used with") && log.contains("Nothing was signed"), "{log}");
        let count = json!(["0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "pending"]);
        assert_eq!(site.anvil.rpc().number("eth_getTransactionCount", count).await, 0);
    }

    async fn a_chain_that_changes_at_runtime_gets_no_signatures(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        server.deploy("deploy-0", &site.offerings[0]).await;
        site.settled().await;
        let signed = site.count("attempts").await;
        replace_node(&mut site);
        assert_eq!(server.deploy("deploy-1", &site.offerings[1]).await.status, 202);
        let stopped = "chains where blocked_reason is not null or halted_reason is not null";
        site.until("the chain is stopped", async || site.count(stopped).await == 1).await;
        let waits = "operations where status = 'pending' and faults = 0 and blocked_reason is not null";
        site.until("the operation waits with its reason", async || site.count(waits).await == 1).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(site.count("attempts").await, signed, "nothing was signed");
        let count = json!(["0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "pending"]);
        assert_eq!(site.anvil.rpc().number("eth_getTransactionCount", count).await, 0, "nothing was sent");
        assert_eq!(server.get("/readyz").await.body["status"], "degraded");
    }

    async fn a_vanished_final_block_halts_the_chain(database: Database) {
        final_block_vanishes(database, 8).await;
    }

    async fn a_vanished_final_block_halts_a_chain_that_is_far_ahead(database: Database) {
        final_block_vanishes(database, 700).await;
    }
}
