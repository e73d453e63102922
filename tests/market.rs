//! Fees, funds and outages: what waits is shown as what it is, and none of them makes a dead letter.

use std::time::Duration;

use world::{Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::installation::{Installation, Terms, signer_of};

const ETHER: u64 = 1_000_000_000_000_000_000;

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

    async fn an_outage_makes_no_dead_letter(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 3);
        site.config.node(proxy.url());
        site.impatient();
        let server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.all_in_pool(1).await;
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
