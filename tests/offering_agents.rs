//! Agents of one offering: a signer that is named for one offering signs for that one only, and can do nothing in another's token.

use std::collections::BTreeSet;

use alloy::primitives::Bytes;
use muniment_activities::contract::registry::Roles;
use muniment_activities::token::{self, factory};
use serde_json::{Value, json};
use world::{Database, KEYS, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms, signer_of, wallet};

/// Two offerings, and two signers that are named for one of them each.
async fn with_an_agent_for_each(database: Database) -> (Installation, Server) {
    let mut site = Installation::with_signers(database, Mining::Quick, &[Terms::free(1), Terms::free(1)], 2).await;
    site.config.engine("observe_seconds", 1);
    for (key, offering) in [KEYS[1], KEYS[2]].into_iter().zip(&site.offerings) {
        site.set_roles_of(key, Roles(0)).await;
        site.set_roles_for(factory::offering_id(offering), key, Roles::ALL).await;
    }
    let mined = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
    site.anvil.mine(4).await;
    let server = site.start().await;
    site.until("the grants are final", async || {
        site.count(&format!("chains where final_number >= {mined}")).await == 1
    })
    .await;
    site.until("the roles are read", async || site.count("lanes where roles is not null").await == 2).await;
    let each = async || signers(&server).await.iter().all(|signer| signer["roles"].as_array().unwrap().len() == 2);
    site.until("the roles of the offerings are read", each).await;
    (site, server)
}

async fn signers(server: &Server) -> Vec<Value> {
    server.get("/blockchain/signers").await.body["data"].as_array().unwrap().clone()
}

/// Kind and subject of what a comparison of the chain finds about the roles of its signers.
async fn missing_roles(site: &Installation, server: &Server, key: &str) -> Vec<String> {
    let run = server.post("/blockchain/reconciliation-runs", key, json!({})).await;
    let path = run.headers["location"].to_str().unwrap().to_owned();
    site.until("the run is done", async || server.get(&path).await.text("/status") == "completed").await;
    let found = server.get(&format!("{path}?limit=100")).await.body["findings"]["data"].as_array().unwrap().clone();
    let named = found.iter().filter(|found| found["kind"] == "role_missing" || found["kind"] == "agent_missing");
    named.map(|found| format!("{} {}", found["kind"].as_str().unwrap(), found["subject"].as_str().unwrap())).collect()
}

on_both_databases! {
    async fn each_offering_is_served_by_its_own_agent(database: Database) {
        let (site, server) = with_an_agent_for_each(database).await;
        for signer in signers(&server).await {
            let place = usize::from(signer["address"] != signer_of(KEYS[1]).to_checksum(None));
            let expected = json!([
                { "offering_id": null, "roles": [] },
                { "offering_id": site.offerings[place], "roles": ["issuer", "custody", "payout", "compliance"] },
            ]);
            assert_eq!((&signer["roles"], &signer["is_agent"]), (&expected, &json!(true)), "{signer}");
        }
        for act in ["deploy", "mint"] {
            for offering in &site.offerings {
                let key = format!("{act}-{offering}");
                let accepted = if act == "deploy" { server.deploy(&key, offering).await } else { server.mint(&key, offering).await };
                assert_eq!(accepted.status, 202, "{accepted:?}");
            }
            site.settled().await;
        }
        for holder in 1..=4 {
            let body = json!({ "offering_id": site.offerings[holder % 2], "reason_code": "sanctions",
                "address": wallet(holder).to_checksum(None) });
            assert_eq!(server.post("/blockchain/freeze", &format!("freeze-{holder}"), body).await.status, 202);
        }
        site.settled().await;
        // By chance each of the eight would have the right one of two signers once in 256 runs.
        let done = "select o.offering_id, l.signer from operations o join lanes l on l.id = o.lane_id where o.status = 'confirmed'";
        let done = site.rows(done).await;
        assert_eq!(done.len(), 8, "{:?}", site.statuses().await);
        for [offering, signer] in done.into_iter().map(|row| <[String; 2]>::try_from(row).unwrap()) {
            let place = site.offerings.iter().position(|id| *id == offering).unwrap();
            assert_eq!(signer, format!("{:#x}", signer_of(KEYS[1 + place])));
        }
        // The contract refuses the other one's key.
        let [token] = site.tokens_of(&site.offerings[0]).await.try_into().unwrap();
        let wrong = token::freeze(signer_of(KEYS[2]), token.address, wallet(9), Bytes::new());
        let hash = site.sent_as(KEYS[2], token.address, wrong.data).await;
        assert_eq!(site.included(&hash).await["status"], "0x0");
    }

    async fn doctor_counts_the_offerings_of_an_agent(database: Database) {
        let (site, server) = with_an_agent_for_each(database).await;
        drop(server);
        site.set_roles_for(factory::offering_id(&site.offerings[1]), KEYS[2], Roles(0)).await;
        let (_, text) = site.launch(&["doctor"]).output();
        let named = |signer: u8| text.lines().find(|line| line.contains(&format!("signer {signer} roles"))).unwrap_or_default();
        assert!(named(1).starts_with("warn") && named(1).ends_with("agent of 1 offering only; on the platform: no role"), "{text}");
        assert!(named(2).starts_with("FAIL") && named(2).ends_with("agent of the platform: no role"), "{text}");
    }

    async fn an_offering_without_a_signer_is_found(database: Database) {
        let (site, server) = with_an_agent_for_each(database).await;
        for offering in &site.offerings {
            assert_eq!(server.deploy(&format!("deploy-{offering}"), offering).await.status, 202);
        }
        site.settled().await;
        assert_eq!(missing_roles(&site, &server, "own").await, [""; 0]);
        let [first, second] = [KEYS[1], KEYS[2]].map(|key| signer_of(key).to_checksum(None));
        let their = site.offerings.iter().map(|id| factory::offering_id(id)).collect::<Vec<_>>();
        let set = async |place: usize, key: &str, roles: Roles| {
            site.set_roles_for(their[place], key, roles).await;
            let mined = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
            site.until("it is final", async || site.count(&format!("chains where final_number >= {mined}")).await == 1).await;
        };
        set(1, KEYS[2], Roles::ISSUER).await;
        let partly = format!("role_missing {second} for {}", site.offerings[1]);
        assert_eq!(missing_roles(&site, &server, "partly").await, [partly]);
        set(1, KEYS[2], Roles(0)).await;
        let none = format!("role_missing every signer for {}", site.offerings[1]);
        assert_eq!(missing_roles(&site, &server, "none").await, [format!("agent_missing {second}"), none]);
        set(0, KEYS[1], Roles(0)).await;
        let both = [first, second].map(|signer| format!("agent_missing {signer}"));
        assert_eq!(missing_roles(&site, &server, "no-agent").await.iter().collect::<BTreeSet<_>>(), both.iter().collect());
    }

    async fn an_operation_waits_for_its_paused_agent(database: Database) {
        let (site, server) = with_an_agent_for_each(database).await;
        let first = format!("{:#x}", signer_of(KEYS[1]));
        assert_eq!(site.write(&format!("update lanes set mode = 'paused' where signer = '{first}'")).await, 1);
        for offering in &site.offerings {
            assert_eq!(server.deploy(&format!("deploy-{offering}"), offering).await.status, 202);
        }
        let (waits, done) = ("operations where blocked_reason like 'lane_paused%'", "operations where status = 'confirmed'");
        site.until("one waits", async || (site.count(waits).await, site.count(done).await) == (1, 1)).await;
        site.lanes("active").await;
        site.settled().await;
        assert_eq!(site.count(done).await, 2);
    }
}
