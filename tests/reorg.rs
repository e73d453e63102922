//! Reorganised blocks, dropped transactions, rising fees: nothing is reported before it is final.

use serde_json::json;
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms};

/// An installation whose blocks the test makes, with one deployment sent.
async fn sent(database: Database) -> (Installation, Server) {
    let mut site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
    site.config.chain("bump_after_seconds", "600");
    let server = site.start().await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    in_pool(&site, 1).await;
    (site, server)
}

async fn in_pool(site: &Installation, count: u64) {
    let status = async || site.anvil.rpc().call("txpool_status", json!([])).await["pending"].clone();
    site.until("it is in the pool", async || status().await == format!("{count:#x}")).await;
}

async fn included(site: &Installation) {
    site.anvil.mine(1).await;
    site.until("it is seen in a block", async || site.count("operation_steps where state = 'included'").await == 1)
        .await;
}

async fn nothing_is_reported(site: &Installation) {
    assert_eq!(site.statuses().await, [["submitted", "1"]]);
    assert_eq!(site.count("offerings where token_status = 'deployed'").await, 0);
    assert_eq!(site.count("events where type in ('offering.token_deployed', 'operation.confirmed')").await, 0);
}

async fn hash(site: &Installation) -> String {
    site.rows("select tx_hash from attempts where open order by number desc").await[0][0].clone()
}

on_both_databases! {
    async fn the_domain_changes_at_finality_and_not_before(database: Database) {
        let (site, _server) = sent(database).await;
        nothing_is_reported(&site).await;
        included(&site).await;
        nothing_is_reported(&site).await;
        site.anvil.mine(1).await;
        let head = async || site.count("chains where head_number > final_number + 1").await;
        site.until("the next block is seen", async || head().await == 1).await;
        nothing_is_reported(&site).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_reorganised_transaction_is_sent_again(database: Database) {
        let (site, _server) = sent(database).await;
        included(&site).await;
        site.anvil.reorg(1).await;
        let back = "operation_steps where state = 'signed'";
        site.until("the reorganisation is seen", async || site.count(back).await == 1).await;
        nothing_is_reported(&site).await;
        in_pool(&site, 1).await;
        included(&site).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("attempts").await, 1, "the same bytes are sent");
    }

    async fn a_transaction_that_moves_to_another_block_stays_included(database: Database) {
        let (site, _server) = sent(database).await;
        included(&site).await;
        site.anvil.mine(1).await;
        let head = async || site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        let newest = head().await;
        site.until("the next block is seen", async || site.count(&format!("chains where head_number = {newest}")).await == 1).await;
        let raw = site.anvil.rpc().call("eth_getRawTransactionByHash", json!([hash(&site).await])).await;
        site.anvil.reorg_with(2, raw.as_str().unwrap()).await;
        assert_eq!(head().await, newest);
        let moved = format!("operation_steps where state = 'included' and block_number = {newest}");
        site.until("it is seen in its new block", async || site.count(&moved).await == 1).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("attempts").await, 1, "nothing else was signed");
    }

    async fn repeated_reorganisations_deploy_and_mint_once(database: Database) {
        let (site, server) = sent(database).await;
        for _ in 0..4 {
            included(&site).await;
            site.anvil.mine(1).await;
            site.anvil.reorg(2).await;
            site.until("the inclusion is withdrawn", async || site.count("operation_steps where state = 'signed'").await == 1).await;
            in_pool(&site, 1).await;
        }
        site.finalised().await;
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
        in_pool(&site, 1).await;
        included(&site).await;
        site.anvil.reorg(1).await;
        in_pool(&site, 1).await;
        site.finalised().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted), (1, 1));
    }

    async fn a_transaction_that_fell_out_of_the_pool_is_sent_again(database: Database) {
        let (site, _server) = sent(database).await;
        for _ in 0..3 {
            site.anvil.evict(&hash(&site).await).await;
            in_pool(&site, 0).await;
            in_pool(&site, 1).await;
        }
        included(&site).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("attempts").await, 1);
        assert!(site.count("attempts where sends >= 4").await == 1);
    }

    async fn an_outbid_fee_is_raised_on_the_same_nonce(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        site.config.chain("bump_after_seconds", "1");
        let server = site.start().await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        in_pool(&site, 1).await;
        let first = hash(&site).await;
        let fee = site.rows("select max_fee_per_gas from attempts").await[0][0].parse::<u64>().unwrap();
        site.anvil.set_base_fee(fee * 3).await;
        site.anvil.mine(1).await;
        nothing_is_reported(&site).await;
        let raised = "attempts where kind = 'bump'";
        site.until("the fee is raised", async || site.count(raised).await > 0).await;
        // Each block is less than half full, so the base fee falls while our fee rises until they meet.
        site.until("one attempt is included", async || {
            site.anvil.mine(1).await;
            site.count("operation_steps where state <> 'signed'").await == 1
        })
        .await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.rows("select distinct cast(nonce as text) from attempts").await, [["0"]]);
        assert_ne!(site.rows("select tx_hash from operations").await[0][0], first, "a replacement was included");
    }
}
