//! Minting through the API: every accepted subscription once, in pages, and the ledger equals the chain.

use alloy::primitives::U256;
use muniment_domain::operation::Status;
use serde_json::json;
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms, later};

async fn deployed(site: &Installation) -> Server {
    let server = site.start().await;
    for (number, offering) in site.offerings.iter().enumerate() {
        assert_eq!(server.deploy(&format!("deploy-{number}"), offering).await.status, 202);
    }
    site.settled().await;
    server
}

/// Compares every subscription that the API shows with its wallet's balance on the chain.
async fn shown_equals_the_chain(site: &Installation, server: &Server, offering: &str, locked: bool) -> usize {
    let [token] = site.tokens_of(offering).await.try_into().unwrap();
    let listed = server.get(&format!("/v1/offerings/{offering}/subscriptions?limit=50")).await;
    for subscription in listed.body["data"].as_array().unwrap() {
        assert_eq!((&subscription["status"], &subscription["mint"]["status"]), (&json!("minted"), &json!("minted")));
        let hash = subscription["mint"]["tx_hash"].as_str().unwrap();
        let receipt = site.anvil.rpc().call("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!(receipt["status"], "0x1");
        let block = subscription["mint"]["block_number"].as_u64().unwrap();
        assert_eq!(receipt["blockNumber"], format!("{block:#x}"));
        assert_eq!(subscription["mint"]["lock_release_at"].is_string(), locked);
    }
    let holders = server.get(&format!("/v1/offerings/{offering}/holders?limit=50")).await;
    for holder in holders.body["data"].as_array().unwrap() {
        let account = holder["wallet_address"].as_str().unwrap().parse().unwrap();
        let units: U256 = holder["base_units"].as_str().unwrap().parse().unwrap();
        assert!(units > U256::ZERO);
        assert_eq!(site.balance_of(token.address, account).await, units);
        let expected = if locked { units } else { U256::ZERO };
        assert_eq!(site.locked_of(token.address, account).await, expected);
        assert_eq!(holder["locked_base_units"], expected.to_string());
    }
    assert_eq!(listed.body["data"].as_array().unwrap().len(), holders.body["data"].as_array().unwrap().len());
    listed.body["data"].as_array().unwrap().len()
}

on_both_databases! {
    async fn every_accepted_subscription_is_minted_in_pages_with_and_without_a_lockup(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(11), Terms::locked(11)]).await;
        site.config.engine("mint_page_holders", 4);
        let server = deployed(&site).await;
        for (number, offering) in site.offerings.iter().enumerate() {
            let accepted = server.mint(&format!("mint-{number}"), offering).await;
            assert_eq!((accepted.status, accepted.body["operations"].as_array().unwrap().len()), (202, 3), "{accepted:?}");
            let batch = server.get(accepted.headers["location"].to_str().unwrap()).await;
            assert_eq!(batch.body["data"].as_array().unwrap().len(), 3);
        }
        site.settled().await;
        for (offering, locked) in site.offerings.iter().zip([false, true]) {
            assert_eq!(shown_equals_the_chain(&site, &server, offering, locked).await, 11);
        }
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (2, 6, 0));
        assert_eq!(site.count("mint_checks join operations using (batch_id) join operation_items on operation_id = id where checks <> '[]'").await, 22);
    }

    async fn an_ineligible_subscription_is_skipped_with_its_reason(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(7)]).await;
        let ids = site.rows("select id from subscriptions order by id").await.concat();
        for (change, id) in [
            ("wallet_address = null", &ids[0]),
            ("quantity = null", &ids[1]),
            ("status = 'binding'", &ids[2]),
        ] {
            assert_eq!(site.write(&format!("update subscriptions set {change} where id = '{id}'")).await, 1);
        }
        let doubtful = "select investor_id from subscriptions where id = ";
        site.write(&format!("update investors set kyc_status = 'expired' where id = ({doubtful}'{}')", ids[3])).await;
        let (server, offering) = (deployed(&site).await, &site.offerings[0]);
        let unknown = "sub_01jc0000000000000000000000".to_owned();
        let named = [&ids[..6], std::slice::from_ref(&unknown)].concat();
        let body = json!({ "offering_id": offering, "subscription_ids": named });
        let accepted = server.post("/blockchain/trigger-mint", "mint-1", body.clone()).await;
        assert_eq!(accepted.status, 202, "{accepted:?}");
        let skipped = |body: &serde_json::Value, id: &str| {
            let found = body["skipped"].as_array().unwrap().iter().find(|s| s["subscription_id"] == id).cloned();
            found.map(|s| s["code"].as_str().unwrap().to_owned())
        };
        let codes = [&ids[0], &ids[1], &ids[2], &ids[3], &unknown].map(|id| skipped(&accepted.body, id).unwrap());
        assert_eq!(codes, ["wallet_required", "quantity_missing", "not_accepted", "kyc_required", "not_found"]);
        assert_eq!(accepted.body["operations"][0]["subscription_ids"], json!([ids[4], ids[5]]));
        // A second mint may take the rest; subscriptions of the first mint are not available.
        let rest = server.mint("mint-2", offering).await;
        assert_eq!(rest.body["operations"][0]["subscription_ids"], json!([ids[6]]), "{rest:?}");
        site.settled().await;
        let again = server.post("/blockchain/trigger-mint", "mint-3", body).await;
        assert_eq!(again.problem(), (409, "nothing_to_mint".to_owned()));
        for (code, id) in [("1 wallet_required", &ids[0]), ("2 already_minted", &ids[4]), ("1 not_found", &unknown)] {
            assert!(again.text("/detail").contains(&format!("{code} (such as {id})")), "{again:?}");
        }
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 3);
        assert_eq!(site.exactly_once().await.minted, 2);
    }

    async fn eligibility_is_rechecked_before_mint(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(5)]).await;
        let ids = site.rows("select id from subscriptions order by id").await.concat();
        site.write("update offerings set accreditation_required = true, blocked_countries = 'FR'").await;
        site.write("update investors set accreditation_status = 'verified'").await;
        for (table, change, key, id) in [
            ("investors", "country = 'FR'", "id", &ids[0]),
            ("investors", "accreditation_expires_at = created_at", "id", &ids[1]),
            ("investors", "sanctions_status = 'hit'", "id", &ids[2]),
            ("wallets", "retired_at = created_at", "investor_id", &ids[3]),
        ] {
            let sql = format!("update {table} set {change} where {key} = (select investor_id from subscriptions where id = '{id}')");
            assert_eq!(site.write(&sql).await, 1);
        }
        let (server, offering) = (deployed(&site).await, &site.offerings[0]);
        let accepted = server.mint("mint", offering).await;
        assert_eq!(accepted.status, 202, "{accepted:?}");
        let codes: Vec<_> = accepted.body["skipped"].as_array().unwrap().iter().map(|s| s["code"].as_str().unwrap()).collect();
        assert_eq!(codes, ["country_blocked", "accreditation_required", "sanctions_not_clear", "wallet_retired"]);
        assert_eq!(site.rows("select subject_id from operation_items").await.concat(), [ids[4].clone()]);
        site.settled().await;
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 1);
        let event = site.rows("select cast(data as text) from events where type = 'subscription.minted'").await.concat().concat();
        let event: serde_json::Value = serde_json::from_str(&event).unwrap();
        // A unit costs a cent.
        let units = site.rows(&format!("select quantity from subscriptions where id = '{}'", ids[4])).await[0][0].clone();
        let amount = format!("{}.{}", &units[..4], &units[4..]);
        assert_eq!((&event["offering_id"], &event["amount"], &event["currency"], &event["quantity"]), (&json!(offering), &json!(amount), &json!("EUR"), &json!(units)));
        assert!(event["investor_id"].is_string() && event["tx_hash"].is_string(), "{event}");
    }

    async fn nothing_is_minted_to_a_frozen_wallet(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let (server, offering) = (deployed(&site).await, &site.offerings[0]);
        assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
        site.settled().await;
        let accepted = server.mint("mint", offering).await;
        assert_eq!((accepted.status, accepted.text("/skipped/0/code")), (202, "address_frozen".to_owned()), "{accepted:?}");
        site.settled().await;
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 1);
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn a_mint_never_locks_for_less_time_than_the_terms(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(1)]).await;
        let (server, offering) = (deployed(&site).await, &site.offerings[0]);
        let until = async |key: &str, at: String| server.post("/blockchain/trigger-mint", key, json!({ "offering_id": offering, "lockup": { "release_at": at } })).await;
        assert_eq!(until("short", later(364)).await.field(), (422, "/lockup/release_at".to_owned(), "below_minimum".to_owned()));
        assert_eq!(until("same", server.get(&format!("/v1/offerings/{offering}")).await.text("/lockup_release_at")).await.status, 202);
    }

    async fn pages_fit_the_gas_limit_of_the_chain(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::locked(9)]).await;
        site.config.chain("gas_cap", "350000");
        let (server, offering) = (deployed(&site).await, &site.offerings[0]);
        let accepted = server.mint("mint", offering).await;
        let pages = accepted.body["operations"].as_array().unwrap();
        let sizes: Vec<_> = pages.iter().map(|page| page["subscription_ids"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, [4, 4, 1], "four fit with their margin");
        site.settled().await;
        assert_eq!((site.exactly_once().await.minted, site.count("subscriptions where status = 'minted'").await), (3, 9));
    }

    async fn a_concurrent_cancel_and_mint_leave_one_outcome(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1); 5]).await;
        let fixture = site.engine_fixture(|_| {}).await;
        for offering in &site.offerings {
            fixture.deploy(offering).await;
        }
        site.settled().await;
        for (number, offering) in (0u64..).zip(&site.offerings) {
            let mint = fixture.mint(offering).await;
            // Each round ends a little later: before the operation is prepared, signed, sent or included.
            tokio::time::sleep(std::time::Duration::from_millis(number * 8)).await;
            let cancelled = muniment_workflows::operator::cancel::cancel(&fixture.engine, &mint.as_str().into(), "operator", "a race").await;
            site.settled().await;
            let op = fixture.operation(&mint).await;
            let minted = site.count(&format!("subscriptions where status = 'minted' and offering_id = '{offering}'")).await;
            assert_eq!(minted == 1, op.status == Status::Confirmed, "{cancelled:?}: {op:?}");
            assert!(op.status == Status::Confirmed || cancelled.is_ok(), "{cancelled:?}: {op:?}");
        }
        site.exactly_once().await;
        fixture.close().await;
    }

    async fn concurrent_mints_never_share_a_subscription(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(8)]).await;
        site.config.engine("mint_page_holders", 4);
        let (server, offering) = (deployed(&site).await, site.offerings[0].clone());
        let requested = (0..8).map(|number| {
            let (client, body) = (server.client(), json!({ "offering_id": offering }));
            async move { client.post("/blockchain/trigger-mint", &format!("mint-{number}"), body).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let accepted = answers.iter().filter(|answer| answer.status == 202).count();
        assert_eq!(accepted, 1, "{answers:?}");
        let refusals = ["nothing_to_mint", "operation_in_progress"];
        assert!(answers.iter().all(|a| a.status == 202 || refusals.contains(&a.text("/code").as_str())), "{answers:?}");
        site.settled().await;
        assert_eq!((site.exactly_once().await.minted, site.count("operations where kind = 'mint'").await), (2, 2));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_changes_nothing() {
    let database = Database::fresh(world::Engine::Sqlite).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
    let (server, path, offering) = (site.start().await, "/blockchain/trigger-mint", site.offerings[0].clone());
    let early = server.mint("early", &offering).await;
    assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "no token yet");
    server.deploy("deploy", &offering).await;
    site.settled().await;
    let past = json!({ "offering_id": offering, "lockup": { "release_at": "2001-01-01T00:00:00Z" } });
    let far = json!({ "offering_id": offering, "lockup": { "release_at": "2099-01-01T00:00:00Z" } });
    let nobody = json!({ "offering_id": offering, "subscription_ids": [] });
    let wrong = json!({ "offering_id": offering, "subscription_ids": ["sub_7"] });
    let strange = json!({ "offering_id": offering, "amount": 7 });
    for (key, body) in [("a", past), ("f", far), ("b", nobody), ("c", wrong), ("d", strange)] {
        let refused = server.post(path, key, body).await;
        assert_eq!(refused.problem(), (422, "validation_failed".to_owned()), "{refused:?}");
    }
    let other = site.rows(&format!("select id from subscriptions where offering_id = '{}'", site.offerings[1])).await;
    let foreign = json!({ "offering_id": offering, "subscription_ids": other[0] });
    assert_eq!(server.post(path, "e", foreign).await.problem(), (409, "nothing_to_mint".to_owned()));
    assert_eq!(site.count("operations where kind = 'mint'").await, 0);
    assert_eq!(site.exactly_once().await.minted, 0);
}

on_both_databases! {
    async fn one_idempotency_key_works_once_on_each_path(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let deployed = server.deploy("the-same", &site.offerings[0]).await;
        site.settled().await;
        let minted = server.mint("the-same", &site.offerings[0]).await;
        assert_eq!((deployed.status, minted.status), (202, 202), "{minted:?}");
        site.settled().await;
        let operation = server.get(&format!("/blockchain/operations/{}", minted.text("/operations/0/id"))).await;
        assert_eq!(operation.text("/idempotency_key"), "the-same");
        // After a day the stored response is deleted, but the key stays used on its own path.
        site.write("delete from idempotency_keys").await;
        let again = server.mint("the-same", &site.offerings[0]).await;
        assert_eq!(again.problem(), (409, "idempotency_key_spent".to_owned()));
        assert_eq!(again.text("/resource"), format!("/blockchain/operations/{}", operation.text("/id")));
        assert_eq!(site.exactly_once().await.minted, 1);
    }
}
