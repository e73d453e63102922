//! An operator confirms an operation with proof or abandons it: each failed check is named, and one is enough to refuse.

use alloy::primitives::{Address, Bytes};
use muniment_activities::contract::registry::Roles;
use muniment_activities::token::factory;
use muniment_activities::{payout::coin, token};
use muniment_domain::clock::Clock;
use muniment_domain::user::Role;
use muniment_domain::{operation, step};
use muniment_workflows::engine::execution::{Executed, is_executed, trace};
use serde_json::{Value, json};
use world::{Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::foreign_key::{execute_elsewhere, send};
use crate::installation::{Answer, CHAIN_ID, Installation, PayoutFixture, Server, Terms, signer_of, wallet};

const UNKNOWN: &str = "0x0101010101010101010101010101010101010101010101010101010101010101";

async fn prove(server: &Server, key: &str, id: &str, hash: &str) -> Answer {
    server.act(key, id, "reconcile", json!({ "resolution": "mark_confirmed", "tx_hash": hash, "reason": "seen" })).await
}

/// Names of the failed checks; the response must list the passed ones too.
fn failed(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.problem(), (422, "reconcile_verification_failed".to_owned()), "{answer:?}");
    let checks = answer.body["checks"].as_array().unwrap();
    let failed = checks.iter().filter(|check| check["passed"] == false);
    failed.map(|check| check["name"].as_str().unwrap().to_owned()).collect()
}

async fn hash_of(site: &Installation, kind: &str) -> String {
    site.rows(&format!("select tx_hash from operations where kind = '{kind}' and status = 'confirmed'")).await[0][0]
        .clone()
}

on_both_databases! {
    async fn each_failed_check_alone_refuses_the_proof(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        assert_eq!(failed(&prove(&server, "unknown", &mint, UNKNOWN).await), ["receipt"]);
        let other = hash_of(&site, "deploy_token").await;
        assert_eq!(failed(&prove(&server, "other", &mint, &other).await), ["unclaimed", "effect"]);
        // Mining stops, so that new transactions do not become final, even if a block was under way.
        site.stop_blocks().await;
        let proof = execute_elsewhere(&site, &mint).await;
        site.anvil.mine(1).await;
        assert_eq!(failed(&prove(&server, "young", &mint, &proof).await), ["final"]);
        site.anvil.mine(4).await;
        site.read_up_to(&proof).await;
        let deployment = site.rows("select id from operations where kind = 'deploy_token'").await[0][0].clone();
        site.write(&format!("insert into claims (chain_id, tx_hash, operation_id, claimed_at) select chain_id, '{proof}', id, created_at from operations where id = '{deployment}'")).await;
        assert_eq!(failed(&prove(&server, "claimed", &mint, &proof).await), ["unclaimed"]);
        site.write("delete from claims").await;
        site.write(&format!("update operation_steps set state = 'included', block_number = 1, tx_hash = '{UNKNOWN}' where operation_id = '{mint}'")).await;
        assert_eq!(failed(&prove(&server, "open", &mint, &proof).await), ["nonce_closed"]);
        site.write(&format!("update operation_steps set state = 'unsigned', block_number = null, tx_hash = null where operation_id = '{mint}'")).await;
        let proved = prove(&server, "proof", &mint, &proof).await;
        assert_eq!((proved.status, proved.text("/status"), proved.text("/resolution")), (200, "confirmed".to_owned(), "confirmed_external".to_owned()), "{proved:?}");
        assert!(proved.body["checks"].as_array().unwrap().iter().all(|check| check["passed"] == true));
        assert_eq!(prove(&server, "proof", &mint, &proof).await.headers["idempotent-replayed"], "true");
        assert_eq!(prove(&server, "proof-2", &mint, &proof).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn a_sender_must_have_been_an_agent_in_that_block(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.anvil.rpc().call("evm_setAutomine", json!([false])).await;
        site.anvil.rpc().call("evm_setIntervalMining", json!([0])).await;
        let proof = execute_elsewhere(&site, &mint).await;
        site.until("it waits", async || site.anvil.rpc().number("eth_getBlockTransactionCountByNumber", json!(["pending"])).await == 1).await;
        // Later in the same block the agent loses its role.
        site.set_roles_of(KEYS[2], Roles(0)).await;
        site.anvil.mine(1).await;
        site.anvil.mine(4).await;
        site.read_up_to(&proof).await;
        assert_eq!(failed(&prove(&server, "proof", &mint, &proof).await), ["sender"]);
    }

    async fn a_sender_must_be_an_agent_of_the_offering(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        for offering in &site.offerings {
            assert_eq!(server.deploy(&format!("deploy-{offering}"), offering).await.status, 202);
        }
        site.settled().await;
        site.set_roles(Roles(0)).await;
        let mut mints = Vec::new();
        for offering in &site.offerings {
            mints.push(server.mint(&format!("mint-{offering}"), offering).await.text("/operations/0/id"));
        }
        site.settled().await;
        site.all_read().await;
        site.set_roles_for(factory::offering_id(&site.offerings[1]), KEYS[2], Roles::ALL).await;
        // The agent executes the first mint and loses its roles on the platform in the same block. It stays an agent of the other offering.
        site.stop_blocks().await;
        let foreign = execute_elsewhere(&site, &mints[0]).await;
        site.until("it waits", async || site.anvil.rpc().number("eth_getBlockTransactionCountByNumber", json!(["pending"])).await == 1).await;
        site.set_roles_of(KEYS[2], Roles(0)).await;
        site.anvil.mine(4).await;
        site.read_up_to(&foreign).await;
        assert_eq!(failed(&prove(&server, "foreign", &mints[0], &foreign).await), ["sender"]);
        let own = execute_elsewhere(&site, &mints[1]).await;
        site.until("it waits", async || site.anvil.rpc().number("eth_getBlockTransactionCountByNumber", json!(["pending"])).await == 1).await;
        site.anvil.mine(4).await;
        site.read_up_to(&own).await;
        let proved = prove(&server, "own", &mints[1], &own).await;
        assert_eq!((proved.status, proved.text("/status")), (200, "confirmed".to_owned()), "{proved:?}");
    }

    async fn an_unknown_payment_proves_nothing(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let first = fixture.calculated("direct_payout", "2.00").await;
        fixture.executed(&first).await;
        fixture.reaches(&first, "completed").await;
        // The page is refused, and then another agent executes it.
        let id = fixture.calculated("direct_payout", "20.00").await;
        fixture.site.set_roles(Roles(0)).await;
        let page = fixture.executed(&id).await.text("/operations/0/id");
        fixture.site.settled().await;
        assert_eq!(fixture.server.state(&page).await, ("failed".to_owned(), "reverts".to_owned()));
        let (agent, asset) = (signer_of(KEYS[2]), fixture.site.platform.coin);
        fixture.fund(agent, 100).await;
        fixture.send_as(KEYS[2], coin::approve(agent, asset, fixture.token)).await;
        let proof = execute_elsewhere(&fixture.site, &page).await;
        let receipt = async || fixture.site.anvil.rpc().call("eth_getTransactionReceipt", json!([proof])).await;
        fixture.site.until("it is included", async || !receipt().await.is_null()).await;
        let text = receipt().await["blockNumber"].as_str().unwrap().to_owned();
        let mined = u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let read = "select cast(block_number as text) from token_reads";
        fixture.site.until("it is final here", async || fixture.site.rows(read).await[0][0].parse::<u64>().unwrap() >= mined).await;
        let line = format!("operation_id = '{page}' and line_index = 1");
        let other = fixture.site.rows("select min(id) from operations where kind = 'payout'").await[0][0].clone();
        for (name, changed, restored) in [
            ("redirected", "payee_address = '0x0000000000000000000000000000000000000007'", "payee_address = wallet_address"),
            ("less", "gross = gross - 1, net = net - 1", "gross = gross + 1, net = net + 1"),
            ("given-up", "status = 'failed'", "status = 'queued'"),
            ("excluded", "status = 'excluded'", "status = 'queued'"),
            ("released", "status = 'calculated'", "status = 'queued'"),
            ("another-line", "line_index = 7", "line_index = 1"),
        ] {
            let entitlement = fixture.site.rows(&format!("select id from entitlements where {line}")).await[0][0].clone();
            let write = async |set: &str| {
                let sql = format!("update entitlements set {set} where id = '{entitlement}'");
                assert_eq!(fixture.site.write(&sql).await, 1);
            };
            write(changed).await;
            assert_eq!(failed(&prove(&fixture.server, name, &page, &proof).await), ["post_state"], "{name}");
            write(restored).await;
        }
        let entitlement = fixture.site.rows(&format!("select id from entitlements where {line}")).await[0][0].clone();
        let owned_by = |op: &str| format!("update entitlements set operation_id = '{op}' where id = '{entitlement}'");
        fixture.site.write(&owned_by(&other)).await;
        assert_eq!(failed(&prove(&fixture.server, "reissued", &page, &proof).await), ["post_state"]);
        fixture.site.write(&owned_by(&page)).await;
        let proved = prove(&fixture.server, "proof", &page, &proof).await;
        assert_eq!((proved.status, proved.text("/resolution")), (200, "confirmed_external".to_owned()), "{proved:?}");
        assert_eq!((fixture.shown(&id).await.text("/status"), fixture.sums_agree().await), ("completed".to_owned(), 4));
    }

    async fn a_reverted_transaction_proves_nothing(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.set_roles_of(KEYS[2], Roles(0)).await;
        let reverted = execute_elsewhere(&site, &mint).await;
        let names = async |key: &str| failed(&prove(&server, key, &mint, &reverted).await);
        site.until("it is final", async || {
            let key = site.anvil.rpc().number("eth_blockNumber", json!([])).await.to_string();
            !names(&key).await.contains(&"final".to_owned())
        })
        .await;
        assert_eq!(names("reverted").await, ["successful", "sender", "effect"]);
    }

    async fn an_undone_effect_proves_nothing(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        site.set_roles(Roles(0)).await;
        let freeze = site.freeze(&server, "freeze", 0).await.text("/id");
        site.settled().await;
        assert_eq!(server.state(&freeze).await, ("failed".to_owned(), "reverts".to_owned()));
        let proof = execute_elsewhere(&site, &freeze).await;
        // The proof holds until the freeze is lifted; then the same receipt proves nothing.
        let agent = json!([signer_of(KEYS[2]), "latest"]);
        let nonce = site.anvil.rpc().number("eth_getTransactionCount", agent).await;
        let undo = token::unfreeze(signer_of(KEYS[2]), token, wallet(0), Bytes::new());
        let undone = send(&site.anvil, KEYS[2], nonce.max(1), token, undo.data).await;
        site.anvil.mine(4).await;
        let names = async |hash: &str| {
            let key = format!("{hash}-{}", site.anvil.rpc().number("eth_blockNumber", json!([])).await);
            failed(&prove(&server, &key, &freeze, hash).await)
        };
        site.until("both are final", async || !names(&undone).await.contains(&"final".to_owned())).await;
        assert_eq!(names(&proof).await, ["post_state"]);
        // The ledger must also have the token's events of that receipt.
        site.write("update token_events set tx_hash = '0x00' where kind = 'freeze'").await;
        assert_eq!(names(&proof).await, ["post_state"]);
    }

    async fn a_call_of_another_contract_proves_nothing(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let agent = json!([signer_of(KEYS[2]), "latest"]);
        let nonce = site.anvil.rpc().number("eth_getTransactionCount", agent).await;
        let elsewhere = send(&site.anvil, KEYS[2], nonce, Address::repeat_byte(7), Bytes::new()).await;
        site.anvil.mine(4).await;
        let names = async || {
            let key = site.anvil.rpc().number("eth_blockNumber", json!([])).await.to_string();
            prove(&server, &key, &mint, &elsewhere).await
        };
        site.until("it is final", async || !failed(&names().await).contains(&"final".to_owned())).await;
        let proved = names().await;
        assert_eq!(failed(&proved), ["target", "effect"]);
        assert_eq!((proved.text("/checks/0/name"), proved.text("/checks/0/detail")), ("chain_id".to_owned(), "31337".to_owned()));
    }

    async fn disagreeing_endpoints_prove_nothing(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.chain("endpoints", &format!("[{:?}, {:?}]", site.anvil.url(), proxy.url()));
        site.config.chain("quorum", "2");
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let proof = execute_elsewhere(&site, &mint).await;
        site.anvil.mine(4).await;
        proxy.add(Rule::new(Fault::Null));
        let names = async |key: &str| failed(&prove(&server, key, &mint, &proof).await);
        site.until("it is final", async || {
            let key = site.anvil.rpc().number("eth_blockNumber", json!([])).await.to_string();
            names(&key).await == ["endpoints_agree"]
        })
        .await;
        proxy.heal();
        assert_eq!(prove(&server, "proof", &mint, &proof).await.status, 200);
    }

    async fn an_unsigned_operation_is_abandoned_and_an_executed_one_is_not(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let deploy = site.stuck(&server).await;
        let give_up = json!({ "resolution": "abandon", "reason": "no" });
        let open = server.act("open", &deploy, "reconcile", give_up.clone()).await;
        assert_eq!(open.problem(), (409, "nonce_still_open".to_owned()));
        site.finalised().await;
        let done = server.act("done", &deploy, "reconcile", give_up.clone()).await;
        assert_eq!(done.problem(), (409, "partial_effect".to_owned()));
        let retried = server.act("retry", &deploy, "reconcile", json!({ "resolution": "retry", "reason": "again" })).await;
        assert_eq!((retried.status, retried.text("/status")), (200, "confirmed".to_owned()), "{retried:?}");
        let late = server.act("late", &deploy, "reconcile", give_up).await;
        assert_eq!(late.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn one_endpoint_does_not_prove_that_nothing_was_executed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let before_the_token = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        let server = site.start().await;
        site.minted(&server).await;
        let id = site.rows("select id from operations where kind = 'mint'").await[0][0].clone();
        drop(server);
        let (proxy, other) = (FaultProxy::start(site.anvil.url(), 1), FaultProxy::start(site.anvil.url(), 2));
        for (endpoints, quorum) in [(vec![&proxy], 1), (vec![&proxy, &other], 1), (vec![&proxy, &other], 2)] {
            let engine = site
                .engine_at(Clock::System, |chain| {
                    chain.endpoints = endpoints.iter().map(|endpoint| endpoint.url().to_owned()).collect();
                    chain.quorum = quorum;
                })
                .await;
            let mut tx = engine.db.read().await.unwrap();
            let op = operation::find(&mut tx, &id.as_str().into()).await.unwrap();
            let step = step::of_operation(&mut tx, &op.id).await.unwrap().remove(0);
            drop(tx);
            let executed = async || is_executed(&engine, engine.network(CHAIN_ID).unwrap(), &op, &step).await;
            assert!(executed().await.unwrap());
            // The first endpoint stands still at a block before the token. What it says about that block must not count as "no".
            proxy.add(Rule::new(Fault::StandStill(before_the_token)));
            let answer = executed().await;
            assert!(!matches!(answer, Ok(false)), "{answer:?}");
            proxy.heal();
            // The first endpoint denies that there is a contract. The other one knows better, and without it a quorum of two has no answer.
            proxy.add(Rule::new(Fault::NoCode));
            assert_eq!(executed().await.unwrap(), endpoints.len() > 1);
            other.add(Rule::new(Fault::Error(-32000, "internal error".into())));
            let answer = executed().await;
            assert_eq!(answer.is_err(), quorum > 1, "{answer:?}");
            proxy.heal();
            other.heal();
            // The first endpoint shows another call under the operation number.
            proxy.add(Rule::new(Fault::OtherData));
            assert_eq!(executed().await.unwrap(), endpoints.len() > 1);
            // Its log contradicts the receipt that the block proves.
            let found = async || trace(&engine, engine.network(CHAIN_ID).unwrap(), &op, &step).await.unwrap();
            assert_eq!(matches!(found().await, Executed::Ours(_)), endpoints.len() > 1);
            assert!(!matches!(found().await, Executed::Other(_)));
            proxy.heal();
            assert!(matches!(found().await, Executed::Ours(_)));
            engine.db.close().await;
        }
    }

    async fn abandoning_a_mint_takes_an_approver(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let give_up = json!({ "resolution": "abandon", "reason": "the offering is over" });
        let requested = server.act("one", &mint, "reconcile", give_up.clone()).await;
        assert_eq!((requested.status, requested.text("/approval/status"), requested.text("/approval/action")), (202, "pending".to_owned(), "abandon".to_owned()), "{requested:?}");
        assert_eq!(requested.headers["location"], format!("/v1/approvals/{}", requested.text("/approval/id")));
        let twice = server.act("two", &mint, "reconcile", give_up.clone()).await;
        assert_eq!(twice.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(server.act("one", &mint, "reconcile", give_up).await.body, requested.body, "one key, one response");
        assert_eq!(site.count("operations where resolution is not null").await, 0, "nothing is abandoned yet");
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        assert_eq!(server.retry("retry", &mint).await.status, 202, "until then it can be retried");
        site.settled().await;
        assert_eq!(server.state(&mint).await.0, "confirmed");
    }

    async fn an_invalid_resolution_is_refused(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let auditor = site.key_of(Role::Auditor, "ops:read ops:write").await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        for (body, pointer) in [
            (json!({ "resolution": "mark_confirmed", "reason": "x" }), "/tx_hash"),
            (json!({ "resolution": "mark_confirmed", "reason": "x", "tx_hash": "0x12" }), "/tx_hash"),
            (json!({ "resolution": "mark_confirmed", "reason": "x", "tx_hash": UNKNOWN.trim_start_matches("0x") }), "/tx_hash"),
            (json!({ "resolution": "abandon", "reason": "x", "tx_hash": UNKNOWN }), "/tx_hash"),
            (json!({ "resolution": "abandon" }), "/reason"),
            (json!({ "resolution": "forget", "reason": "x" }), "/resolution"),
        ] {
            let answer = server.act("bad", &mint, "reconcile", body).await;
            assert_eq!((answer.status, answer.text("/errors/0/pointer")), (422, pointer.to_owned()), "{answer:?}");
        }
        let path = format!("/blockchain/operations/{mint}/reconcile");
        let body = json!({ "resolution": "retry", "reason": "x" });
        let refused = server.client().with_key(&auditor).post(&path, "x", body).await.unwrap();
        assert_eq!(refused.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!((server.state(&mint).await.0, Value::Null), ("failed".to_owned(), Value::Null));
    }
}
