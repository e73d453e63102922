//! Freezing an address: one person at once, one operation at a time, reported when final.

use muniment_activities::contract::registry::Roles;
use muniment_domain::operation::Status;
use muniment_domain::role::Role;
use muniment_domain::{Code, Error};
use muniment_workflows::operator::{abandon, mark_confirmed, retry};
use serde_json::json;
use world::{Database, Mining, on_both_databases};

use crate::foreign_key::execute_elsewhere;
use crate::installation::{Installation, Terms, wallet};

on_both_databases! {
    async fn a_freeze_is_confirmed_and_reported_and_can_be_repeated(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        let accepted = site.freeze(&server, "freeze-1", 0).await;
        assert_eq!((accepted.status, accepted.text("/status"), accepted.text("/type")), (202, "pending".into(), "freeze".into()));
        let address = wallet(0).to_checksum(None);
        assert_eq!(accepted.body["subject"], json!({ "type": "address", "id": address }));
        site.settled().await;
        let shown = server.get(accepted.headers["location"].to_str().unwrap()).await;
        assert_eq!((shown.text("/status"), shown.text("/steps/0/function")), ("confirmed".into(), "freezeAddress".into()));
        assert_eq!(shown.text("/arguments/cause/reason_code"), "sanctions");
        assert!(site.is_frozen(token, wallet(0)).await);
        assert!(!site.is_frozen(token, wallet(1)).await);
        // A second freeze succeeds on the chain, so it is confirmed.
        assert_eq!(site.freeze(&server, "freeze-2", 0).await.status, 202);
        site.settled().await;
        assert_eq!(site.count("operations where kind = 'freeze' and status = 'confirmed'").await, 2);
        let told = "select cast(sequence as text) from events where type = 'wallet.frozen' order by sequence";
        assert_eq!(site.rows(told).await, [["1"], ["2"]]);
        let replayed = site.freeze(&server, "freeze-1", 0).await;
        assert_eq!((replayed.text("/id"), site.count("operations where kind = 'freeze'").await), (accepted.text("/id"), 2));
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_subject_has_at_most_one_live_operation(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        site.lanes("paused").await;
        let bodies = (0..8).map(|number| {
            let (client, body) = (server.client(), site.about(json!({ "address": wallet(0).to_checksum(None) })));
            async move { client.post("/blockchain/freeze", &format!("freeze-{number}"), body).await.unwrap() }
        });
        let answers = futures::future::join_all(bodies).await;
        let accepted: Vec<_> = answers.iter().filter(|answer| answer.status == 202).map(|a| a.text("/id")).collect();
        assert_eq!(accepted.len(), 1, "{answers:?}");
        let busy = (409, "operation_in_progress".to_owned());
        assert!(answers.iter().all(|answer| answer.status == 202 || answer.problem() == busy), "{answers:?}");
        let lock = site.about(json!({ "address": wallet(0).to_checksum(None), "partition": "1", "quantity": "1.00",
            "release_at": "2045-01-01T00:00:00Z" }));
        let refused = server.post("/blockchain/lock", "lock", lock).await;
        assert_eq!(refused.problem(), busy);
        assert!(refused.text("/detail").contains(&accepted[0]), "{refused:?}");
        assert_eq!(site.freeze(&server, "another", 1).await.status, 202, "another address has its own live key");
        site.lanes("active").await;
        site.settled().await;
        assert!(site.is_frozen(token, wallet(0)).await && site.is_frozen(token, wallet(1)).await);
        assert_eq!((site.exactly_once().await.attention, site.count("operation_items where live").await), (0, 0));
    }

    async fn a_signer_without_its_role_is_reported_before_signing(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        site.set_roles(Roles::ISSUER).await;
        let accepted = site.freeze(&server, "freeze", 0).await;
        site.settled().await;
        let failed = server.get(accepted.headers["location"].to_str().unwrap()).await;
        assert_eq!((failed.text("/status"), failed.text("/error/code")), ("failed".into(), "reverts".into()));
        assert!(failed.text("/error/message").contains("compliance"), "{failed:?}");
        assert_eq!(failed.body["candidates"], json!([]), "no nonce was used");
        assert!(!site.is_frozen(token, wallet(0)).await);
        // Until an operator decides, no other operation on this address is accepted.
        let unfreeze = site.about(json!({ "address": wallet(0).to_checksum(None) }));
        assert_eq!(server.post("/blockchain/unfreeze", "again", unfreeze).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(site.exactly_once().await.attention, 1);
    }

    async fn a_freeze_takes_its_address_over_from_an_operation_that_failed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        let second = site.second_person(&server).await;
        let about = || site.about(json!({ "address": wallet(0).to_checksum(None) }));
        assert_eq!(site.freeze(&server, "first", 0).await.status, 202);
        site.settled().await;
        // The unfreeze fails for want of a role, and its cause ends.
        site.set_roles(Roles::ISSUER).await;
        let failed = server.request_and_approve(&second, "/blockchain/unfreeze", "unfreeze", about()).await;
        site.settled().await;
        let failed = format!("/blockchain/operations/{}", failed.text("/id"));
        assert_eq!(server.get(&failed).await.text("/status"), "failed");
        site.set_roles(Roles::ALL).await;
        let urgent = site.freeze(&server, "urgent", 0).await;
        assert_eq!(urgent.status, 202, "{urgent:?}");
        site.settled().await;
        assert_eq!(server.get(urgent.headers["location"].to_str().unwrap()).await.text("/status"), "confirmed");
        // The old unfreeze can no longer undo it: it is only abandoned.
        let retry = json!({ "reason": "a test" });
        let retried = server.post(&format!("{failed}/retry"), "retry", retry).await;
        assert_eq!((retried.problem(), retried.text("/current_status")), ((409, "invalid_state".to_owned()), "failed".to_owned()));
        assert_eq!(retried.body["allowed_transitions"], json!(["reconcile", "cancel"]));
        let bulk = json!({ "filter": { "type": "unfreeze" }, "dry_run": true });
        let bulk = server.post("/blockchain/operations/bulk-retry", "bulk", bulk).await;
        assert_eq!(bulk.text("/skipped/0/code"), "invalid_state", "{bulk:?}");
        let shown = server.get(&failed).await;
        assert_eq!(shown.text("/suggested_action/action"), "abandon");
        assert!(shown.text("/suggested_action/why").contains(&urgent.text("/id")), "{shown:?}");
        assert!(site.is_frozen(token, wallet(0)).await);
        let abandoned = server.post(&format!("{failed}/reconcile"), "abandon", json!({ "resolution": "abandon", "reason": "a test" })).await;
        assert_eq!((abandoned.status, abandoned.text("/resolution")), (200, "abandoned".to_owned()), "{abandoned:?}");
        server.request_and_approve(&second, "/blockchain/unfreeze", "new", about()).await;
        site.settled().await;
        assert!(!site.is_frozen(token, wallet(0)).await);
        assert_eq!((site.exactly_once().await.attention, site.count("operation_items where live").await), (0, 0));
    }

    async fn a_freeze_comes_after_an_unfreeze_that_may_still_be_included(database: Database) {
        let site = Installation::with_signers(database, Mining::Quick, &[Terms::free(1)], 2).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        let second = site.second_person(&server).await;
        assert_eq!(site.freeze(&server, "first", 0).await.status, 202);
        site.settled().await;
        site.stop_blocks().await;
        let about = site.about(json!({ "address": wallet(0).to_checksum(None) }));
        let stuck = server.request_and_approve(&second, "/blockchain/unfreeze", "unfreeze", about).await.text("/id");
        let signed = format!("operation_steps where operation_id = '{stuck}' and state = 'signed'");
        site.until("it is signed", async || site.count(&signed).await == 1).await;
        let dead = "status = 'dead_letter', error_stage = 'tracking', error_code = 'stuck', error_message = 'a test', failed_at = updated_at";
        site.write(&format!("update operations set {dead}, version = version + 1 where id = '{stuck}'")).await;
        let urgent = site.freeze(&server, "urgent", 0).await;
        assert_eq!(urgent.status, 202, "{urgent:?}");
        let lanes = format!("select lane_id from operations where id in ('{stuck}', '{}')", urgent.text("/id"));
        let lanes = site.rows(&lanes).await.concat();
        assert!(!lanes[0].is_empty() && lanes[0] == lanes[1], "the nonces decide the order: {lanes:?}");
        let shown = server.get(&format!("/blockchain/operations/{stuck}")).await;
        assert_eq!(shown.text("/suggested_action/action"), "cancel", "{shown:?}");
        site.resume_blocks().await;
        site.settled().await;
        assert!(site.is_frozen(token, wallet(0)).await);
    }

    async fn whoever_sees_a_freeze_confirmed_sees_it_in_the_next_read(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        site.minted(&server).await;
        let frozen = format!("/v1/offerings/{}/token/frozen/{}", site.offerings[0], wallet(0).to_checksum(None));
        let accepted = site.freeze(&server, "freeze", 0).await;
        let operation = accepted.headers["location"].to_str().unwrap().to_owned();
        // Each read keeps its block for a second, unless an operation is final in a later one.
        site.until("it is confirmed", async || {
            server.get(&frozen).await;
            server.get(&operation).await.text("/status") == "confirmed"
        })
        .await;
        assert_eq!(server.get(&frozen).await.body["isFrozen"], json!(true));
    }

    async fn a_failed_freeze_is_retried_abandoned_or_confirmed_by_proof(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let mut server = site.start().await;
        let token = site.minted(&server).await;
        site.set_roles(Roles::ISSUER).await;
        let mut ids = Vec::new();
        for holder in 0..3 {
            ids.push(site.freeze(&server, &format!("freeze-{holder}"), holder).await.text("/id"));
        }
        site.settled().await;
        server.process.kill();
        let fixture = site.engine_fixture(|_| {}).await;
        let (who, why) = ("operator", "a test");
        let proof = execute_elsewhere(&site, &ids[0]).await.parse().unwrap();
        site.anvil.mine(4).await;
        // The transaction that froze the first address proves nothing about the second.
        site.until("it is final", async || {
            let checks = mark_confirmed::verify(&fixture.engine, &ids[0].as_str().into(), proof).await.unwrap();
            checks.iter().all(|check| check.passed)
        })
        .await;
        let checks = mark_confirmed::verify(&fixture.engine, &ids[1].as_str().into(), proof).await.unwrap();
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).map(|check| check.name).collect();
        assert_eq!(failed, ["effect"]);
        let wrong = mark_confirmed::mark_confirmed(&fixture.engine, &ids[1].as_str().into(), proof, who, why).await;
        assert!(matches!(wrong, Err(Error::Refused { code: Code::ReconcileVerificationFailed, .. })), "{wrong:?}");
        mark_confirmed::mark_confirmed(&fixture.engine, &ids[0].as_str().into(), proof, who, why).await.unwrap();
        abandon::abandon(&fixture.engine, &ids[1].as_str().into(), who, why).await.unwrap();
        site.set_roles(Roles::ALL).await;
        retry::retry(&fixture.engine, &ids[2].as_str().into(), who, why).await.unwrap();
        site.settled().await;
        let statuses = [fixture.operation(&ids[0]).await.status, fixture.operation(&ids[2]).await.status];
        assert_eq!(statuses, [Status::Confirmed; 2]);
        let frozen = [site.is_frozen(token, wallet(0)).await, site.is_frozen(token, wallet(1)).await, site.is_frozen(token, wallet(2)).await];
        assert_eq!(frozen, [true, false, true]);
        assert_eq!(site.count("operation_items where live").await, 0);
        fixture.close().await;
    }

    async fn an_unfreeze_takes_two_people_and_never_overtakes_a_freeze(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let token = site.minted(&server).await;
        let body = site.about(json!({ "address": wallet(0).to_checksum(None), "case_reference": "Case 7" }));
        assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
        site.settled().await;
        let requested = server.post("/blockchain/unfreeze", "unfreeze", body.clone()).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "unfreeze".into()), "{requested:?}");
        assert_eq!(requested.headers["location"], format!("/v1/approvals/{}", requested.text("/approval/id")));
        assert_eq!(server.post("/blockchain/unfreeze", "twice", body.clone()).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(site.count("operations where kind = 'unfreeze'").await, 0, "nothing happens before the approval");
        // Both at once: the first holds the address, and the other is refused.
        let (frozen, freed) = futures::join!(site.freeze(&server, "freeze-again", 0), server.approve(&second, &requested));
        site.settled().await;
        match (frozen.status, freed.text("/status").as_str()) {
            (202, "execution_failed") => {
                assert!(site.is_frozen(token, wallet(0)).await);
                assert_eq!(freed.text("/error/code"), "operation_in_progress");
                server.request_and_approve(&second, "/blockchain/unfreeze", "unfreeze-again", body).await;
                site.settled().await;
            }
            (409, "executed") => assert_eq!(frozen.problem().1, "operation_in_progress"),
            other => panic!("{other:?}: {frozen:?} {freed:?}"),
        }
        assert!(!site.is_frozen(token, wallet(0)).await);
        assert_eq!(site.count("events where type = 'wallet.unfrozen'").await, 1);
        let done = site.rows("select requested_by from operations where kind = 'unfreeze'").await;
        assert_eq!(done, site.rows("select id from users where email = 'operator@test.example'").await, "the operation belongs to the requester");
        assert_eq!(site.exactly_once().await.attention, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_its_pointer_and_changes_nothing() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
    let (clerk, auditor) = (site.hire("clerk", Role::Operator).await, site.hire("auditor", Role::Auditor).await);
    let server = site.start().await;
    let token = site.minted(&server).await;
    let good = wallet(0).to_checksum(None);
    // One letter in the wrong case, as in a typing error.
    let (at, letter) = good.char_indices().skip(2).find(|(_, c)| c.is_ascii_lowercase()).unwrap();
    let wrong = format!("{}{}{}", &good[..at], letter.to_ascii_uppercase(), &good[at + 1..]);
    let signer = crate::installation::signer_of(world::KEYS[1]);
    let forbidden = "address_forbidden";
    for (address, code) in [
        (json!(wrong), "address_checksum"),
        (json!(format!("0x{}", good[2..].to_uppercase())), "address_checksum"),
        (json!("0x1234"), "address_format"),
        (json!(7), "type_mismatch"),
        (json!("0x0000000000000000000000000000000000000000"), forbidden),
        (json!(token), forbidden),
        (json!(signer), forbidden),
        (json!(site.platform.factory), forbidden),
        (json!(site.platform.registry), forbidden),
    ] {
        let refused = server
            .post(
                "/blockchain/freeze",
                &format!("{address}-{code}").replace([' ', '"'], ""),
                site.about(json!({ "address": address })),
            )
            .await;
        assert_eq!(refused.problem(), (422, "validation_failed".to_owned()), "{refused:?}");
        assert_eq!(
            (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
            ("/address".into(), code.into())
        );
    }
    let of = |key: &str, value: serde_json::Value| {
        let mut body = site.about(json!({ "address": good }));
        body[key] = value;
        body
    };
    for (key, body, pointer, code) in [
        ("a", of("reason_code", json!("because")), "/reason_code", "type_mismatch"),
        ("b", of("document_sha256", json!("0xab")), "/document_sha256", "digest_format"),
        ("c", of("case_reference", json!("")), "/case_reference", "reference_format"),
        ("d", of("colour", json!("red")), "/colour", "unknown_field"),
        ("e", of("offering_id", json!("off_1")), "/offering_id", "id_format"),
        ("f", json!({ "offering_id": site.offerings[0], "address": good }), "/reason_code", "required"),
    ] {
        let refused = server.post("/blockchain/freeze", key, body).await;
        assert_eq!(
            (refused.text("/errors/0/pointer"), refused.text("/errors/0/code")),
            (pointer.into(), code.into()),
            "{refused:?}"
        );
    }
    let unknown =
        server.post("/blockchain/freeze", "g", of("offering_id", json!("off_01jc0000000000000000000000"))).await;
    assert_eq!(unknown.problem(), (404, "not_found".to_owned()));
    let early = server.post("/blockchain/freeze", "h", of("offering_id", json!(site.offerings[1]))).await;
    assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "no token yet");
    for (key, code) in [(&clerk, "scope_insufficient"), (&auditor, "role_forbidden")] {
        let client = server.client().with_key(key);
        let refused = client.post("/blockchain/freeze", code, site.about(json!({ "address": good }))).await.unwrap();
        assert_eq!(refused.problem(), (403, code.to_owned()));
    }
    assert_eq!((site.count("operations where kind = 'freeze'").await, site.exactly_once().await.attention), (0, 0));
}
