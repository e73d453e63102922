//! The data export of an investor: all of their data and nothing of others.

use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{Person, SubscriptionFixture, shown, wallet};

const NUMBER: &str = "L01X00T47";

/// An investor with a unique name and a row of every kind that the platform keeps about a person.
pub async fn investor_with_data(fixture: &SubscriptionFixture, name: &str) -> (Person, String, String) {
    let person = fixture.api.person(&fixture.server, name, Role::Investor).await;
    let id = person.get("/v1/auth/me").await.text("/investor_id");
    let called = format!("{name} Quillfeather");
    let me = json!({ "name": called, "locale": "pt-BR", "notification_prefs": { "subscription": true } });
    assert_eq!(person.change("PATCH", "/v1/auth/me", Some(me)).await.status, 200);
    let profile = json!({ "legal_name": called, "tax_residency": "PT", "tax_form": "w8ben", "treaty_country": "PT",
        "annual_income": "765432.10", "net_worth": "1.00" });
    assert_eq!(person.change("PATCH", "/v1/investor/profile", Some(profile)).await.status, 200);
    let papers = json!({ "level": "basic", "data": { "date_of_birth": "1984-02-29", "document_number": NUMBER } });
    assert_eq!(person.post("/v1/investor/kyc", papers).await.status, 202);
    let decision = json!({ "decision": "approve", "reason_code": "documents_match", "evidence_sha256": "ab".repeat(32), "screening": "clear" });
    let path = format!("/v1/investors/{id}/kyc/decision");
    let decided = fixture.operator.client().post(&path, &format!("yes-{name}"), decision).await.unwrap();
    assert_eq!(decided.status, 200, "{decided:?}");
    let paper = json!({ "kind": "other", "sha256": "cd".repeat(32) });
    assert_eq!(fixture.operator.post(&format!("/v1/investors/{id}/documents"), paper).await.status, 201);
    fixture.give_wallet(&person, 40 + name.len()).await;
    fixture.write(&format!("update wallets set label = '{called}' where investor_id = '{id}'")).await;
    let labelled = json!({ "address": shown(wallet(60 + name.len())), "label": called });
    assert_eq!(person.post("/v1/investor/wallets", labelled).await.status, 201);
    let hook = json!({ "url": format!("https://{name}.example/hook"), "description": called, "event_types": ["*"] });
    assert_eq!(person.post("/v1/webhooks/endpoints", hook).await.status, 201);
    let body = json!({ "amount": "1500.00", "reference": called });
    let subscribed = person.client().post(&fixture.path(), "mine", body).await.unwrap();
    assert_eq!(subscribed.status, 201, "{subscribed:?}");
    (person, id, subscribed.text("/id"))
}

on_both_databases! {
    async fn an_export_holds_all_data_of_the_investor_and_nothing_else(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let (ada, id, sub) = investor_with_data(&fixture, "zephyrine").await;
        let (other, .., others) = investor_with_data(&fixture, "bo").await;
        assert_eq!(fixture.pay(&sub, "1500.00", "bank-1").await.status, 201);
        let exported = ada.get("/v1/investor/export").await;
        assert_eq!(exported.status, 200, "{exported:?}");
        assert_eq!(exported.headers["content-disposition"], format!("attachment; filename=\"{id}.json\""));
        assert_eq!(exported.headers["cache-control"], "no-store");
        for (pointer, value) in [
            ("/account/email", "zephyrine@people.example"), ("/account/name", "zephyrine Quillfeather"), ("/account/locale", "pt-BR"),
            ("/profile/legal_name", "zephyrine Quillfeather"), ("/profile/annual_income", "765432.10"), ("/profile/decisions/1/decision", "approve"),
            ("/profile/wallets/0/label", "zephyrine Quillfeather"), ("/kyc_cases/0/level", "basic"), ("/documents/0/kind", "other"), ("/subscriptions/0/id", &sub),
            ("/payments/0/external_reference", "bank-1"), ("/sessions/0/id", &ada.session_id), ("/login_attempts/0/outcome", "accepted"),
            ("/webhook_endpoints/0/url", "https://zephyrine.example/hook"),
        ] {
            assert_eq!(exported.text(pointer), value, "{pointer}: {}", exported.body);
        }
        let length = |list: &str| exported.body[list].as_array().unwrap().len();
        assert_eq!((length("subscriptions"), length("payments"), length("entitlements"), length("cut")), (1, 1, 0, 0));
        let events: Vec<_> = exported.body["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert!(events.contains(&"subscription.payment_received") && events.contains(&"investor.kyc_approved"), "{events:?}");
        assert_eq!(exported.body["notification_prefs"], json!({ "subscription": true }));
        let text = exported.body.to_string();
        assert!(text.contains("document_number") && !text.contains(NUMBER) && !text.contains("1984"), "encrypted fields appear by name only");
        assert!(!text.contains(&others) && !text.contains(&other.id) && !text.contains("bo Quill"), "{text}");
        assert_eq!(fixture.operator.get("/v1/investor/export").await.problem(), (403, "role_forbidden".to_owned()));
        let line = format!("audit_log where action = 'GET /v1/investor/export' and actor = '{}'", ada.id);
        assert_eq!(fixture.api.count(&line).await, 1);
    }

    async fn an_export_counts_as_a_write(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |_| {}).await;
        fixture.server.process.kill();
        fixture.api.set("rates", "write_per_minute", "3");
        let server = fixture.api.start().await;
        let ines = Person::log_in(&server, &fixture.investor.email).await;
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(ines.get("/v1/investor/export").await.status);
        }
        assert_eq!(answers, [200, 200, 200, 429]);
        assert_eq!(ines.get("/v1/investor/profile").await.status, 200);
    }
}
