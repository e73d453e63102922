//! An investor's record: each entry needs evidence, sends an event and is never rewritten.

use chrono::{Duration, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::user::Role;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::timer;
use muniment_workflows::settings::Settings;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::force_transfer::transfer;
use crate::installation::{
    Answer, ApiFixture, PASSWORD, PayoutFixture, Person, Server, SubscriptionFixture, open_at, wallet,
};
use crate::portfolio::holder;

const NOBODY: &str = "inv_01jc0000000000000000000000";

fn evidence() -> String {
    "cd".repeat(32)
}

/// An approved investor, and the reviewer.
async fn approved(api: &ApiFixture, server: &Server) -> (Person, String, Person) {
    let (ada, olga) =
        (api.person(server, "ada", Role::Investor).await, api.person(server, "olga", Role::Operator).await);
    let handed = ada.post("/v1/investor/kyc", json!({ "level": "basic", "provider_reference": "case-1" })).await;
    assert_eq!(handed.status, 202, "{handed:?}");
    let id = handed.text("/investor_id");
    let decision = json!({ "decision": "approve", "evidence_sha256": evidence(), "screening": "clear" });
    assert_eq!(decide(&olga, &id, decision).await.status, 200);
    (ada, id, olga)
}

async fn decide(reviewer: &Person, id: &str, body: Value) -> Answer {
    reviewer.post(&format!("/v1/investors/{id}/kyc/decision"), body).await
}

fn field(pointer: &str, code: &str) -> (u16, String, String) {
    (422, pointer.to_owned(), code.to_owned())
}

on_both_databases! {
    async fn accreditation_is_granted_renewed_and_withdrawn(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = approved(&api, &server).await;
        let path = format!("/v1/investors/{id}/accreditation");
        let until = |days: i64| json!(Utc::now() + Duration::days(days));
        let sound = json!({ "status": "verified", "basis": "net_worth", "evidence_sha256": evidence(), "expires_at": until(90) });
        for (name, value, expected) in [
            ("status", json!("maybe"), field("/status", "type_mismatch")),
            ("basis", json!("Net worth"), field("/basis", "code_format")),
            ("evidence_sha256", json!("ab"), field("/evidence_sha256", "digest_format")),
            ("expires_at", Value::Null, field("/expires_at", "required")),
            ("expires_at", until(-1), field("/expires_at", "out_of_range")),
            ("colour", json!("red"), field("/colour", "unknown_field")),
        ] {
            let mut body = sound.clone();
            body[name] = value;
            assert_eq!(olga.post(&path, body).await.field(), expected, "{name}");
        }
        assert_eq!(api.count("accreditations").await, 0);
        let first = olga.post(&path, sound.clone()).await;
        assert_eq!((first.status, first.text("/status"), first.text("/investor_id")), (200, "verified".to_owned(), id.clone()), "{first:?}");
        assert_eq!(ada.get("/v1/investor/profile").await.text("/accreditation/status"), "verified");
        let again = olga.post(&path, json!({ "status": "verified", "basis": "income", "evidence_sha256": evidence(), "expires_at": until(400) })).await;
        assert_eq!(again.body["version"].as_i64(), first.body["version"].as_i64().map(|version| version + 1));
        let no_more = olga.post(&path, json!({ "status": "none", "basis": "income_lost", "evidence_sha256": evidence() })).await;
        assert_eq!(no_more.text("/status"), "none", "{no_more:?}");
        let shown = olga.get(&format!("/v1/investors/{id}")).await;
        assert_eq!(shown.text("/kyc/status"), "approved", "the identity stays approved");
        let lines: Vec<_> = shown.body["accreditations"].as_array().unwrap().iter().map(|line| line["basis"].as_str().unwrap()).collect();
        assert_eq!(lines, ["net_worth", "income", "income_lost"]);
        assert_eq!(shown.text("/accreditations/0/evidence_sha256"), evidence(), "a digest is answered as it was sent");
        assert_eq!(api.count("events where type = 'investor.accreditation_changed'").await, 3);
        assert_eq!(api.count(&format!("audit_log where object_id = '{id}' and detail like '%accreditation_changed%'")).await, 3);
        assert_eq!(olga.post(&format!("/v1/investors/{NOBODY}/accreditation"), sound.clone()).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(ada.post(&path, sound).await.problem(), (403, "role_forbidden".to_owned()));
    }

    async fn an_approval_is_renewed_only_after_a_new_review(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = approved(&api, &server).await;
        api.write(&format!("update investors set kyc_expires_at = '{}'", (Utc::now() + Duration::days(3)).to_rfc3339())).await;
        for (change, expected) in [
            (json!({ "evidence_sha256": null }), field("/evidence_sha256", "required")),
            (json!({ "screening": null }), field("/screening", "required")),
            (json!({ "screening": "hit" }), field("/screening", "sanctions_not_clear")),
            (json!({ "expires_at": Utc::now() + Duration::days(4000) }), field("/expires_at", "out_of_range")),
        ] {
            let mut body = json!({ "decision": "renew", "evidence_sha256": evidence(), "screening": "clear" });
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            assert_eq!(decide(&olga, &id, body).await.field(), expected, "{change}");
        }
        let basis = json!({ "basis": "net_worth", "expires_at": Utc::now() + Duration::days(90) });
        let body = json!({ "decision": "renew", "evidence_sha256": evidence(), "screening": "clear", "accreditation": basis });
        let renewed = decide(&olga, &id, body.clone()).await;
        assert_eq!((renewed.status, renewed.text("/kyc/status"), renewed.text("/accreditation/status")), (200, "approved".to_owned(), "verified".to_owned()), "{renewed:?}");
        assert_eq!((renewed.text("/decisions/2/from"), renewed.text("/decisions/2/to")), ("approved".to_owned(), "approved".to_owned()));
        assert_eq!((api.count("accreditations").await, api.count("events where type = 'investor.kyc_renewed'").await), (1, 1));
        drop(server);
        let engine = Engine::reader(open_at(&api.database.url(), Clock::manual(Utc::now() + Duration::days(700))).await, Settings::default(), Vec::new());
        assert_eq!(timer::sweep(&engine).await.unwrap(), 0, "the earlier end no longer applies");
        engine.db.close().await;
        drop(engine);
        let engine = Engine::reader(open_at(&api.database.url(), Clock::manual(Utc::now() + Duration::days(740))).await, Settings::default(), Vec::new());
        assert_eq!(timer::sweep(&engine).await.unwrap(), 1);
        engine.db.close().await;
        drop(engine);
        let server = api.start().await;
        let (ada, olga) = (Person::log_in(&server, &ada.email).await, Person::log_in(&server, &olga.email).await);
        assert_eq!(ada.get("/v1/investor/profile").await.text("/kyc/status"), "expired");
        let late = decide(&olga, &id, body).await;
        assert_eq!(late.problem(), (409, "invalid_state".to_owned()), "an expired accreditation is submitted again");
    }

    async fn a_withholding_rate_is_set_by_a_person_with_evidence(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = approved(&api, &server).await;
        let path = format!("/v1/investors/{id}/tax");
        let body = |rate: &str| json!({ "withholding_rate": rate, "basis": "treaty", "evidence_sha256": evidence() });
        assert_eq!(olga.post(&path, body("100.01")).await.field(), field("/withholding_rate", "above_maximum"));
        assert_eq!(olga.post(&path, body("15")).await.field(), field("/withholding_rate", "amount_format"));
        assert_eq!(olga.post(&path, json!({ "withholding_rate": "15.00", "basis": "treaty" })).await.field(), field("/evidence_sha256", "required"));
        assert_eq!(api.count("tax_profiles").await, 0);
        for rate in ["30.00", "26.38"] {
            let set = olga.post(&path, body(rate)).await;
            assert_eq!((set.status, set.text("/withholding_rate")), (200, rate.to_owned()), "{set:?}");
            assert_eq!(ada.get("/v1/investor/profile").await.text("/tax/withholding_rate"), rate);
        }
        let shown = olga.get(&format!("/v1/investors/{id}")).await;
        assert_eq!(shown.text("/tax/decisions/0/evidence_sha256"), evidence());
        assert_eq!((shown.text("/tax/decisions/0/withholding_rate"), shown.text("/tax/decisions/1/decided_by")), ("30.00".to_owned(), olga.id.clone()), "{shown:?}");
        assert_eq!((api.count("tax_profiles").await, api.count("events where type = 'investor.tax_changed'").await), (1, 2));
        assert_eq!(ada.post(&path, body("0.00")).await.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!(olga.post(&format!("/v1/investors/{NOBODY}/tax"), body("0.00")).await.problem(), (404, "not_found".to_owned()));
    }

    async fn accepted_terms_are_recorded(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let register = async |email: &str, version: Value| {
            let body = json!({ "email": email, "password": PASSWORD, "name": "Nora", "country": "DE", "accept_terms_version": version });
            server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.unwrap()
        };
        for bad in ["", " ", "2026\n09"] {
            assert_eq!(register("a@people.example", json!(bad)).await.field(), field("/accept_terms_version", "length_out_of_range"));
        }
        let nora = register("nora@people.example", json!(" 2026-09 ")).await;
        assert_eq!((nora.status, nora.text("/accepted_terms_version")), (201, "2026-09".to_owned()), "{nora:?}");
        let silent = register("sven@people.example", Value::Null).await;
        assert_eq!((silent.status, &silent.body["accepted_terms_version"]), (201, &Value::Null));
        let kept = "users where accepted_terms_version = '2026-09' and accepted_terms_at is not null";
        assert_eq!((api.count(kept).await, api.count("users where accepted_terms_at is null").await), (1, 1));
        assert_eq!(api.count("events where type = 'user.terms_accepted'").await, 1);
        assert_eq!(api.count("audit_log where detail like '%user.terms_accepted%'").await, 1);
    }

    async fn nobody_of_the_staff_decides_about_their_own_record(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let (own, olga) = (&fixture.investor, &fixture.operator);
        let petra = fixture.api.person(&fixture.server, "petra", Role::Operator).await;
        let id = own.get("/v1/investor/profile").await.text("/id");
        let subscription = fixture.binding("1500.00").await;
        // An investor who joins the staff keeps the record.
        fixture.write(&format!("update users set roles = 'operator' where id = '{}'", own.id)).await;
        let forbidden = (403, "self_approval_forbidden".to_owned());
        let accreditation = json!({ "status": "none", "basis": "lapsed", "evidence_sha256": evidence() });
        let reinstatement = json!({ "reason": "a mistake", "evidence_sha256": evidence(), "screening": "clear" });
        let payment = json!({ "type": "received", "amount": "1500.00", "method": "bank_transfer", "external_reference": "bank-0" });
        for (path, body) in [
            (format!("/v1/investors/{id}/kyc/decision"), json!({ "decision": "reset" })),
            (format!("/v1/investors/{id}/accreditation"), accreditation.clone()),
            (format!("/v1/investors/{id}/tax"), json!({ "withholding_rate": "0.00", "basis": "treaty", "evidence_sha256": evidence() })),
            (format!("/v1/investors/{id}/suspend"), json!({ "reason_code": "fraud" })),
            (format!("/v1/investors/{id}/reinstate"), reinstatement.clone()),
            (format!("/v1/subscriptions/{subscription}/payments"), payment),
            (format!("/v1/subscriptions/{subscription}/accept"), json!({})),
            (format!("/v1/subscriptions/{subscription}/reject"), json!({ "reason_code": "payment" })),
            (format!("/v1/subscriptions/{subscription}/cancel"), json!({ "reason": "too late to withdraw" })),
        ] {
            assert_eq!(own.post(&path, body).await.problem(), forbidden, "{path}");
        }
        assert_eq!(fixture.pay(&subscription, "1500.00", "bank-1").await.status, 201);
        assert_eq!(fixture.act(olga, &subscription, "cancel", json!({ "reason": "asked by phone" })).await.text("/status"), "refund_pending");
        let refund = json!({ "method": "bank_transfer", "external_reference": "bank-2" });
        assert_eq!(fixture.act(own, &subscription, "refund", refund.clone()).await.problem(), forbidden);
        assert_eq!(fixture.act(olga, &subscription, "refund", refund).await.status, 200);
        assert_eq!(olga.post(&format!("/v1/investors/{id}/accreditation"), accreditation).await.status, 200);
        assert_eq!(olga.post(&format!("/v1/investors/{id}/suspend"), json!({ "reason_code": "fraud" })).await.status, 200);
        let requested = olga.post(&format!("/v1/investors/{id}/reinstate"), reinstatement).await;
        assert_eq!(own.approve(&requested).await.problem(), forbidden);
        assert_eq!(petra.approve(&requested).await.text("/status"), "executed");
    }

    async fn nobody_of_the_staff_decides_about_their_own_wallet_or_payment(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (own, id) = holder(&fixture.site, &fixture.server, 1).await;
        fixture.site.write(&format!("update users set roles = 'operator' where id = '{}'", own.id)).await;
        let forbidden = (403, "self_approval_forbidden".to_owned());
        let distribution = fixture.calculated("direct_payout", "200.00").await;
        let entitlement = fixture.site.rows(&format!("select id from entitlements where investor_id = '{id}'")).await[0][0].clone();
        let path = |verb: &str| format!("/v1/distributions/{distribution}/entitlements/{entitlement}/{verb}");
        for verb in ["hold", "release"] {
            assert_eq!(own.post(&path(verb), json!({ "reason": "mine" })).await.problem(), forbidden, "{verb}");
        }
        assert_eq!(fixture.colleague.post(&path("hold"), json!({ "reason": "a question" })).await.status, 200);
        let excluded = fixture.decide("exclude", &distribution, &entitlement, "exclude").await;
        assert_eq!(own.approve(&excluded).await.problem(), forbidden);
        assert_eq!(fixture.site.freeze(&fixture.server, "freeze-0", 0).await.status, 202);
        fixture.site.settled().await;
        // Units of another holder for the own wallet.
        let moved = fixture.server.post("/blockchain/force-transfer", "force", transfer(&fixture.site, "0.50")).await;
        assert_eq!(own.approve(&moved).await.problem(), forbidden);
        assert_eq!(fixture.site.freeze(&fixture.server, "freeze-1", 1).await.status, 202);
        fixture.site.settled().await;
        let about = fixture.site.about(json!({ "address": wallet(1).to_checksum(None) }));
        let unfreeze = fixture.server.post("/blockchain/unfreeze", "unfreeze", about).await;
        assert_eq!(own.approve(&unfreeze).await.problem(), forbidden);
        for asked in [excluded, unfreeze] {
            assert_eq!(fixture.approve(&asked).await.text("/status"), "executed");
        }
    }
}
