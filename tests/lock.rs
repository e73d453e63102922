//! Locking a holder's units: once per operation, never more than the balance.

use muniment_activities::contract::registry::Roles;
use muniment_domain::operation::Status;
use muniment_workflows::operator::retry;
use serde_json::json;
use world::{Database, Mining, on_both_databases};

use crate::foreign_key::execute_elsewhere;
use crate::installation::{Installation, Server, Terms, wallet};

const FAR: &str = "2045-01-01T00:00:00Z";
const FAR_SECONDS: u64 = 2_366_841_600;

fn lock_of(site: &Installation, holder: usize, quantity: &str) -> serde_json::Value {
    site.about(json!({ "address": wallet(holder).to_checksum(None), "partition": "1", "quantity": quantity, "release_at": FAR }))
}

async fn lock(site: &Installation, server: &Server, key: &str, quantity: &str) -> crate::installation::Answer {
    server.post("/blockchain/lock", key, lock_of(site, 0, quantity)).await
}

on_both_databases! {
    async fn units_are_locked_once_and_the_ledger_follows(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        let accepted = lock(&site, &server, "lock-1", "250.5").await;
        assert_eq!((accepted.status, accepted.text("/type")), (202, "lock".into()), "{accepted:?}");
        site.settled().await;
        assert_eq!(site.tranches_of(token, wallet(0), 1).await, [(alloy::primitives::U256::from(25_050), FAR_SECONDS)]);
        assert_eq!(lock(&site, &server, "lock-1", "250.5").await.text("/id"), accepted.text("/id"));
        // Holder 0 has 1000.00 units; locked units cannot be locked again.
        let above = lock(&site, &server, "lock-2", "749.51").await;
        assert_eq!((above.text("/errors/0/pointer"), above.text("/errors/0/code")), ("/quantity".into(), "insufficient_balance".into()));
        assert_eq!(lock(&site, &server, "lock-3", "749.50").await.status, 202);
        site.settled().await;
        assert_eq!(site.locked_of(token, wallet(0)).await, site.balance_of(token, wallet(0)).await);
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn two_people_release_locked_units_before_their_time(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        assert_eq!(lock(&site, &server, "lock", "300").await.status, 202);
        site.settled().await;
        let release = |quantity: &str, until: &str| {
            let mut body = lock_of(&site, 0, quantity);
            body["release_at"] = json!(until);
            body
        };
        for (quantity, until, code) in [("300.01", FAR, "insufficient_balance"), ("1", "2044-01-01T00:00:00Z", "insufficient_balance")] {
            let refused = server.post("/blockchain/release-lock", &format!("{quantity}-{until}"), release(quantity, until)).await;
            assert_eq!((refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), ("/quantity".into(), code.into()), "{refused:?}");
        }
        for (new, code) in [(FAR, "above_maximum"), ("2020-01-01T00:00:00Z", "below_minimum")] {
            let mut body = release("1", FAR);
            body["new_release_at"] = json!(new);
            let refused = server.post("/blockchain/release-lock", new, body).await;
            assert_eq!((refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), ("/new_release_at".into(), code.into()), "{refused:?}");
        }
        // A part becomes free now, another part a year earlier.
        server.request_and_approve(&second, "/blockchain/release-lock", "now", release("100", FAR)).await;
        site.settled().await;
        let mut body = release("50", FAR);
        body["new_release_at"] = json!("2044-01-01T00:00:00Z");
        server.request_and_approve(&second, "/blockchain/release-lock", "earlier", body).await;
        site.settled().await;
        let left: Vec<u64> = site.tranches_of(token, wallet(0), 1).await.iter().map(|(units, _)| units.to()).collect();
        assert_eq!(left, [5_000, 15_000]);
        let known = site.rows("select quantity from tranches where quantity <> '0' order by release_at").await.concat();
        assert_eq!(known, ["5000", "15000"], "the ledger follows");
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn two_people_remove_expired_locks(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        assert_eq!(lock(&site, &server, "lock", "10").await.status, 202);
        site.settled().await;
        let body = site.about(json!({ "address": wallet(0).to_checksum(None), "partition": "1" }));
        let id = server.request_and_approve(&second, "/blockchain/unlock", "unlock", body).await.text("/id");
        site.settled().await;
        let early = server.get(&format!("/blockchain/operations/{id}")).await;
        assert_eq!((early.text("/status"), early.text("/error/code")), ("failed".into(), "reverts".into()));
        assert!(early.text("/error/message").ends_with("has no expired lock in partition 1."), "{early:?}");
        assert_eq!(early.body["candidates"], json!([]), "no nonce was used");
        // The chain's time decides.
        site.anvil.rpc().call("evm_setNextBlockTimestamp", json!([FAR_SECONDS + 1])).await;
        site.anvil.mine(1).await;
        let retried = server.post(&format!("/blockchain/operations/{id}/retry"), "retry", json!({ "reason": "it is due" })).await;
        assert_eq!(retried.status, 202, "{retried:?}");
        site.settled().await;
        assert_eq!(site.tranches_of(token, wallet(0), 1).await, []);
        assert_eq!(site.count("operations where kind = 'unlock' and status = 'confirmed'").await, 1);
    }

    async fn a_retry_of_a_lock_that_another_agent_made_confirms_it(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let mut server = site.start().await;
        let token = site.minted(&server).await;
        site.set_roles(Roles::CUSTODY).await;
        let id = lock(&site, &server, "lock", "10").await.text("/id");
        site.settled().await;
        server.process.kill();
        let fixture = site.engine_fixture(|_| {}).await;
        assert_eq!(fixture.operation(&id).await.status, Status::Failed);
        execute_elsewhere(&site, &id).await;
        site.set_roles(Roles::ALL).await;
        site.anvil.mine(4).await;
        retry::retry(&fixture.engine, &id.as_str().into(), "operator", "a test").await.unwrap();
        site.settled().await;
        assert_eq!(fixture.operation(&id).await.status, Status::Confirmed);
        assert_eq!(site.tranches_of(token, wallet(0), 1).await.len(), 1, "locked once");
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_its_pointer_and_changes_nothing() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
    let server = site.start().await;
    site.minted(&server).await;
    for (number, (key, value, code)) in [
        ("quantity", json!("0"), "below_minimum"),
        ("quantity", json!("1.001"), "quantity_format"),
        ("quantity", json!("-1"), "quantity_format"),
        ("quantity", json!(1), "type_mismatch"),
        ("quantity", json!("1000.01"), "insufficient_balance"),
        ("quantity", json!("9".repeat(30)), "above_maximum"),
        ("partition", json!("2"), "partition_unknown"),
        ("partition", json!("0"), "partition_unknown"),
        ("partition", json!("one"), "partition_unknown"),
        ("release_at", json!("2001-01-01T00:00:00Z"), "below_minimum"),
        ("release_at", json!("+40000-01-01T00:00:00Z"), "type_mismatch"),
        ("release_at", json!("tomorrow"), "type_mismatch"),
        ("address", json!("0x0000000000000000000000000000000000000000"), "address_forbidden"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = lock_of(&site, 0, "1");
        body[key] = value;
        let refused = server.post("/blockchain/lock", &format!("key-{number}"), body).await;
        assert_eq!(refused.problem(), (422, "validation_failed".to_owned()), "{refused:?}");
        assert_eq!(
            (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
            (format!("/{key}"), code.into()),
            "{refused:?}"
        );
    }
    assert_eq!((site.count("operations where kind = 'lock'").await, site.exactly_once().await.attention), (0, 0));
}
