//! Deploying a token through the API: accepted once, confirmed when final, never twice.

use muniment_domain::contract::{self, Kind};
use muniment_domain::point::Point;
use serde_json::json;
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn a_deployment_is_accepted_followed_and_confirmed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let (server, offering) = (site.start().await, &site.offerings[0]);
        let accepted = server.deploy("deploy-1", offering).await;
        assert_eq!((accepted.status, accepted.text("/status")), (202, "pending".to_owned()), "{accepted:?}");
        let location = accepted.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(location, format!("/blockchain/operations/{}", accepted.text("/id")));
        site.until("confirmed", async || server.get(&location).await.text("/status") == "confirmed").await;
        let [token] = site.tokens_of(offering).await.try_into().unwrap();
        let shown = server.get(&format!("/v1/offerings/{offering}")).await;
        let expected = json!({
            "status": "deployed", "contractAddress": token.address.to_checksum(None), "chainId": 31337, "txHash": token.tx_hash,
            "predicted_address": token.address.to_checksum(None),
        });
        assert_eq!(shown.body["tokenDeployment"], expected);
        assert_eq!(shown.body["blockchain"]["token_address"], expected["contractAddress"]);
        let operation = server.get(&location).await;
        let moves: Vec<_> = operation.body["history"].as_array().unwrap().iter().map(|m| m["to"].clone()).collect();
        assert_eq!(moves, ["pending", "submitted", "confirmed"]);
        assert_eq!((operation.text("/tx_hash"), &operation.body["candidates"][0]["nonce"]), (token.tx_hash, &json!(0)));
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_second_deployment_is_refused_before_and_after_the_first_is_final(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let (server, offering) = (site.start().await, &site.offerings[0]);
        assert_eq!(server.deploy("deploy-1", offering).await.status, 202);
        let meanwhile = server.deploy("deploy-2", offering).await;
        assert_eq!(meanwhile.problem(), (409, "operation_in_progress".to_owned()));
        site.settled().await;
        let later = server.deploy("deploy-3", offering).await;
        assert_eq!(later.problem(), (409, "token_already_deployed".to_owned()));
        let replayed = server.deploy("deploy-1", offering).await;
        assert_eq!((replayed.status, &replayed.headers["idempotent-replayed"]), (202, &"true".parse().unwrap()));
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("operations").await, 1);
    }

    async fn a_token_has_the_requested_terms_at_the_predicted_address(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let (server, offering, path) = (site.start().await, &site.offerings[0], "/blockchain/deploy-token");
        let hard_cap = "5000000000";
        for (key, terms, pointer, code) in [
            ("a", json!({ "caps": { "supply_units": "4999999999" } }), "/caps/supply_units", "below_minimum"),
            ("b", json!({ "caps": { "supply_units": "05" } }), "/caps/supply_units", "units_format"),
            ("c", json!({ "caps": { "supply_units": "79228162514264337593543950336" } }), "/caps/supply_units", "units_format"),
            ("d", json!({ "caps": { "holder_cap": 0 } }), "/caps/holder_cap", "below_minimum"),
            ("e", json!({ "partitions": [] }), "/partitions", "count_out_of_range"),
            ("f", json!({ "partitions": vec![json!({}); 33] }), "/partitions", "count_out_of_range"),
            ("g", json!({ "partitions": [{ "cap_units": "7" }] }), "/partitions", "below_minimum"),
            ("h", json!({ "partitions": [{ "cap_units": "5000000001" }] }), "/partitions", "above_maximum"),
            ("i", json!({ "symbol": "toolongasymbol" }), "/symbol", "symbol_format"),
            ("j", json!({ "name": "  x " }), "/name", "length_out_of_range"),
            ("k", json!({ "partitions": [{ "cap": "7" }] }), "/partitions/0/cap", "unknown_field"),
        ] {
            let mut body = json!({ "offering_id": offering });
            body.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
            let refused = server.post(path, key, body).await;
            assert_eq!(refused.problem(), (422, "validation_failed".to_owned()), "{refused:?}");
            assert_eq!((refused.text("/errors/0/pointer").as_str(), refused.text("/errors/0/code").as_str()), (pointer, code));
        }
        assert_eq!(site.count("operations").await, 0);
        let body = json!({ "offering_id": offering, "name": "House A", "symbol": "HOUSEA", "caps": { "supply_units": "6000000000",
            "holder_cap": 2 }, "partitions": [{ "cap_units": hard_cap }, { "restricted": true }] });
        let accepted = server.post(path, "deploy", body).await;
        assert_eq!(accepted.status, 202, "{accepted:?}");
        let predicted = accepted.text("/predicted_address");
        assert_eq!(server.get(&format!("/v1/offerings/{offering}")).await.text("/tokenDeployment/predicted_address"), predicted);
        site.settled().await;
        let [token] = site.tokens_of(offering).await.try_into().unwrap();
        assert_eq!(token.address.to_checksum(None), predicted);
        let shown = server.get(&format!("/v1/offerings/{offering}")).await;
        let is = |pointer: &str| shown.body.pointer(pointer).cloned().unwrap();
        assert_eq!([is("/blockchain/token_name"), is("/token_symbol"), is("/blockchain/supply_units")], ["House A", "HOUSEA", "6000000000"]);
        assert_eq!([is("/blockchain/holder_cap"), is("/blockchain/partition_count")], [2, 2]);
        assert_eq!(site.symbol_of(token.address).await, "HOUSEA");
        // Of three accepted subscriptions the third exceeds the cap.
        let minted = server.mint("mint", offering).await;
        assert_eq!(minted.body["operations"][0]["subscription_ids"].as_array().unwrap().len(), 2);
        assert_eq!(minted.text("/skipped/0/code"), "holder_cap_reached");
        site.settled().await;
        let more = server.mint("more", offering).await;
        assert_eq!(more.problem(), (409, "nothing_to_mint".to_owned()));
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn one_of_many_concurrent_deployments_is_accepted(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let (server, offering) = (site.start().await, site.offerings[0].clone());
        let requested = (0..12).map(|number| {
            let (client, body) = (server.client(), json!({ "offering_id": offering }));
            async move { client.post("/blockchain/deploy-token", &format!("key-{number}"), body).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let accepted = answers.iter().filter(|answer| answer.status == 202).count();
        let refused = answers.iter().filter(|answer| answer.problem() == (409, "operation_in_progress".to_owned())).count();
        assert_eq!((accepted, refused), (1, 11), "{answers:?}");
        site.settled().await;
        assert_eq!((site.exactly_once().await.deployed, site.count("operations").await), (1, 1));
    }

    async fn fifty_concurrent_requests_with_one_key_have_one_effect(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let (server, offering) = (site.start().await, site.offerings[0].clone());
        let requested = (0..50).map(|_| {
            let (client, body) = (server.client(), json!({ "offering_id": offering }));
            async move { client.post("/blockchain/deploy-token", "the-same", body).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let busy = (409, "idempotency_in_progress".to_owned());
        assert!(answers.iter().all(|answer| answer.status == 202 || answer.problem() == busy), "{answers:?}");
        let mut ids: Vec<_> = answers.iter().filter(|a| a.status == 202).map(|a| a.text("/id")).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "every 202 names the same operation");
        assert_eq!(server.deploy("the-same", &offering).await.text("/id"), ids[0]);
        site.settled().await;
        assert_eq!((site.exactly_once().await.deployed, site.count("operations").await), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_changes_nothing() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
    let (server, path) = (site.start().await, "/blockchain/deploy-token");
    let client = server.client();
    let good = json!({ "offering_id": site.offerings[0] }).to_string();
    let missing = json!({ "offering_id": "off_01jc0000000000000000000000" }).to_string();
    for (key, body, status, code) in [
        (Some("a"), "{\"offering_id\":", 400, "malformed_json"),
        (Some("b"), "{}", 422, "validation_failed"),
        (Some("c"), "{\"offering_id\":\"off_1\"}", 422, "validation_failed"),
        (Some("d"), "{\"offering_id\":\"off_01jc0000000000000000000000\",\"colour\":1}", 422, "validation_failed"),
        (Some("e"), missing.as_str(), 404, "not_found"),
        (None, good.as_str(), 400, "idempotency_key_required"),
        (Some("has space"), good.as_str(), 400, "idempotency_key_invalid"),
    ] {
        let answer = client.post_text(path, key, body.to_owned()).await.unwrap();
        assert_eq!(answer.problem(), (status, code.to_owned()), "{body}: {answer:?}");
    }
    let nobody = server.client().with_key("").post_text(path, Some("f"), good.clone()).await.unwrap();
    assert_eq!(nobody.problem(), (401, "token_missing".to_owned()));
    let stranger = server.client().with_key("rap_live_00").post_text(path, Some("g"), good.clone()).await.unwrap();
    assert_eq!(stranger.problem(), (401, "token_invalid".to_owned()));
    assert_eq!(client.post_text(path, Some("h"), good).await.unwrap().status, 202);
    let reused = client.post_text(path, Some("h"), missing).await.unwrap();
    assert_eq!(reused.problem(), (422, "idempotency_key_reuse".to_owned()));
    site.settled().await;
    assert_eq!((site.count("operations").await, site.exactly_once().await.deployed), (1, 1));
}

on_both_databases! {
    async fn the_configured_factory_deploys_the_token(database: Database) {
        let db = crate::installation::open(&database.url()).await;
        let [first, second] = [1, 2].map(alloy::primitives::Address::repeat_byte);
        for (configured, expected) in [(first, first), (second, second), (first, first)] {
            let mut tx = db.begin().await.unwrap();
            contract::configure(&mut tx, 1, configured, Kind::Factory).await.unwrap();
            tx.commit(Point::Contact).await.unwrap();
            let mut tx = db.read().await.unwrap();
            assert_eq!(contract::only(&mut tx, 1, Kind::Factory).await.unwrap(), expected);
        }
        db.close().await;
    }
}
