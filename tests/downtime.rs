//! The platform was down for more blocks than it walks: what happened meanwhile is found all the same.

use alloy::primitives::{Address, Bytes};
use serde_json::json;
use world::{Database, Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{Installation, Server, Terms};

/// More blocks than the follower walks.
const AWAY: u64 = 700;

/// A deployment that was sent before the process ended, and not yet included.
async fn sent(database: Database) -> Installation {
    let mut site = Installation::new(database, Mining::Manual, &[Terms::free(2), Terms::free(2)]).await;
    site.config.chain("bump_after_seconds", "600");
    let mut server: Server = site.start().await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
    server.process.kill();
    site
}

async fn head(site: &Installation) -> i64 {
    site.rows("select cast(head_number as text) from chains").await[0][0].parse().unwrap()
}

on_both_databases! {
    async fn transactions_included_during_an_absence_are_confirmed(database: Database) {
        let mut site = sent(database).await;
        let before = head(&site).await;
        site.anvil.mine(AWAY).await;
        // The first receipt answer is false: our factory's log proves that a receipt exists.
        let proxy = FaultProxy::start(site.anvil.url(), 5);
        let lie = proxy.add(Rule::new(Fault::Null).times(1));
        site.config.node(proxy.url());
        let server = site.start().await;
        site.mined_until_settled().await;
        assert!(proxy.hits(lie) == 1 && head(&site).await > before + 600);
        let log = server.process.log();
        assert!(log.contains("caught up after a long absence") && log.contains("has an event and no receipt"), "{log}");
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_foreign_transaction_with_our_nonce_is_proved_after_an_absence(database: Database) {
        let site = sent(database).await;
        site.anvil.mine(0).await;
        let foreign = send(&site.anvil, KEYS[1], 0, Address::repeat_byte(7), Bytes::new()).await;
        // Another foreign transaction, on a nonce that we have not reached.
        site.anvil.mine(AWAY / 2).await;
        let further = send(&site.anvil, KEYS[1], 1, Address::repeat_byte(7), Bytes::new()).await;
        site.anvil.mine(AWAY).await;
        let server = site.start().await;
        site.mined_until_settled().await;
        let letter = site.rows("select status, error_code, error_message from operations").await.concat();
        assert_eq!(letter[..2], ["dead_letter", "nonce_consumed_externally"]);
        assert!(letter[2].contains(&foreign), "{letter:?}");
        let proofs = site.rows("select tx_hash from foreign_transactions order by nonce").await.concat();
        assert_eq!(proofs, [foreign, further]);
        assert_eq!(site.count("lanes where mode = 'quarantined'").await, 1);
        let waits = server.deploy("again", &site.offerings[1]).await;
        assert_eq!(waits.status, 202);
        let stopped = "operations where blocked_reason like 'lane_quarantined%'";
        site.until("nothing is signed", async || site.count(stopped).await == 1).await;
        assert_eq!(site.count("attempts").await, 1);
    }

    async fn a_foreign_transaction_is_proved_on_a_node_without_old_nonces(database: Database) {
        let mut site = sent(database).await;
        let foreign = send(&site.anvil, KEYS[1], 0, Address::repeat_byte(7), Bytes::new()).await;
        site.anvil.mine(AWAY).await;
        let proxy = FaultProxy::start(site.anvil.url(), 5);
        let pruned = Fault::Error(-32000, "missing trie node 9c2b (path ) state 0x12 is not available".to_owned());
        // The first nonce count is at the landing block, the others below it; two more are asked for at start.
        let rule = proxy.add(Rule::new(pruned).on(&["eth_getTransactionCount"]).after(3));
        site.config.node(proxy.url());
        let _server = site.start().await;
        site.mined_until_settled().await;
        assert!(proxy.hits(rule) > 0);
        assert_eq!(site.rows("select tx_hash from foreign_transactions").await, [[foreign]]);
        assert_eq!(site.rows("select error_code from operations").await, [["nonce_consumed_externally"]]);
    }
}

/// Without open operations the cursor lands near the head, and work goes on.
#[tokio::test(flavor = "multi_thread")]
async fn an_absence_without_open_operations_costs_no_calls() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
    let mut server = site.start().await;
    server.process.kill();
    site.anvil.mine(AWAY).await;
    server = site.start().await;
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    let heads = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
    assert!(heads > AWAY && server.process.log().contains("caught up after a long absence"));
    assert_eq!(site.exactly_once().await.minted, 1);
}
