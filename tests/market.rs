//! Fees, funds and outages: what waits is shown as what it is, and none of them makes a dead letter.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use muniment_domain::clock::Clock;
use world::{Database, Engine, Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::installation::{Installation, Server, Terms, signer_of};

const ETHER: u64 = 1_000_000_000_000_000_000;

/// A deployment that is sent and in no block yet, with short limits, behind a proxy.
async fn sent_through_proxy(database: Database) -> (Installation, FaultProxy, Server) {
    let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
    let proxy = FaultProxy::start(site.anvil.url(), 3);
    site.config.node(proxy.url());
    site.impatient();
    let server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.all_in_pool(1).await;
    (site, proxy, server)
}

on_both_databases! {
    async fn an_unfunded_signer_makes_no_dead_letter(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let signer = signer_of(KEYS[1]).to_string();
        site.anvil.set_balance(&signer, 0).await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        let shown = "operations where status = 'submitted' and blocked_reason like 'signer_unfunded%'";
        site.mined_until("the reason is shown", async || site.count(shown).await == 1).await;
        site.anvil.mine(10).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(site.statuses().await, [["submitted", "1"]]);
        assert_eq!(site.count("attempts").await, 1, "a higher fee is no help for somebody who cannot pay");
        site.anvil.set_balance(&signer, ETHER).await;
        site.finalised().await;
        assert_eq!(server.get(&format!("/blockchain/operations/{deploy}")).await.text("/status"), "confirmed");
    }

    async fn a_refused_replacement_of_an_included_transaction_does_not_stop_its_lane(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        server.deploy("one", &site.offerings[0]).await;
        site.all_in_pool(1).await;
        site.anvil.mine(1).await;
        site.until("it is included", async || site.count("operation_steps where state = 'included'").await == 1).await;
        let columns = "chain_id, operation_id, position, cycle, lane_id, nonce, raw, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, open, \
            signed_at, sends";
        site.write(&format!("insert into attempts ({columns}, tx_hash, number, kind, last_answer) select {columns}, '0x{}', 2, 'bump', \
            'insufficient_funds: overshot' from attempts", "99".repeat(32))).await;
        server.deploy("two", &site.offerings[1]).await;
        site.all_in_pool(1).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 2);
    }

    async fn an_outage_makes_no_dead_letter(database: Database) {
        let (site, proxy, _server) = sent_through_proxy(database).await;
        let rule = proxy.add(Rule::new(Fault::Status(503)));
        // Several times what makes a transaction stuck while blocks are seen.
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(proxy.hits(rule) > 0);
        assert_eq!(site.statuses().await, [["submitted", "1"]]);
        proxy.heal();
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("attempts").await, 1);
    }

    async fn a_fee_that_no_node_tells_makes_no_dead_letter(database: Database) {
        let (site, proxy, mut server) = sent_through_proxy(database).await;
        // The next process knows no fee yet.
        server.process.kill();
        let unknown = Fault::Error(-32000, "internal error".to_owned());
        let rule = proxy.add(Rule::new(unknown).on(&["eth_feeHistory"]));
        let _server = site.start().await;
        // Blocks pass, none of which the transaction can pay.
        site.until("the fee is asked for again and again", async || {
            site.mine_above_offers().await;
            proxy.hits(rule) > 10
        })
        .await;
        assert_eq!(site.statuses().await, [["submitted", "1"]]);
        assert_eq!(site.count("attempts").await, 1);
        // The next block includes it, before it could be given up at the cap.
        site.anvil.set_base_fee(1).await;
        site.all_in_pool(1).await;
        site.anvil.mine(1).await;
        proxy.heal();
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_base_fee_above_the_cap_is_shown_and_waited_for(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.config.chain("max_fee_per_gas_gwei_cap", "20");
        let server = site.start().await;
        site.anvil.set_base_fee(400_000_000_000).await;
        site.anvil.mine(1).await;
        server.deploy("deploy", &site.offerings[0]).await;
        let shown = "operations where status = 'pending' and blocked_reason like 'base_fee_above_cap%'";
        site.until("the reason is shown", async || site.count(shown).await == 1).await;
        assert_eq!(site.count("attempts").await, 0, "no nonce is taken");
        site.anvil.set_base_fee(1_000_000_000).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_base_fee_is_that_of_the_newest_head_and_the_tip_is_asked_for_every_twenty_blocks() {
    let database = Database::fresh(Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Manual, &[]).await;
    let proxy = FaultProxy::start(site.anvil.url(), 3);
    let asked = proxy.add(Rule::new(Fault::Delay(Duration::ZERO)).on(&["eth_feeHistory"]));
    let endpoint = proxy.url().to_owned();
    let engine = site
        .engine_at(Clock::System, |chain| {
            (chain.endpoints, chain.block_seconds) = (vec![endpoint.clone()], 2);
        })
        .await;
    let (network, start) = (engine.networks.values().next().unwrap(), Utc::now());
    let read = async |second| {
        let market = network.market(start + TimeDelta::seconds(second)).await.unwrap();
        (market, proxy.hits(asked))
    };
    let note = |second, base_fee| network.known_market.note_base_fee(start + TimeDelta::seconds(second), base_fee);
    let (first, hits) = read(0).await;
    assert_eq!(hits, 1);
    for second in 1..40 {
        let base_fee = first.base_fee + u128::try_from(second).unwrap();
        note(second, base_fee);
        let (market, hits) = read(second).await;
        assert_eq!((market.base_fee, market.tip, hits), (base_fee, first.tip, 1), "{second} s");
        assert_eq!(market.offer.max_fee_per_gas, 2 * base_fee + first.tip);
    }
    note(40, 7);
    assert_eq!(read(40).await, (first, 2), "the tip is twenty block times old");
    note(41, 7);
    assert_eq!(read(44).await.0.base_fee, 7);
    assert_eq!(read(45).await, (first, 3), "no head was read for two block times");
    note(47, 7);
    assert_eq!(read(46).await.1, 4, "the clock was set back");
}

/// The key of the lane from which the only transaction was sent, and the other one.
async fn key_and_other(site: &Installation) -> (&'static str, &'static str) {
    let signer = site.rows("select signer from lanes join attempts on attempts.lane_id = lanes.id").await.concat();
    let is_signer = |key: &str| signer_of(key).to_string().to_lowercase() == signer[0];
    if is_signer(KEYS[1]) { (KEYS[1], KEYS[2]) } else { (KEYS[2], KEYS[1]) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fee_is_raised_by_the_process_with_the_key_although_another_one_follows() {
    let database = Database::fresh(Engine::Postgres).await;
    let mut site = Installation::with_signers(database, Mining::Manual, &[Terms::free(1)], 2).await;
    site.config.chain("bump_after_seconds", "2");
    let mut server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
    server.process.kill();
    let (key, other) = key_and_other(&site).await;
    let signers = |key: &str| format!("[{{ kind = \"raw\", private_key = \"{key}\" }}]");
    site.write("delete from leases").await;
    site.config.chain("signers", &signers(other));
    let follower = site.launch(&["worker"]).spawn();
    let leases = "select holder from leases where name like 'chain:%'";
    site.until("a process follows the chain", async || !site.rows(leases).await.is_empty()).await;
    let lease = site.rows(leases).await;
    site.until("its log names the holder", async || follower.log().contains(&lease[0][0])).await;
    site.config.chain("signers", &signers(key));
    let owner = site.launch(&["worker"]).spawn();
    site.until("the fee is raised", async || {
        site.mine_above_offers().await;
        site.count("attempts where kind = 'bump'").await > 0
    })
    .await;
    assert_eq!(site.rows(leases).await, lease, "the process without the key still follows");
    site.anvil.set_base_fee(1).await;
    site.mined_until_settled().await;
    assert_eq!(site.exactly_once().await.deployed, 1);
    drop((follower, owner));
}
