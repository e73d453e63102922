//! Signers: their chain values come from stored observations, and operators pause and resume them.

use alloy::primitives::{Address, Bytes};
use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{Installation, Server, Terms, signer_of};

async fn lane(server: &Server) -> Value {
    server.get("/blockchain/signers").await.body["data"][0].clone()
}

async fn set(server: &Server, key: &str, act: &str) -> crate::installation::Answer {
    let id = lane(server).await["id"].as_str().unwrap().to_owned();
    server.post(&format!("/blockchain/signers/{id}/{act}"), key, json!({ "reason": "a test" })).await
}

on_both_databases! {
    async fn chain_values_are_shown_with_their_time(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        site.config.engine("observe_seconds", 1);
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        let server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        site.until("the count is seen", async || lane(&server).await["chain_nonce_finalized"] == 1).await;
        let shown = lane(&server).await;
        assert_eq!(shown["address"], signer_of(KEYS[1]).to_checksum(None));
        for (field, value) in [("next_nonce", json!(1)), ("chain_nonce_latest", json!(1)), ("chain_nonce_pending", json!(1)),
            ("in_flight", json!(0)), ("is_agent", json!(true)), ("low_balance", json!(false)), ("lane_state", json!("active"))] {
            assert_eq!(shown[field], value, "{field}");
        }
        site.anvil.set_balance(&signer_of(KEYS[1]).to_string(), 1_000_000_000).await;
        site.set_roles(Roles(0)).await;
        site.until("the change is seen", async || lane(&server).await["is_agent"] == false).await;
        site.until("the balance is low", async || lane(&server).await["low_balance"] == true).await;
        assert_eq!(lane(&server).await["balance_wei"], "1000000000");
        let (low, seen) = ("events where type = 'lane.funds_low' and subject_type = 'lane'", lane(&server).await["observed_at"].clone());
        assert_eq!(site.count(low).await, 1, "operators are told");
        site.until("it is observed again", async || lane(&server).await["observed_at"] != seen).await;
        assert_eq!(site.count(low).await, 1, "once");
        proxy.add(Rule::new(Fault::Status(503)));
        let seen = lane(&server).await["observed_at"].clone();
        site.until("the chain is unavailable", async || site.count("chains where blocked_reason is not null").await == 1).await;
        assert_eq!(lane(&server).await["balance_wei"], "1000000000", "the response does not wait for the chain");
        assert!(lane(&server).await["observed_at"].as_str() >= seen.as_str());
    }

    async fn a_paused_lane_signs_nothing_and_finishes_signed_work(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        server.deploy("deploy-0", &site.offerings[0]).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
        let paused = set(&server, "pause", "pause").await;
        assert_eq!((paused.status, paused.text("/lane_state"), &paused.body["in_flight"]), (200, "paused".to_owned(), &json!(1)));
        assert!(paused.text("/lane_reason").ends_with(": a test"), "actor and reason: {}", paused.text("/lane_reason"));
        assert_eq!(set(&server, "pause-2", "pause").await.problem(), (409, "invalid_state".to_owned()));
        server.deploy("deploy-1", &site.offerings[1]).await;
        let waits = "operations where status = 'pending' and blocked_reason like 'lane_paused%'";
        site.until("the second waits", async || site.count(waits).await == 1).await;
        site.until("the first is confirmed", async || {
            site.anvil.mine(1).await;
            site.count("operations where status = 'confirmed'").await == 1
        })
        .await;
        assert_eq!(site.count("attempts").await, 1);
        assert_eq!(site.count("events where type = 'lane.paused'").await, 1);
        let resumed = set(&server, "resume", "resume").await;
        assert_eq!((resumed.status, resumed.text("/lane_state")), (200, "active".to_owned()), "{resumed:?}");
        assert_eq!(set(&server, "resume-2", "resume").await.problem(), (409, "invalid_state".to_owned()));
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 2).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 2);
    }

    async fn a_retry_on_a_paused_lane_says_what_it_waits_for_and_goes_on_after_it(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        assert_eq!(set(&server, "pause", "pause").await.status, 200);
        assert_eq!(server.retry("retry", &mint).await.status, 202);
        let path = format!("/blockchain/operations/{mint}");
        site.until("it says what it waits for", async || server.get(&path).await.text("/blocked_reason") == "lane_paused").await;
        assert_eq!(set(&server, "resume", "resume").await.status, 200);
        site.settled().await;
        assert_eq!(server.get(&path).await.text("/status"), "confirmed");
    }

    async fn a_lane_leaves_quarantine_with_counters_above_the_final_block(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let server = site.start().await;
        send(&site.anvil, KEYS[1], 0, Address::repeat_byte(7), Bytes::new()).await;
        site.anvil.mine(1).await;
        site.until("the lane is stopped", async || lane(&server).await["lane_state"] == "quarantined").await;
        assert_eq!(set(&server, "pause", "pause").await.problem(), (409, "invalid_state".to_owned()));
        let early = set(&server, "early", "resume").await;
        assert_eq!(early.problem(), (409, "nonce_still_open".to_owned()), "the foreign transaction is not final yet");
        site.anvil.mine(4).await;
        site.until("it is final", async || set(&server, "resume", "resume").await.status == 200).await;
        assert_eq!(lane(&server).await["next_nonce"], 1);
        server.deploy("deploy", &site.offerings[0]).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_lane_that_was_only_paused_resumes_without_reading_events(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        let server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
        site.finalised().await;
        assert_eq!(set(&server, "pause", "pause").await.status, 200);
        // A provider whose short ranges would make it thousands of calls.
        proxy.add(Rule::new(Fault::Status(503)).on(&["eth_getLogs"]));
        let resumed = set(&server, "resume", "resume").await;
        assert_eq!((resumed.status, resumed.text("/lane_state")), (200, "active".to_owned()), "{resumed:?}");
    }

    async fn a_caller_without_permission_cannot_pause_a_lane(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let auditor = site.key_of(Role::Auditor, "ops:read ops:write").await;
        let server = site.start().await;
        let id = lane(&server).await["id"].as_str().unwrap().to_owned();
        let client = server.client().with_key(&auditor);
        assert_eq!(client.get("/blockchain/signers").await.unwrap().status, 200, "an auditor may read");
        for act in ["pause", "resume"] {
            let path = format!("/blockchain/signers/{id}/{act}");
            let refused = client.post(&path, act, json!({ "reason": "x" })).await.unwrap();
            assert_eq!(refused.problem(), (403, "role_forbidden".to_owned()));
            let empty = server.post(&path, act, json!({ "reason": "" })).await;
            assert_eq!((empty.status, empty.text("/errors/0/pointer")), (422, "/reason".to_owned()));
            let unknown = format!("/blockchain/signers/lan_01jc0000000000000000000000/{act}");
            let unknown = server.post(&unknown, act, json!({ "reason": "x" })).await;
            assert_eq!(unknown.problem(), (404, "not_found".to_owned()));
        }
        assert_eq!(lane(&server).await["lane_state"], "active");
    }
}
