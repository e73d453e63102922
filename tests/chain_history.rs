//! A chain that was rewound below its final block: two admins accept its new history, and what was lost is executed again.

use alloy::primitives::{Address, Bytes};
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{KEYS, Mining, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{Installation, Person, Server, Terms};
use crate::used_nonce::adopted;

const ACCEPT: &str = "/blockchain/chains/31337/accept-history";

fn reason() -> Value {
    json!({ "reason": "The node lost its newest blocks." })
}

/// A token that was deployed and minted until the node lost all of its blocks, and the two admins.
async fn rewound(site: &Installation, server: &Server) -> [Person; 2] {
    server.deploy("deploy", &site.offerings[0]).await;
    site.mined_until_settled().await;
    assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
    site.mined_until_settled().await;
    rewind(site, server).await
}

/// Lets the node lose all blocks with a transaction of ours, and returns two admins.
async fn rewind(site: &Installation, server: &Server) -> [Person; 2] {
    let (adam, ada) = (site.person(server, "adam", Role::Admin).await, site.person(server, "ada", Role::Admin).await);
    let early = adam.post(ACCEPT, reason()).await;
    assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "its history stands");
    let head = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
    let first =
        site.rows("select cast(min(block_number) as text) from operation_steps").await[0][0].parse::<u64>().unwrap();
    site.anvil.reorg(head - first + 1).await;
    site.until("the chain is halted", async || site.count("chains where halted_reason is not null").await == 1).await;
    [adam, ada]
}

async fn accept(site: &Installation, [adam, ada]: &[Person; 2]) {
    let asked = adam.post(ACCEPT, reason()).await;
    assert_eq!((asked.status, asked.text("/approval/action")), (202, "accept_history".to_owned()), "{asked:?}");
    assert_eq!(adam.approve(&asked).await.problem(), (403, "self_approval_forbidden".to_owned()));
    assert_eq!(ada.approve(&asked).await.status, 202);
    site.until("the new history is accepted", async || site.count("chains where halted_reason is null").await == 1)
        .await;
    assert_eq!(site.count("events where type = 'operation.history_replaced'").await, 2);
}

on_both_databases! {
    async fn two_admins_accept_a_new_history_and_what_was_lost_is_executed_again(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        let server = site.start().await;
        let admins = rewound(&site, &server).await;
        accept(&site, &admins).await;
        let signed = "operation_steps where state = 'signed'";
        site.until("they are to be sent", async || site.count(signed).await == 2).await;
        for id in site.rows("select id from operations").await.concat() {
            let cancel = json!({ "mode": "noop", "reason": "a test" });
            let refused = server.post(&format!("/blockchain/operations/{id}/cancel"), &format!("cancel-{id}"), cancel).await;
            assert_eq!(refused.problem(), (409, "invalid_state".to_owned()), "what counts as done must come: {refused:?}");
        }
        let again = "operations where status = 'confirmed' and blocked_reason is null";
        site.mined_until("both are final again", async || site.count(again).await == 2).await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (1, 1, 0));
        let nonces = site.rows("select distinct cast(nonce as text) from attempts order by 1").await;
        assert_eq!(nonces, [["0"], ["1"]], "the same nonces are used");
        assert_eq!(site.count("operation_steps where state = 'final' and outcome = 'success'").await, 2);
    }

    async fn what_was_adopted_is_said_not_to_be_sent_again(database: Database) {
        let (site, server) = adopted(database).await;
        site.mined_until_settled().await;
        let admins = rewind(&site, &server).await;
        accept(&site, &admins).await;
        for (kind, next) in [("deploy_token", "its transaction is sent again"), ("mint", "not signed here is not sent again")] {
            let id = site.rows(&format!("select id from operations where kind = '{kind}'")).await.concat().remove(0);
            let shown = server.get(&format!("/blockchain/operations/{id}")).await;
            assert_eq!((shown.text("/status"), shown.text("/blocked_reason")), ("confirmed".to_owned(), "history_replaced".to_owned()));
            assert!(shown.text("/blocked_detail").contains(next), "{kind}: {shown:?}");
        }
        let again = "operations where kind = 'deploy_token' and blocked_reason is null";
        site.mined_until("the deployment is final again", async || site.count(again).await == 1).await;
        let waits = "operations where kind = 'mint' and blocked_reason like 'history_replaced:%'";
        let signed = "attempts a join operations o on o.id = a.operation_id where o.kind = 'mint'";
        assert_eq!((site.count(waits).await, site.count(signed).await), (1, 0), "a person decides about the mint");
    }

    async fn what_a_new_history_has_no_room_for_is_put_before_a_person(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        let server = site.start().await;
        let admins = rewound(&site, &server).await;
        let foreign = send(&site.anvil, KEYS[1], 0, Address::repeat_byte(7), Bytes::new()).await;
        site.anvil.mine(1).await;
        accept(&site, &admins).await;
        let lost = "events where type = 'operation.history_lost'";
        site.mined_until("the deployment is lost for good", async || site.count(lost).await == 1).await;
        let id = site.rows("select id from operations where kind = 'deploy_token'").await.concat().remove(0);
        let shown = server.get(&format!("/blockchain/operations/{id}")).await;
        assert_eq!(shown.text("/status"), "confirmed", "what people were told is not taken back in silence");
        assert_eq!(shown.text("/blocked_reason"), "history_lost");
        assert!(shown.text("/blocked_detail").contains(&foreign), "{shown:?}");
        assert_eq!(site.count("lanes where mode = 'quarantined'").await, 1, "somebody else has the key");
        assert_eq!(site.count("operations where blocked_reason like 'history_replaced:%'").await, 1, "the mint waits for it");
    }
}
