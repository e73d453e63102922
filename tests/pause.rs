//! Pausing a token: one person at once, two people end it. Meanwhile nothing is minted or sold.

use alloy::primitives::{Address, Bytes};
use muniment_activities::token;
use muniment_domain::user::Role;
use serde_json::json;
use world::{KEYS, Mining, on_both_databases};

use crate::installation::{Installation, Terms, wallet};

on_both_databases! {
    async fn one_person_pauses_a_token_and_two_unpause_it(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let address = site.minted(&server).await;
        let operator = site.person(&server, "olga", Role::Operator).await;
        let offering = format!("/v1/offerings/{}", site.offerings[0]);
        let body = json!({ "offering_id": site.offerings[0], "reason_code": "investigation" });
        let early = server.post("/blockchain/unpause", "early", body.clone()).await;
        assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "it is not paused");
        let paused = server.post("/blockchain/pause", "pause", body.clone()).await;
        assert_eq!((paused.status, paused.text("/type")), (202, "pause".into()), "{paused:?}");
        assert_eq!(paused.body["subject"], json!({ "type": "offering", "id": site.offerings[0] }));
        site.settled().await;
        assert!(site.is_paused(address).await);
        let shown = operator.get(&offering).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("paused".to_owned(), "token_paused".to_owned()), "{shown:?}");
        assert_eq!(server.get(&format!("{offering}/token")).await.body["paused"], true);
        let (from, to) = (wallet(0).to_checksum(None), wallet(1).to_checksum(None));
        let asked = server.get(&format!("{offering}/token/can-transfer?from={from}&to={to}&partition=1&quantity=1")).await;
        assert_eq!((asked.body["allowed"].as_bool(), asked.text("/reason_code")), (Some(false), "paused".to_owned()), "{asked:?}");
        let mint = server.mint("mint-paused", &site.offerings[0]).await;
        assert_eq!(mint.problem(), (409, "invalid_state".to_owned()), "{mint:?}");
        let resume = async || operator.post(&format!("{offering}/resume"), json!({})).await;
        assert_eq!(resume().await.problem(), (409, "invalid_state".to_owned()));
        let ended = server.request_and_approve(&second, "/blockchain/unpause", "unpause", body).await;
        assert_eq!((ended.text("/type"), ended.text("/steps/0/function")), ("unpause".into(), "unpause".into()));
        site.settled().await;
        assert!(!site.is_paused(address).await);
        assert_eq!(resume().await.text("/status"), "open");
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_foreign_pause_pauses_the_offering_and_a_lost_one_is_found(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let address = site.minted(&server).await;
        let operator = site.person(&server, "olga", Role::Operator).await;
        let offering = format!("/v1/offerings/{}", site.offerings[0]);
        site.write("update offerings set status = 'open'").await;
        let elsewhere = async |data: Bytes| site.sent_as(KEYS[2], address, data).await;
        elsewhere(token::pause(Address::ZERO, address).data).await;
        site.until("the offering is paused", async || operator.get(&offering).await.text("/status") == "paused").await;
        assert_eq!(operator.get(&offering).await.text("/status_reason"), "token_paused");
        site.write("update token_partitions set restricted = false where partition_id = 0").await;
        let run = server.post("/blockchain/reconciliation-runs", "run", json!({ "offering_id": site.offerings[0] })).await;
        let path = run.headers["location"].to_str().unwrap().to_owned();
        site.until("the run is done", async || server.get(&path).await.text("/status") == "completed").await;
        let found = server.get(&path).await.body["findings"]["data"].clone();
        let pause: Vec<_> = found.as_array().unwrap().iter().filter(|found| found["kind"] == "pause").collect();
        assert_eq!(pause.len(), 1, "{found}");
        assert_eq!((&pause[0]["expected"], &pause[0]["actual"]), (&json!("not paused"), &json!("paused")));
    }
}
