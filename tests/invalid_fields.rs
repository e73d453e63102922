//! All invalid fields of a request are named at once, so that a person corrects a form in one go.

use std::collections::BTreeSet;

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Database, Engine};

use crate::installation::{Answer, OfferingFixture, SubscriptionFixture};

/// Each invalid field with its code.
fn named(answer: &Answer) -> BTreeSet<String> {
    assert_eq!(answer.problem(), (422, "validation_failed".to_owned()), "{answer:?}");
    let errors = answer.body["errors"].as_array().unwrap_or_else(|| panic!("{answer:?}"));
    for error in errors {
        assert!(error["detail"].as_str().is_some_and(|detail| detail.ends_with('.')), "{error}");
    }
    let text = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let found: BTreeSet<_> = errors.iter().map(|error| text(error, "pointer") + " " + &text(error, "code")).collect();
    assert_eq!(found.len(), errors.len(), "each once: {answer:?}");
    // The sentence for people names them too.
    let detail = answer.text("/detail");
    assert!(errors.len() < 2 || errors.iter().all(|error| detail.contains(&text(error, "pointer"))), "{detail}");
    found
}

fn all(fields: &[&str]) -> BTreeSet<String> {
    fields.iter().map(|field| (*field).to_owned()).collect()
}

async fn fixture() -> SubscriptionFixture {
    SubscriptionFixture::new(Database::fresh(Engine::Sqlite).await, |_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_that_cannot_be_read_is_named_at_once() {
    let fixture = fixture().await;
    let stranger = fixture.server.anonymous();
    let register = async |body: Value| stranger.change("POST", "/v1/auth/register", Some(body)).await.unwrap();
    // Wrong types, unknown and missing fields, at every depth.
    let unread = register(json!({ "email": 7, "password": null, "nickname": "a", "account_type": "bank" })).await;
    let fields = [
        "/email type_mismatch",
        "/password type_mismatch",
        "/nickname unknown_field",
        "/account_type type_mismatch",
        "/name required",
    ];
    assert_eq!(named(&unread), all(&fields));
    let draft = json!({ "name": 1, "hard_cap": "5", "closes_at": "soon", "lockup": { "enabled": "yes", "from": 1 }, "payment_methods": ["cash", "gold"] });
    let unread = fixture.issuer.post("/v1/offerings", draft).await;
    let fields = [
        "/name type_mismatch",
        "/hard_cap amount_format",
        "/closes_at type_mismatch",
        "/lockup/enabled type_mismatch",
        "/lockup/from unknown_field",
        "/payment_methods/0 type_mismatch",
        "/payment_methods/1 type_mismatch",
        "/template required",
        "/currency required",
        "/minimum_investment required",
        "/target_amount required",
        "/token_symbol required",
        "/network required",
    ];
    assert_eq!(named(&unread), all(&fields));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_field_of_a_registration_or_person_is_named_at_once() {
    let fixture = fixture().await;
    let stranger = fixture.server.anonymous();
    let register = async |body: Value| stranger.change("POST", "/v1/auth/register", Some(body)).await.unwrap();
    let wrong = register(
        json!({ "email": "ada", "password": "short", "name": "\u{200b}", "country": "XX", "account_type": "issuer" }),
    )
    .await;
    let fields = [
        "/email email_format",
        "/password password_too_short",
        "/name name_format",
        "/country country_format",
        "/organization_name required",
    ];
    assert_eq!(named(&wrong), all(&fields));
    let wrong = fixture.issuer.post("/v1/offerings", json!({})).await;
    assert_eq!(named(&wrong).len(), 9, "{wrong:?}");
    let admin = fixture.api.person(&fixture.server, "ada", Role::Admin).await;
    let wrong =
        admin.post("/v1/users", json!({ "email": "olga", "name": "", "roles": ["investor"], "reason": "" })).await;
    let fields = ["/email email_format", "/name name_format", "/roles unexpected", "/reason required"];
    assert_eq!(named(&wrong), all(&fields));
    let body = json!({ "name": "", "scopes": ["a", "ops:read"], "expires_at": "2020-01-01T00:00:00Z", "allowed_cidrs": ["x"], "rate_limit": 0 });
    let wrong = fixture.issuer.post("/v1/api-keys", body).await;
    let fields = [
        "/name name_format",
        "/scopes/0 scope_unknown",
        "/scopes/1 scope_forbidden",
        "/expires_at out_of_range",
        "/allowed_cidrs/0 network_format",
        "/rate_limit out_of_range",
    ];
    assert_eq!(named(&wrong), all(&fields));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_field_of_an_identity_check_is_named_at_once() {
    let fixture = fixture().await;
    let investor = fixture.investor.get("/v1/investor/profile").await.text("/id");
    let wrong = fixture
        .operator
        .post(&format!("/v1/investors/{investor}/kyc/decision"), json!({ "decision": "approve", "reason_code": "A b" }))
        .await;
    let fields = ["/evidence_sha256 required", "/screening required", "/reason_code code_format"];
    assert_eq!(named(&wrong), all(&fields));
    let papers = json!({ "level": "enhanced", "country": "XX", "data": { "nationality": "YY", "address": "" } });
    let wrong = fixture.investor.post("/v1/investor/kyc", papers).await;
    let fields = [
        "/country country_format",
        "/data/nationality country_format",
        "/data/address text_format",
        "/data/date_of_birth required",
        "/data/document_number required",
        "/data/source_of_funds required",
    ];
    assert_eq!(named(&wrong), all(&fields));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_field_of_a_subscription_mint_or_payout_is_named_at_once() {
    let fixture = fixture().await;
    let body =
        json!({ "amount": "1500.00", "reference": "x".repeat(201), "investor_id": "me", "consent_document_id": "it" });
    let wrong = fixture.investor.post(&fixture.path(), body).await;
    let fields = ["/reference above_maximum", "/investor_id id_format", "/consent_document_id id_format"];
    assert_eq!(named(&wrong), all(&fields));
    let body = json!({ "offering_id": "off", "subscription_ids": ["a", "b"], "lockup": { "release_at": "2020-01-01T00:00:00Z" } });
    let wrong = fixture.operator.client().post("/blockchain/trigger-mint", "mint", body).await.unwrap();
    let fields = [
        "/offering_id id_format",
        "/subscription_ids/0 id_format",
        "/subscription_ids/1 id_format",
        "/lockup/release_at below_minimum",
    ];
    assert_eq!(named(&wrong), all(&fields));
    let body = json!({ "offering_id": "off", "type": "rent", "method": "direct_payout", "record_date": "2026-12-31", "payment_date": "2027-01-15",
        "total_amount": "1.00", "per_unit_amount": "1.00", "partition": "40", "memo": "x".repeat(501) });
    let wrong = fixture.issuer.post("/v1/distributions", body).await;
    let fields =
        ["/offering_id id_format", "/per_unit_amount conflict", "/partition partition_unknown", "/memo above_maximum"];
    assert_eq!(named(&wrong), all(&fields));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_field_of_a_webhook_is_named_at_once() {
    let fixture = fixture().await;
    let body = json!({ "url": "ftp://a", "event_types": ["moon"], "description": "x".repeat(501), "headers": { "host": "a" },
        "rate_limit_per_minute": 0, "offering_ids": ["a"] });
    let wrong = fixture.investor.post("/v1/webhooks/endpoints", body.clone()).await;
    let fields = [
        "/url url_forbidden",
        "/event_types/0 event_type_unknown",
        "/description too_long",
        "/headers/host header_reserved",
        "/rate_limit_per_minute out_of_range",
        "/offering_ids/0 reference_format",
    ];
    assert_eq!(named(&wrong), all(&fields));
    let sound = json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] });
    let made = fixture.investor.post("/v1/webhooks/endpoints", sound).await;
    let wrong =
        fixture.investor.change("PATCH", &format!("/v1/webhooks/endpoints/{}", made.text("/id")), Some(body)).await;
    assert_eq!(named(&wrong), all(&fields), "a change is checked like a new one");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_term_of_an_offering_is_named_at_once() {
    let fixture = OfferingFixture::new(Database::fresh(Engine::Sqlite).await).await;
    let wrong = json!({ "name": "Ab", "currency": "XXX", "minimum_investment": "0.00", "target_amount": "0.00", "token_symbol": "sun",
        "token_decimals": 19, "partition": "33", "closes_at": "2020-01-01T00:00:00Z", "allowed_countries": ["XX"], "holder_cap": 0,
        "payment_methods": [], "utc_offset_minutes": 900, "cover_image_url": "http://a.example/", "exemption": "reg_d_506b",
        "visibility": "public" });
    let fields = all(&[
        "/name length_out_of_range",
        "/currency currency_unknown",
        "/minimum_investment below_minimum",
        "/target_amount below_minimum",
        "/token_symbol symbol_format",
        "/token_decimals out_of_range",
        "/partition partition_unknown",
        "/closes_at below_minimum",
        "/allowed_countries country_format",
        "/holder_cap below_minimum",
        "/payment_methods required",
        "/utc_offset_minutes out_of_range",
        "/cover_image_url url_forbidden",
        "/visibility exemption_limit",
        "/lockup exemption_limit",
    ]);
    let refused = fixture.issuer.post("/v1/offerings", OfferingFixture::terms(wrong.clone())).await;
    assert_eq!(named(&refused), fields);
    let id = fixture.draft(json!({})).await;
    let refused = fixture.issuer.change("PATCH", &format!("/v1/offerings/{id}"), Some(wrong)).await;
    assert_eq!(named(&refused), fields, "a change is checked like a new one");
    let wrong = json!({ "lockup": { "enabled": true, "days": -1 }, "cooling_off": { "hours": -1 }, "allowed_countries": ["DE FR"] });
    let refused = fixture.issuer.change("PATCH", &format!("/v1/offerings/{id}"), Some(wrong)).await;
    let fields = ["/lockup/days required", "/cooling_off/hours below_minimum", "/allowed_countries country_format"];
    assert_eq!(named(&refused), all(&fields));
}
