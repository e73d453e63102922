//! A subscription through the API, from the specification's request to its acceptance, with every refusal.

use chrono::DateTime;
use muniment_domain::offering::choice::Visibility;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Database, Engine, on_both_databases};

use crate::installation::{SubscriptionFixture, shown, wallet};

const MISSING: &str = "sub_01jc0000000000000000000000";

on_both_databases! {
    async fn an_investor_subscribes_with_the_request_of_the_specification(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let own = shown(wallet(0));
        let created = fixture.investor.post(&fixture.path(), json!({ "amount": "1500.00", "wallet_address": own })).await;
        assert_eq!((created.status, created.text("/status")), (201, "committed".to_owned()), "{created:?}");
        let id = created.text("/subscription_id");
        assert_eq!(created.headers["location"], format!("/v1/subscriptions/{id}"));
        let time = |pointer: &str| DateTime::parse_from_rfc3339(&created.text(pointer)).unwrap();
        assert_eq!((time("/cooling_off_expires_at") - time("/created_at")).num_hours(), 336);
        assert_eq!((created.text("/amount"), created.text("/currency")), ("1500.00".to_owned(), "EUR".to_owned()));
        assert_eq!((created.text("/id"), created.text("/wallet_address")), (id.clone(), own.clone()));
        assert_eq!(created.text("/payment_instructions/reference"), id);
        assert_eq!(fixture.reserved().await, "1500.00");

        let list = fixture.investor.get("/v1/subscriptions?page=1&limit=20").await;
        assert_eq!(list.body["pagination"], json!({ "page": 1, "limit": 20, "total": 1, "total_pages": 1, "total_is_exact": true,
            "next_after": null }));
        let item = &list.body["data"][0];
        assert_eq!(*item, fixture.investor.get(&format!("/v1/subscriptions/{id}")).await.body);
        assert_eq!((&item["subscription_id"], &item["cooling_off"]["active"]), (&json!(id), &json!(true)));
        assert_eq!((&item["payment"]["status"], &item["mint"]["status"]), (&json!("unpaid"), &json!("none")));
        let open = |item: &Value| -> Vec<String> {
            let gates = item["gates"].as_array().unwrap().iter().filter(|gate| gate["satisfied"] == false);
            gates.map(|gate| gate["code"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(open(item), ["cooling_off_active", "payment_required", "acceptance_required"]);

        // Without a wallet in the request the proved one is used; a new one is stored and must be proved.
        assert_eq!(fixture.subscribe(&fixture.investor, "1000.00").await.text("/wallet_address"), own);
        let fresh = shown(wallet(7));
        let body = json!({ "amount": "1000.00", "wallet_address": fresh });
        let third = fixture.investor.post(&fixture.path(), body).await.text("/id");
        let item = fixture.investor.get(&format!("/v1/subscriptions/{third}")).await.body;
        assert!(open(&item).contains(&"wallet_unverified".to_owned()), "{item}");
        assert_eq!(fixture.reserved().await, "3500.00");
        assert_eq!(fixture.events(&third).await, ["subscription.committed"]);
    }

    async fn an_invalid_subscription_is_refused_and_reserves_nothing(database: Database) {
        let fixture = SubscriptionFixture::new(database, |o| {
            (o.maximum_investment, o.hard_cap) = (Some(500_000), 600_000);
            (o.unit_price, o.token_decimals) = (30_000, 0);
        })
        .await;
        let stranger = fixture.another("sven").await;
        fixture.give_wallet(&stranger, 5).await;
        let post = async |body: Value| fixture.investor.post(&fixture.path(), body).await.field();
        let amount = |code: &str| (422, "/amount".to_owned(), code.to_owned());
        assert_eq!(post(json!({})).await, amount("required"));
        assert_eq!(post(json!({ "amount": 1500 })).await, amount("type_mismatch"));
        assert_eq!(post(json!({ "amount": "1500" })).await, amount("amount_format"));
        assert_eq!(post(json!({ "amount": "900.00" })).await, amount("below_minimum"));
        assert_eq!(post(json!({ "amount": "5100.00" })).await, amount("above_maximum"));
        let uneven = fixture.subscribe(&fixture.investor, "1300.00").await;
        assert_eq!(uneven.field(), amount("amount_not_multiple"));
        let near = json!({ "nearest_lower": "1200.00", "nearest_higher": "1500.00" });
        assert_eq!(uneven.body["errors"][0]["params"], near);
        let with = |address: &str| json!({ "amount": "1200.00", "wallet_address": address });
        let address = |code: &str| (422, "/wallet_address".to_owned(), code.to_owned());
        let wrong = shown(wallet(0)).chars().map(|c| if c == 'x' { c } else { c.to_ascii_uppercase() }).collect::<String>();
        assert_eq!(post(with(&wrong)).await, address("address_checksum"));
        assert_eq!(post(with(&format!("0x{}", "0".repeat(40)))).await, address("address_forbidden"));
        let taken = fixture.investor.post(&fixture.path(), with(&shown(wallet(5)))).await;
        assert_eq!(taken.problem(), (409, "wallet_in_use".to_owned()));
        fixture.write("update offerings set blocked_countries = 'FR DE'").await;
        assert_eq!(post(json!({ "amount": "1200.00" })).await, (422, String::new(), "country_blocked".to_owned()));
        // An investor without a country passes no country list, even an empty one.
        fixture.write("update investors set country = 'ZZ'").await;
        assert_eq!(post(json!({ "amount": "1200.00" })).await, (422, String::new(), "country_required".to_owned()));
        fixture.write("update investors set country = 'DE', sanctions_status = 'hit'").await;
        fixture.write("update offerings set blocked_countries = ''").await;
        assert_eq!(post(json!({ "amount": "1200.00" })).await, (422, String::new(), "sanctions_not_clear".to_owned()));
        fixture.write("update investors set sanctions_status = 'clear'").await;
        fixture.write("update offerings set accreditation_required = true").await;
        assert_eq!(post(json!({ "amount": "1200.00" })).await.2, "accreditation_required");
        fixture.write("update offerings set accreditation_required = false, kyc_requirement = 'before_subscribe'").await;
        fixture.write("update investors set kyc_status = 'pending'").await;
        assert_eq!(post(json!({ "amount": "1200.00" })).await.2, "kyc_required");
        fixture.write("update offerings set kyc_requirement = 'before_mint', status = 'paused'").await;
        let paused = fixture.subscribe(&fixture.investor, "1200.00").await;
        assert_eq!(paused.problem(), (409, "offering_not_open".to_owned()));
        for hidden in ["status = 'draft'", "status = 'open', visibility = 'private'"] {
            fixture.write(&format!("update offerings set {hidden}")).await;
            assert_eq!(fixture.subscribe(&fixture.investor, "1200.00").await.problem(), (404, "not_found".to_owned()));
        }
        assert_eq!((fixture.api.count("subscriptions").await, fixture.reserved().await), (0, "0.00".to_owned()));
        assert_eq!(fixture.api.count("wallets").await, 2);

        // Earlier subscriptions count for the investor, the number of holders and the hard cap.
        fixture.write("update offerings set status = 'open', visibility = 'public', holder_cap = 1").await;
        assert_eq!(fixture.subscribe(&fixture.investor, "3000.00").await.status, 201);
        assert_eq!(post(json!({ "amount": "2100.00" })).await, amount("investor_limit_exceeded"));
        assert_eq!(fixture.subscribe(&stranger, "1200.00").await.field().2, "holder_cap_reached");
        fixture.write("update offerings set holder_cap = null, one_subscription_per_investor = true").await;
        assert_eq!(fixture.subscribe(&fixture.investor, "1200.00").await.problem(), (409, "duplicate_subscription".to_owned()));
        let full = fixture.subscribe(&stranger, "3300.00").await;
        assert_eq!((full.field(), full.body["errors"][0]["params"]["available"].clone()), (amount("hard_cap_exceeded"), json!("3000.00")));
        assert_eq!((fixture.api.count("subscriptions").await, fixture.reserved().await), (1, "3000.00".to_owned()));
    }

    async fn a_paid_subscription_is_accepted_with_a_fixed_quantity(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        let accept = async || fixture.act(&fixture.operator, &id, "accept", json!({})).await;
        assert_eq!(accept().await.text("/current_status"), "committed");
        fixture.write("update subscriptions set status = 'binding'").await;
        assert_eq!(accept().await.field().2, "payment_required");
        assert_eq!(fixture.pay(&id, "500.00", "bank-1").await.text("/subscription/payment/status"), "partially_paid");
        // The same bank line entered again is the same payment.
        let again = fixture.pay(&id, "500.00", "bank-1").await;
        assert_eq!((again.status, again.text("/subscription/payment/received_amount")), (201, "500.00".to_owned()));
        let padded = fixture.pay(&id, "500.00", " bank-1\n").await;
        assert_eq!((padded.status, padded.text("/subscription/payment/received_amount")), (201, "500.00".to_owned()));
        assert_eq!(fixture.pay(&id, "600.00", "bank-1").await.field().2, "already_recorded");
        assert_eq!(fixture.pay(&id, "1.00", "bank\u{0}-1").await.field(), (422, "/external_reference".to_owned(), "text_format".to_owned()));
        assert_eq!(fixture.pay(&id, "1.00", " \t").await.field(), (422, "/external_reference".to_owned(), "required".to_owned()));
        let by = json!({ "type": "received", "amount": "500.00", "method": "Bank Transfer", "external_reference": "bank-1" });
        assert_eq!(fixture.act(&fixture.operator, &id, "payments", by).await.field(), (422, "/method".to_owned(), "type_mismatch".to_owned()));
        assert_eq!(fixture.pay(&id, "1000.00", "bank-2").await.text("/subscription/payment/status"), "paid");
        assert_eq!(fixture.api.count("payments").await, 2);
        fixture.write("update investors set kyc_status = 'pending'").await;
        assert_eq!(accept().await.field().2, "kyc_required");
        fixture.write("update investors set kyc_status = 'approved', sanctions_status = 'not_screened'").await;
        assert_eq!(accept().await.field().2, "sanctions_not_clear");
        fixture.write("update investors set sanctions_status = 'clear'").await;
        fixture.write("update offerings set terms_version = 2").await;
        assert_eq!(accept().await.problem(), (409, "invalid_state".to_owned()), "nobody is accepted under changed terms");
        fixture.write("update offerings set terms_version = 1").await;
        let other = json!({ "wallet_address": shown(wallet(9)) });
        let path = format!("/v1/subscriptions/{id}");
        assert_eq!(fixture.investor.change("PATCH", &path, Some(other)).await.text("/wallet_address"), shown(wallet(9)));
        assert_eq!(accept().await.field().2, "wallet_unverified");
        let back = json!({ "wallet_address": shown(wallet(0)) });
        assert_eq!(fixture.investor.change("PATCH", &path, Some(back.clone())).await.status, 200);
        let wrong = fixture.act(&fixture.issuer, &id, "accept", json!({ "quantity": "14.00" })).await;
        assert_eq!((wrong.field().2, wrong.body["errors"][0]["params"]["quantity"].clone()), ("quantity_mismatch".to_owned(), json!("1500.00")));
        let taken = fixture.act(&fixture.issuer, &id, "accept", json!({ "quantity": "1500.00" })).await;
        assert_eq!((taken.status, taken.text("/status"), taken.text("/base_units")), (200, "accepted".to_owned(), "150000".to_owned()));
        assert_eq!(fixture.investor.change("PATCH", &path, Some(back)).await.problem(), (409, "invalid_state".to_owned()));
        // Excess or late money is recorded and can be refunded; the amount stays.
        let more = fixture.pay(&id, "1.00", "bank-3").await;
        assert_eq!((more.status, more.text("/subscription/status"), more.text("/subscription/payment/excess_amount")), (201, "accepted".to_owned(), "1.00".to_owned()));
        let back = |amount: &str, reference: &str| {
            json!({ "type": "refunded", "amount": amount, "method": "bank_transfer", "external_reference": reference })
        };
        let whole = fixture.act(&fixture.operator, &id, "payments", back("2.00", "back-1")).await;
        assert_eq!((whole.field().2, whole.body["errors"][0]["params"]["maximum"].clone()), ("above_maximum".to_owned(), json!("1.00")));
        let rest = fixture.act(&fixture.operator, &id, "payments", back("1.00", "back-1")).await;
        assert_eq!((rest.status, rest.text("/subscription/payment/excess_amount")), (201, "0.00".to_owned()));
        let events = ["committed", "payment_received", "payment_received", "wallet_changed", "wallet_changed", "accepted",
            "payment_received", "payment_refunded"];
        assert_eq!(fixture.events(&id).await, events.map(|what| format!("subscription.{what}")));
        assert_eq!(fixture.rows("select stage from eligibility_checks order by stage").await.concat(), ["accept", "commit"]);
        assert_eq!(fixture.reserved().await, "1500.00");
    }

    async fn received_money_is_refunded_before_the_subscription_ends(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        fixture.pay(&id, "1500.00", "bank-1").await;
        let withdrawn = fixture.act(&fixture.investor, &id, "cancel", json!({})).await;
        assert_eq!((withdrawn.text("/status"), withdrawn.text("/payment/status")), ("refund_pending".to_owned(), "refund_pending".to_owned()));
        assert_eq!(fixture.reserved().await, "0.00");
        let back = json!({ "method": "bank_transfer", "external_reference": "back-1" });
        let refunded = fixture.act(&fixture.operator, &id, "refund", back.clone()).await;
        assert_eq!((refunded.status, refunded.text("/amount"), refunded.text("/subscription/status")), (200, "1500.00".to_owned(), "refunded".to_owned()));
        assert_eq!(fixture.act(&fixture.operator, &id, "refund", back).await.text("/id"), refunded.text("/id"));
        assert_eq!(fixture.api.count("payments where kind = 'refunded'").await, 1);
        // It is refunded in steps, complete with the last cent, and never more than was received.
        let second = fixture.committed("1000.00").await;
        fixture.pay(&second, "400.00", "bank-2").await;
        let rejected = fixture.act(&fixture.issuer, &second, "reject", json!({ "reason_code": "source_of_funds" })).await;
        assert_eq!((rejected.text("/status"), rejected.text("/status_reason")), ("refund_pending".to_owned(), "source_of_funds".to_owned()));
        let some = |amount: &str, reference: &str| {
            json!({ "type": "refunded", "amount": amount, "method": "bank_transfer", "external_reference": reference })
        };
        assert_eq!(fixture.act(&fixture.operator, &second, "payments", some("400.01", "back-2")).await.field().2, "above_maximum");
        for (amount, reference, status) in [("150.00", "back-2", "refund_pending"), ("250.00", "back-3", "refunded")] {
            let answer = fixture.act(&fixture.operator, &second, "payments", some(amount, reference)).await;
            assert_eq!(answer.text("/subscription/status"), status);
        }
        let events = fixture.events(&second).await;
        assert_eq!(events.last().unwrap(), "subscription.refunded", "{events:?}");
    }

    async fn late_money_is_recorded_and_refunded(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let ended = [("cancelled", "0"), ("rejected", "0"), ("expired", "0"), ("refunded", "150000")];
        for (number, (status, before)) in ended.iter().enumerate() {
            let id = fixture.committed("1500.00").await;
            fixture.write(&format!("update subscriptions set status = '{status}', received_amount = {before}, refunded_amount = {before} where id = '{id}'")).await;
            fixture.write("update offerings set committed_total = 0").await;
            let late = fixture.pay(&id, "1500.00", &format!("late-{number}")).await;
            let shown = (late.status, late.text("/subscription/status"), late.text("/subscription/status_reason"), late.text("/subscription/payment/status"));
            assert_eq!(shown, (201, "refund_pending".to_owned(), "late_payment".to_owned(), "refund_pending".to_owned()), "{status} {late:?}");
            let again = fixture.pay(&id, "1500.00", &format!("late-{number}")).await;
            assert_eq!((again.status, again.text("/id")), (201, late.text("/id")));
            let back = json!({ "method": "bank_transfer", "external_reference": format!("back-{number}") });
            for _ in 0..2 {
                let refunded = fixture.act(&fixture.operator, &id, "refund", back.clone()).await;
                assert_eq!((refunded.status, refunded.text("/amount"), refunded.text("/subscription/status")), (200, "1500.00".to_owned(), "refunded".to_owned()), "{refunded:?}");
            }
            let events = fixture.events(&id).await;
            assert_eq!(events[1..], ["payment_received", "refund_pending", "payment_refunded", "refunded"].map(|what| format!("subscription.{what}")));
        }
        assert_eq!((fixture.reserved().await, fixture.api.count("payments").await), ("0.00".to_owned(), 8));
        // Excess money before the acceptance: the error says what to do.
        let id = fixture.binding("1500.00").await;
        fixture.pay(&id, "1501.00", "more").await;
        let refused = fixture.act(&fixture.operator, &id, "accept", json!({})).await;
        assert_eq!((refused.field().2, refused.body["errors"][0]["params"]["excess"].clone()), ("overpaid".to_owned(), json!("1.00")));
    }

    async fn a_list_is_continued_after_an_id_and_found_by_wallet_and_payments_are_listed(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(fixture.committed("1500.00").await);
        }
        ids.reverse();
        let list = async |query: &str| fixture.operator.get(&format!("/v1/subscriptions?{query}")).await.body;
        let of = |body: &Value| body["data"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let first = list("limit=2").await;
        assert_eq!((of(&first), &first["pagination"]["next_after"]), (ids[..2].to_vec(), &json!(ids[1])));
        let rest = list(&format!("limit=2&after={}", ids[1])).await;
        assert_eq!((of(&rest), &rest["pagination"]["next_after"], &rest["pagination"]["total"]), (ids[2..].to_vec(), &Value::Null, &Value::Null));
        assert_eq!(of(&list(&format!("wallet_address={:#x}", wallet(0))).await), ids);
        assert_eq!(of(&list(&format!("wallet_address={:#x}", wallet(1))).await), Vec::<String>::new());
        fixture.pay(&ids[0], "500.00", "bank-1").await;
        fixture.pay(&ids[0], "600.00", "bank-2").await;
        let path = format!("/v1/subscriptions/{}/payments", ids[0]);
        for person in [&fixture.investor, &fixture.issuer, &fixture.operator] {
            let listed = person.get(&path).await;
            let amounts: Vec<_> = listed.body["data"].as_array().unwrap().iter().map(|p| p["amount"].as_str().unwrap().to_owned()).collect();
            assert_eq!(amounts, ["500.00", "600.00"], "{listed:?}");
        }
        let stranger = fixture.another("sven").await;
        assert_eq!(stranger.get(&path).await.problem(), (404, "not_found".to_owned()));
    }

    async fn each_caller_sees_and_moves_only_their_own_subscriptions(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        let stranger = fixture.another("sven").await;
        let outsider = fixture.api.person(&fixture.server, "otto", Role::Issuer).await;
        fixture.write("insert into issuers (id, name, status, version, created_at, updated_at) select 'iss_01jc0000000000000000000000', \
            'Others', 'active', 1, created_at, created_at from issuers").await;
        fixture.write(&format!("update users set issuer_id = 'iss_01jc0000000000000000000000' where id = '{}'", outsider.id)).await;
        let auditor = fixture.api.person(&fixture.server, "anna", Role::Auditor).await;
        for (person, sees) in [(&fixture.investor, 1), (&fixture.issuer, 1), (&fixture.operator, 1), (&auditor, 1), (&stranger, 0), (&outsider, 0)] {
            let list = person.get("/v1/subscriptions").await;
            assert_eq!(list.body["pagination"]["total"], sees, "{}", person.email);
            let status = person.get(&format!("/v1/subscriptions/{id}")).await.status;
            assert_eq!(status, if sees == 1 { 200 } else { 404 }, "{}", person.email);
        }
        for (person, act, body, problem) in [
            (&stranger, "cancel", json!({}), (404, "not_found")),
            (&stranger, "reconfirm", json!({ "offering_version": 1 }), (404, "not_found")),
            (&outsider, "accept", json!({}), (404, "not_found")),
            (&outsider, "reject", json!({ "reason_code": "payment" }), (404, "not_found")),
            (&fixture.investor, "accept", json!({}), (403, "role_forbidden")),
            (&fixture.issuer, "cancel", json!({}), (403, "role_forbidden")),
            (&fixture.issuer, "refund", json!({ "method": "a", "external_reference": "b" }), (403, "role_forbidden")),
            (&auditor, "cancel", json!({ "reason": "no" }), (403, "role_forbidden")),
            (&fixture.operator, "reconfirm", json!({ "offering_version": 1 }), (403, "role_forbidden")),
        ] {
            let refused = fixture.act(person, &id, act, body).await;
            assert_eq!(refused.problem(), (problem.0, problem.1.to_owned()), "{} {act}", person.email);
        }
        for missing in [MISSING, "sub_1", "off_01jc0000000000000000000000"] {
            assert_eq!(fixture.investor.get(&format!("/v1/subscriptions/{missing}")).await.problem(), (404, "not_found".to_owned()));
            let refused = fixture.act(&fixture.operator, missing, "cancel", json!({ "reason": "gone" })).await;
            assert_eq!(refused.problem(), (404, "not_found".to_owned()));
        }
        // A person who is investor and issuer accepts only others' subscriptions and withdraws only their own.
        fixture.write(&format!("update users set roles = 'investor issuer', issuer_id = 'iss_01jc0000000000000000000000' where id = '{}'", fixture.investor.id)).await;
        fixture.write("update subscriptions set status = 'binding'").await;
        assert_eq!(fixture.act(&fixture.investor, &id, "accept", json!({})).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(fixture.act(&fixture.operator, &id, "cancel", json!({})).await.text("/errors/0/pointer"), "/reason");
        assert_eq!(fixture.act(&fixture.operator, &id, "cancel", json!({ "reason": "asked by phone" })).await.text("/status"), "cancelled");
        assert_eq!(fixture.investor.get("/v1/subscriptions?status=committed,cancelled").await.body["pagination"]["total"], 1);
        assert_eq!(fixture.investor.get("/v1/subscriptions?status=committed").await.body["pagination"]["total"], 0);
        let staff_only = fixture.investor.get("/v1/subscriptions?investor_id=inv_01jc0000000000000000000000").await;
        assert_eq!(staff_only.problem(), (403, "role_forbidden".to_owned()), "a parameter of staff says so");
        for (query, problem) in [("status=gone", "invalid_parameter"), ("wallet_address=0x12", "invalid_parameter"), ("after=off_1", "invalid_parameter"), ("limit=0", "invalid_parameter")] {
            let refused = fixture.investor.get(&format!("/v1/subscriptions?{query}")).await;
            assert_eq!(refused.problem(), (400, problem.to_owned()), "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_every_rule_and_changes_nothing() {
    let fixture =
        SubscriptionFixture::new(Database::fresh(Engine::Sqlite).await, |o| o.accreditation_required = true).await;
    let path = format!("{}?dry_run=true", fixture.path());
    for _ in 0..12 {
        let tried = fixture.investor.post(&path, json!({ "amount": "1500.00" })).await;
        assert_ne!(tried.status, 429, "a preview does not count as a subscription: {tried:?}");
    }
    let preview = fixture.investor.post(&path, json!({ "amount": "900.00" })).await;
    assert_eq!((preview.status, &preview.body["eligible"]), (200, &json!(false)), "{preview:?}");
    let checks = preview.body["checks"].as_array().unwrap();
    let failed: Vec<_> =
        checks.iter().filter(|check| check["passed"] == false).map(|check| check["code"].as_str().unwrap()).collect();
    assert_eq!(failed, ["accreditation_required", "below_minimum"]);
    let said = fixture.investor.get("/openapi.json").await.body["components"]["schemas"]["EligibilityCode"].to_string();
    assert!(failed.iter().all(|code| said.contains(code)), "{said}");
    fixture.write("update offerings set accreditation_required = false").await;
    let preview = fixture.investor.post(&path, json!({ "amount": "1500.00" })).await;
    assert_eq!((&preview.body["eligible"], preview.text("/quantity")), (&json!(true), "1500.00".to_owned()));
    assert_eq!(preview.text("/wallet_address"), shown(wallet(0)));
    assert_eq!(
        (fixture.api.count("subscriptions").await, fixture.api.count("events where type like 'subscription.%'").await),
        (0, 0)
    );
    // An unusable wallet is one more unmet rule.
    let other = fixture.another("sven").await;
    fixture.give_wallet(&other, 5).await;
    fixture.give_wallet(&fixture.investor, 6).await;
    fixture.write(&format!("update wallets set retired_at = created_at where address = '{:#x}'", wallet(6))).await;
    for (number, code) in [(5, "wallet_in_use"), (6, "address_forbidden")] {
        let body = json!({ "amount": "1500.00", "wallet_address": shown(wallet(number)) });
        let preview = fixture.investor.post(&path, body).await;
        assert_eq!((preview.status, &preview.body["eligible"]), (200, &json!(false)), "{preview:?}");
        let last = preview.body["checks"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["rule"], &last["code"]), (&json!("wallet"), &json!(code)));
    }
    let unknown = fixture.investor.post(&format!("{}?dry=1", fixture.path()), json!({ "amount": "1500.00" })).await;
    assert_eq!(unknown.problem(), (400, "unknown_parameter".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_subscribes_for_an_investor_with_consent() {
    let fixture =
        SubscriptionFixture::new(Database::fresh(Engine::Sqlite).await, |o| o.visibility = Visibility::Private).await;
    let investor = fixture.rows(&format!("select id from investors where user_id = '{}'", fixture.investor.id)).await
        [0][0]
        .clone();
    let body = |change: Value| {
        let mut body = json!({ "amount": "1500.00" });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    let nowhere = "doc_01jc0000000000000000000000";
    let papers = |investor: &str| format!("/v1/investors/{investor}/documents");
    let consent = json!({ "kind": "subscription_consent", "sha256": "ab".repeat(32) });
    let stranger = fixture.another("sven").await;
    let strangers =
        fixture.rows(&format!("select id from investors where user_id = '{}'", stranger.id)).await[0][0].clone();
    let kept = fixture.operator.post(&papers(&investor), consent.clone()).await;
    assert_eq!((kept.status, kept.text("/kind")), (201, "subscription_consent".to_owned()), "{kept:?}");
    assert_eq!(fixture.operator.post(&papers(&investor), consent.clone()).await.text("/id"), kept.text("/id"));
    let paper = kept.text("/id");
    let foreign = fixture.operator.post(&papers(&strangers), consent).await.text("/id");
    let receipt = json!({ "kind": "other", "sha256": "cd".repeat(32) });
    let receipt = fixture.operator.post(&papers(&investor), receipt).await.text("/id");
    let listed = fixture.operator.get(&papers(&investor)).await;
    assert_eq!(listed.body["data"].as_array().unwrap().len(), 2, "{listed:?}");
    assert_eq!(fixture.investor.get(&papers(&investor)).await.problem(), (403, "role_forbidden".to_owned()));
    for (change, pointer, code) in [
        (json!({}), "/investor_id", "required"),
        (json!({ "investor_id": investor }), "/consent_document_id", "required"),
        (
            json!({ "investor_id": "inv_01jc0000000000000000000000", "consent_document_id": paper }),
            "/investor_id",
            "not_found",
        ),
        (json!({ "investor_id": investor, "consent_document_id": nowhere }), "/consent_document_id", "not_found"),
        (json!({ "investor_id": investor, "consent_document_id": foreign }), "/consent_document_id", "not_found"),
        (json!({ "investor_id": investor, "consent_document_id": receipt }), "/consent_document_id", "not_found"),
    ] {
        let refused = fixture.operator.post(&fixture.path(), body(change)).await;
        assert_eq!(refused.field(), (422, pointer.to_owned(), code.to_owned()));
    }
    let own = fixture.investor.post(&fixture.path(), body(json!({ "investor_id": investor }))).await;
    assert_eq!(own.field(), (422, "/investor_id".to_owned(), "unknown_field".to_owned()));
    let agreed = body(json!({ "investor_id": investor, "consent_document_id": paper }));
    let created = fixture.operator.post(&fixture.path(), agreed.clone()).await;
    assert_eq!((created.status, created.text("/wallet_address")), (201, shown(wallet(0))), "{created:?}");
    // The subscription belongs to the investor, with the right to withdraw.
    assert_eq!(
        fixture.act(&fixture.investor, &created.text("/id"), "cancel", json!({})).await.text("/status"),
        "cancelled"
    );
    assert_eq!(fixture.issuer.post(&fixture.path(), agreed).await.problem(), (403, "role_forbidden".to_owned()));
}
