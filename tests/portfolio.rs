//! A portfolio: an investor's balances, claims and payments, and nobody else's.

use alloy::primitives::U256;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Answer, Installation, PayoutFixture, Person, Server, Terms, wallet};
use crate::recover::{NEW, PATH, recovery};

/// Logs in as the investor who owns a numbered wallet.
pub async fn holder(site: &Installation, server: &Server, number: usize) -> (Person, String) {
    let person = site.person(server, &format!("holder-{number}"), Role::Investor).await;
    let investor = site.rows(&format!("select investor_id from wallets where address = '{:#x}'", wallet(number))).await
        [0][0]
        .clone();
    site.write(&format!("delete from investors where user_id = '{}'", person.id)).await;
    site.write(&format!("update investors set user_id = '{}' where id = '{investor}'", person.id)).await;
    (person, investor)
}

async fn portfolio(person: &Person, investor: &str) -> Answer {
    person.get(&format!("/v1/investors/{investor}/portfolio")).await
}

on_both_databases! {
    async fn a_portfolio_equals_the_ledger_and_holds_own_data_only(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(2), Terms::free(1)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        let (ada, id) = holder(&site, &server, 0).await;
        let shown = portfolio(&ada, &id).await;
        assert_eq!((shown.status, shown.text("/investor_id")), (200, id.clone()), "{shown:?}");
        let held = &shown.body["holdings"][0];
        let units = site.balance_of(token, wallet(0)).await;
        assert_eq!(held["base_units"], json!(units.to_string()));
        for (name, value) in [
            ("offering_id", json!(site.offerings[0])), ("token_address", json!(token.to_checksum(None))), ("wallet_address", json!(wallet(0).to_checksum(None))),
            ("quantity", json!("1000.00")), ("locked_quantity", json!("1000.00")), ("transferable_quantity", json!("0.00")),
            ("cost_basis", json!("1000.00")), ("last_price", json!("1.00")), ("estimated_value", json!("1000.00")),
            ("value_source", json!("issue_price")), ("frozen", json!(false)), ("partition", json!("1")),
        ] {
            assert_eq!(held[name], value, "{name}: {held}");
        }
        let [(locked, release)] = site.tranches_of(token, wallet(0), 1).await.try_into().unwrap();
        assert_eq!(locked, units);
        let at = chrono::DateTime::parse_from_rfc3339(held["locks"][0]["release_at"].as_str().unwrap()).unwrap();
        assert_eq!((held["locks"][0]["quantity"].clone(), at.timestamp()), (json!("1000.00"), i64::try_from(release).unwrap()));
        assert_eq!(shown.body["holdings"].as_array().unwrap().len(), 1, "another investor's wallet");
        assert_eq!(shown.body["pending"][0]["offering_id"], json!(site.offerings[1]));
        let totals = json!({ "committed": "1000.00", "invested": "1000.00", "distributions_gross": "0.00", "withholding": "0.00", "distributions_net": "0.00" });
        assert_eq!((shown.body["currency"].clone(), &shown.body["totals"]), (json!("EUR"), &totals));
        assert!(shown.body["sync"]["block"].as_i64() >= held["synced_block"].as_i64() && shown.body["sync"]["stale"].is_boolean(), "{shown:?}");

        assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
        site.settled().await;
        let frozen = portfolio(&ada, &id).await;
        assert_eq!((frozen.body["holdings"][0]["frozen"].clone(), frozen.body["holdings"][0]["quantity"].clone()), (json!(true), json!("1000.00")));
        assert_eq!(ada.get("/v1/investor/profile").await.body["wallets"][0]["frozen_on"], json!([site.offerings[0]]));

        let (bruno, other) = holder(&site, &server, 1).await;
        assert_eq!(portfolio(&bruno, &other).await.body["holdings"][0]["quantity"], json!("1001.00"));
        let forbidden = (403, "forbidden".to_owned());
        let nobody = "inv_01jc0000000000000000000000";
        for foreign in [id.as_str(), nobody, "inv_1"] {
            assert_eq!(portfolio(&bruno, foreign).await.problem(), forbidden, "{foreign}");
        }
        for (name, role) in [("olga", Role::Operator), ("aude", Role::Auditor)] {
            let staff = site.person(&server, name, role).await;
            // The indexed block advances meanwhile.
            assert_eq!(portfolio(&staff, &id).await.body["holdings"][0]["base_units"], frozen.body["holdings"][0]["base_units"]);
            assert_eq!(portfolio(&staff, nobody).await.problem(), (404, "not_found".to_owned()));
        }
        let issuer = site.person(&server, "ines", Role::Issuer).await;
        assert_eq!(portfolio(&issuer, &id).await.problem(), (403, "role_forbidden".to_owned()));
        let anybody = server.anonymous().get(&format!("/v1/investors/{id}/portfolio")).await.unwrap();
        assert_eq!(anybody.problem(), (401, "token_missing".to_owned()));
    }

    async fn a_portfolio_lists_payments(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (ada, id) = holder(&fixture.site, &fixture.server, 1).await;
        let distribution = fixture.calculated("direct_payout", "200.10").await;
        // A cancelled distribution pays nobody.
        let wrong = fixture.calculated("direct_payout", "150.00").await;
        let cancel = fixture.server.post(&format!("/v1/distributions/{wrong}/cancel"), "cancel", json!({ "reason": "a mistake" })).await;
        assert_eq!(cancel.status, 200, "{cancel:?}");
        let year = fixture.chain_time().await[..4].to_owned();
        let olga = fixture.site.person(&fixture.server, "olga", Role::Operator).await;
        let reported = olga.get(&format!("/v1/reports/distributions?year={year}")).await;
        assert_eq!((reported.body["lines"].as_array().unwrap().len(), reported.text("/totals/0/net")), (2, "200.10".to_owned()), "{reported:?}");
        let before = portfolio(&ada, &id).await;
        assert_eq!(before.body["recent_distributions"].as_array().unwrap().len(), 1, "{before:?}");
        assert_eq!((before.text("/totals/distributions_net"), before.text("/recent_distributions/0/status")), ("0.00".into(), "calculated".into()));
        fixture.executed(&distribution).await;
        fixture.reaches(&distribution, "completed").await;
        let own = fixture.parts(&distribution).await.into_iter().find(|part| part.1 == wallet(1)).unwrap();
        let paid = format!("{}.{:02}", own.2 / 100, own.2 % 100);
        let shown = portfolio(&ada, &id).await;
        assert_eq!((shown.text("/totals/distributions_net"), shown.text("/totals/distributions_gross")), (paid.clone(), paid.clone()));
        let recent = &shown.body["recent_distributions"];
        assert_eq!((recent[0]["net_amount"].clone(), recent[0]["status"].clone(), recent.as_array().unwrap().len()), (json!(paid), json!("paid"), 1));
        assert!(recent[0]["tx_hash"].is_string() && shown.body["totals_by_currency"][0]["currency"] == json!("EUR"));
        assert_eq!(U256::from(fixture.cents(wallet(1)).await), U256::from(own.2));
        assert_eq!(shown.body["pending"], Value::Array(Vec::new()));
    }

    async fn a_wallet_lost_in_one_token_keeps_its_cost_and_locks_in_another(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::locked(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        site.minted(&server).await;
        let [lost_in, kept_in] = [0, 1].map(|number| site.offerings[number].clone());
        assert_eq!(server.deploy("deploy-other", &kept_in).await.status, 202);
        site.settled().await;
        assert_eq!(server.mint("mint-other", &kept_in).await.status, 202);
        site.settled().await;
        server.request_and_approve(&second, PATH, "recover", recovery(&site, &lost_in, NEW).await).await;
        site.settled().await;
        let (ada, id) = holder(&site, &server, 0).await;
        let shown = portfolio(&ada, &id).await;
        let all = shown.body["holdings"].as_array().unwrap();
        assert_eq!(all.len(), 2, "{shown:?}");
        for (offering, address, locks) in [(lost_in, NEW, 0), (kept_in, wallet(0), 1)] {
            let held = all.iter().find(|held| held["offering_id"] == json!(offering)).unwrap();
            let seen = (&held["wallet_address"], &held["cost_basis"], held["locks"].as_array().unwrap().len());
            assert_eq!(seen, (&json!(address.to_checksum(None)), &json!("1000.00"), locks), "{held}");
        }
    }
}
