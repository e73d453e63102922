//! Forced transfer: by two people with a document, only from a frozen holder, once.

use alloy::primitives::{Address, Bytes, U256};
use muniment_activities::token;
use muniment_workflows::operator::retry;
use serde_json::{Value, json};
use world::{Database, KEYS, Mining, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{Installation, Person, Server, Terms, signer_of, wallet};

const PATH: &str = "/blockchain/force-transfer";

/// The body of a forced transfer from the first holder to the second.
pub fn transfer(site: &Installation, quantity: &str) -> Value {
    let mut body = site
        .about(json!({ "from": wallet(0).to_checksum(None), "to": wallet(1).to_checksum(None), "partition": "1",
        "quantity": quantity, "document_sha256": "ab".repeat(32) }));
    body["reason_code"] = json!("court_order");
    body
}

/// A token whose first holder is frozen.
async fn frozen(database: Database, terms: Terms) -> (Installation, Server, Person, Address) {
    let site = Installation::new(database, Mining::Quick, &[terms]).await;
    let server = site.start().await;
    let second = site.second_person(&server).await;
    let token = site.minted(&server).await;
    assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
    site.settled().await;
    (site, server, second, token)
}

/// Unfreezes or freezes the first holder with another agent's key.
async fn set_frozen_elsewhere(site: &Installation, token: Address, frozen: bool) {
    let agent = signer_of(KEYS[2]);
    let call = match frozen {
        true => token::freeze(agent, token, wallet(0), Bytes::new()),
        false => token::unfreeze(agent, token, wallet(0), Bytes::new()),
    };
    let nonce = site.anvil.rpc().number("eth_getTransactionCount", json!([agent, "latest"])).await;
    send(&site.anvil, KEYS[2], nonce, token, call.data).await;
}

on_both_databases! {
    async fn two_people_move_units_of_a_frozen_holder_and_the_ledger_follows(database: Database) {
        let (site, server, second, token) = frozen(database, Terms::locked(2)).await;
        let before = [site.balance_of(token, wallet(0)).await, site.balance_of(token, wallet(1)).await];
        let idle = Person::log_in(&server, &second.email).await.client();
        let sleepy = idle.post(PATH, "idle", transfer(&site, "10.50")).await.unwrap();
        assert_eq!(sleepy.problem(), (403, "step_up_required".to_owned()), "the requester needs a step-up too");
        let requested = server.post(PATH, "force", transfer(&site, "10.50")).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "force_transfer".into()), "{requested:?}");
        assert_eq!(site.count("operations where kind = 'force_transfer'").await, 0);
        let approved = server.approve(&second, &requested).await;
        site.settled().await;
        let shown = server.get(approved.headers["location"].to_str().unwrap()).await;
        assert_eq!((shown.text("/status"), shown.text("/steps/0/function")), ("confirmed".into(), "forceTransfer".into()));
        assert_eq!(shown.text("/arguments/cause/document_sha256"), "ab".repeat(32));
        // Addresses have their checksum wherever they are shown.
        let approval = server.get(requested.headers["location"].to_str().unwrap()).await;
        // Executed is not confirmed: the approval shows the operation with its own status.
        assert_eq!(approval.body["operations"], json!([{ "id": shown.text("/id"), "status": "confirmed" }]));
        let all = format!("{} {}", shown.body, approval.body);
        let signer = crate::installation::signer_of(world::KEYS[1]);
        for address in [wallet(0), wallet(1), signer] {
            assert!(all.contains(&address.to_checksum(None)) && !all.contains(&format!("{address:#x}")), "{address}: {all}");
        }
        let units = U256::from(1_050);
        assert_eq!(site.balance_of(token, wallet(0)).await, before[0] - units);
        assert_eq!(site.balance_of(token, wallet(1)).await, before[1] + units);
        // All units were locked: the lock shrinks to the remaining units.
        assert_eq!(site.locked_of(token, wallet(0)).await, before[0] - units);
        assert_eq!(server.post(PATH, "force", transfer(&site, "10.50")).await.text("/approval/id"), requested.text("/approval/id"));
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_holder_unfrozen_before_the_block_causes_a_revert_and_a_retry(database: Database) {
        let (site, mut server, second, token) = frozen(database, Terms::free(2)).await;
        site.anvil.rpc().call("evm_setIntervalMining", json!([0])).await;
        site.anvil.rpc().call("evm_setAutomine", json!([false])).await;
        let id = server.request_and_approve(&second, PATH, "force", transfer(&site, "1")).await.text("/id");
        let sent = "attempts a join operations o on o.id = a.operation_id where o.kind = 'force_transfer' and a.sends > 0";
        site.until("it is sent", async || site.count(sent).await == 1).await;
        // Its higher fee puts it first in the block.
        set_frozen_elsewhere(&site, token, false).await;
        site.mined_until_settled().await;
        let failed = server.get(&format!("/blockchain/operations/{id}")).await;
        assert_eq!((failed.text("/status"), failed.text("/error/code")), ("failed".into(), "reverted".into()));
        assert!(failed.text("/error/message").contains("is not frozen"), "{failed:?}");
        server.process.kill();
        set_frozen_elsewhere(&site, token, true).await;
        site.anvil.mine(4).await;
        let fixture = site.engine_fixture(|_| {}).await;
        retry::retry(&fixture.engine, &id.as_str().into(), "operator", "it is frozen again").await.unwrap();
        site.mined_until_settled().await;
        assert_eq!(fixture.operation(&id).await.status, muniment_domain::operation::Status::Confirmed);
        fixture.close().await;
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_transfer_changed_after_the_request_is_not_executed(database: Database) {
        let (site, server, second, token) = frozen(database, Terms::free(2)).await;
        let requested = server.post(PATH, "force", transfer(&site, "1")).await;
        // The platform allows no other request about this holder meanwhile; another agent can still act.
        set_frozen_elsewhere(&site, token, false).await;
        site.until("the ledger shows it", async || site.count("token_accounts where frozen").await == 0).await;
        let shown = server.get(requested.headers["location"].to_str().unwrap()).await;
        assert_eq!(shown.body["outlook"]["ok"], json!(false), "{shown:?}");
        let approved = server.approve(&second, &requested).await;
        assert_eq!((approved.status, approved.text("/status")), (200, "execution_failed".into()), "{approved:?}");
        assert!(approved.text("/error/detail").contains("is not frozen"), "{approved:?}");
        assert!(!site.is_frozen(token, wallet(0)).await);
        assert_eq!(site.count("operations where kind = 'force_transfer'").await, 0);
        assert_eq!(site.exactly_once().await.attention, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_its_pointer_and_changes_nothing() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let (site, server, _, token) = frozen(database, Terms::free(2)).await;
    for (number, (key, value, code)) in [
        ("from", json!(wallet(1).to_checksum(None)), "address_not_frozen"),
        ("to", json!(wallet(0).to_checksum(None)), "address_forbidden"),
        ("to", json!(token.to_checksum(None)), "address_forbidden"),
        ("quantity", json!("1000.01"), "insufficient_balance"),
        ("quantity", json!("0.00"), "below_minimum"),
        ("partition", json!("3"), "partition_unknown"),
        ("reason_code", json!("investigation"), "type_mismatch"),
        ("document_sha256", Value::Null, "type_mismatch"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = transfer(&site, "1");
        body[key] = value;
        if key == "from" {
            body["to"] = json!(wallet(0).to_checksum(None));
        }
        let refused = server.post(PATH, &format!("key-{number}"), body).await;
        assert_eq!(refused.problem(), (422, "validation_failed".to_owned()), "{refused:?}");
        assert_eq!(
            (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
            (format!("/{key}"), code.into())
        );
    }
    assert_eq!(site.freeze(&server, "freeze-1", 1).await.status, 202);
    site.settled().await;
    let refused = server.post(PATH, "to-frozen", transfer(&site, "1")).await;
    assert_eq!(
        (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
        ("/to".into(), "address_frozen".into())
    );
    let mut bare = transfer(&site, "1");
    bare.as_object_mut().unwrap().remove("document_sha256");
    let refused = server.post(PATH, "bare", bare).await;
    assert_eq!(
        (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
        ("/document_sha256".into(), "required".into())
    );
    assert_eq!((site.count("approvals").await, site.count("operations where kind = 'force_transfer'").await), (0, 0));
}
