//! A chain that was rewound below its final block: two admins accept its new history, and what was lost is executed again.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Mining, on_both_databases};

use crate::installation::{Installation, Terms};

const ACCEPT: &str = "/blockchain/chains/31337/accept-history";

on_both_databases! {
    async fn two_admins_accept_a_new_history_and_what_was_lost_is_executed_again(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        let server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.mined_until_settled().await;
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
        site.mined_until_settled().await;
        let reason = || json!({ "reason": "The node lost its newest blocks." });
        let (adam, ada) = (site.person(&server, "adam", Role::Admin).await, site.person(&server, "ada", Role::Admin).await);
        let early = adam.post(ACCEPT, reason()).await;
        assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "its history stands");

        let head = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        let first = site.rows("select cast(min(block_number) as text) from operation_steps").await[0][0].parse::<u64>().unwrap();
        site.anvil.reorg(head - first + 1).await;
        site.until("the chain is halted", async || site.count("chains where halted_reason is not null").await == 1).await;
        let asked = adam.post(ACCEPT, reason()).await;
        assert_eq!((asked.status, asked.text("/approval/action")), (202, "accept_history".to_owned()), "{asked:?}");
        assert_eq!(adam.approve(&asked).await.problem(), (403, "self_approval_forbidden".to_owned()));
        assert_eq!(ada.approve(&asked).await.status, 202);
        site.until("the new history is accepted", async || site.count("chains where halted_reason is null").await == 1).await;
        assert_eq!(site.count("events where type = 'operation.history_replaced'").await, 2);
        let again = "operations where status = 'confirmed' and blocked_reason is null";
        site.mined_until("both are final again", async || site.count(again).await == 2).await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (1, 1, 0));
        let nonces = site.rows("select distinct cast(nonce as text) from attempts order by 1").await;
        assert_eq!(nonces, [["0"], ["1"]], "the same nonces are used");
        assert_eq!(site.count("operation_steps where state = 'final' and outcome = 'success'").await, 2);
    }
}
