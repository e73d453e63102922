//! Details of audit entries: values before and after, but only the field name for personal or secret data.

use alloy::primitives::Address;
use muniment_domain::audit::{Act, acting};
use muniment_domain::lane::{self, Mode};
use muniment_domain::point::Point;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{
    ApiFixture, OfferingFixture, PASSWORD, PayoutFixture, SubscriptionFixture, ledger_rows, open, shown, wallet,
};

/// The changes of an entry, as the log shows them. Both hashes are present and differ.
fn changed(rows: &[Vec<String>]) -> Value {
    let detail: Value = serde_json::from_str(&rows.first().expect("a line")[0]).unwrap();
    assert!(detail["before_sha256"].is_string() && detail["before_sha256"] != detail["after_sha256"], "{detail}");
    detail["diff_redacted"].clone()
}

fn line(action: &str, id: &str) -> String {
    format!("select detail from audit_log where action = '{action}' and object_id = '{id}' order by id desc")
}

on_both_databases! {
    async fn a_subscription_is_audited_with_amounts_wallets_and_statuses(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        fixture.give_wallet(&fixture.investor, 1).await;
        let id = fixture.committed("1500.00").await;
        let moved = fixture.investor.change("PATCH", &format!("/v1/subscriptions/{id}"), Some(json!({ "wallet_address": shown(wallet(1)) }))).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        let diff = changed(&fixture.rows(&line("PATCH /v1/subscriptions/{id}", &id)).await);
        assert_eq!(diff["wallet_address"]["to"].as_str().unwrap().to_lowercase(), format!("{:#x}", wallet(1)), "{diff}");
        fixture.write(&format!("update subscriptions set status = 'binding' where id = '{id}'")).await;
        assert_eq!(fixture.pay(&id, "1500.00", "r1").await.status, 201);
        let diff = changed(&fixture.rows(&line("POST /v1/subscriptions/{id}/payments", &id)).await);
        assert_eq!(diff["received_amount"], json!({ "from": "0", "to": "150000" }), "{diff}");
        let taken = fixture.act(&fixture.operator, &id, "accept", json!({})).await;
        assert_eq!(taken.status, 200, "{taken:?}");
        let diff = changed(&fixture.rows(&line("POST /v1/subscriptions/{id}/accept", &id)).await);
        assert_eq!((&diff["status"], &diff["quantity"]["from"]), (&json!({ "from": "binding", "to": "accepted" }), &Value::Null), "{diff}");
        assert!(diff["quantity"]["to"].is_string());
    }

    async fn the_utc_offset_of_an_offering_is_audited(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let id = fixture.issuer.post("/v1/offerings", OfferingFixture::terms(json!({}))).await.text("/id");
        let path = format!("/v1/offerings/{id}");
        let written = fixture.issuer.change("PATCH", &path, Some(json!({ "utc_offset_minutes": 60 }))).await;
        assert_eq!(written.status, 200, "{written:?}");
        let diff = changed(&fixture.api.rows(&line("PATCH /v1/offerings/{id}", &id)).await);
        assert_eq!(diff, json!({ "utc_offset_minutes": { "from": "0", "to": "60" } }));
    }

    async fn endpoints_keys_and_issuers_are_audited_without_secrets_and_names(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, issuer) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "isak", Role::Issuer).await);
        let made = ada.post("/v1/webhooks/endpoints", json!({ "url": "https://hooks.portal.example/?code=hidden", "event_types": ["*"] })).await;
        let id = made.text("/id");
        let change = json!({ "url": "https://hooks.portal.example/?code=hidden2", "headers": { "x-a": "hidden" }, "rate_limit_per_minute": 6 });
        assert_eq!(ada.change("PATCH", &format!("/v1/webhooks/endpoints/{id}"), Some(change)).await.status, 200);
        let diff = changed(&api.rows(&line("PATCH /v1/webhooks/endpoints/{id}", &id)).await);
        assert_eq!(diff, json!({ "url": {}, "headers": {}, "rate_limit_per_minute": { "from": null, "to": "6" } }));
        assert_eq!(ada.change("DELETE", &format!("/v1/webhooks/endpoints/{id}"), None).await.status, 204);
        let diff = changed(&api.rows(&line("DELETE /v1/webhooks/endpoints/{id}", &id)).await);
        assert_eq!(diff["status"], json!({ "from": "enabled", "to": "deleted" }));

        let key = issuer.post("/v1/api-keys", json!({ "name": "hidden", "scopes": ["offerings:read"] })).await.text("/id");
        assert_eq!(issuer.change("DELETE", &format!("/v1/api-keys/{key}"), None).await.status, 204);
        let diff = changed(&api.rows(&line("DELETE /v1/api-keys/{id}", &key)).await);
        assert_eq!((diff.as_object().unwrap().len(), &diff["revoked_at"]["from"]), (1, &Value::Null), "{diff}");

        let body = json!({ "email": "ines@people.example", "password": PASSWORD, "name": "Ines", "country": "DE",
            "account_type": "issuer", "organization_name": "Hidden Estates" });
        let issuer = server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.unwrap();
        let issuer = api.rows(&format!("select issuer_id from users where id = '{}'", issuer.text("/id"))).await[0][0].clone();
        let olga = api.person(&server, "olga", Role::Operator).await;
        assert_eq!(olga.post(&format!("/v1/issuers/{issuer}/approve"), json!({})).await.status, 200);
        let diff = changed(&api.rows(&line("POST /v1/issuers/{id}/approve", &issuer)).await);
        assert_eq!(diff, json!({ "status": { "from": "pending", "to": "active" } }));
        assert_eq!(api.count("audit_log where lower(detail) like '%hidden%'").await, 0);
    }

    async fn a_payout_is_audited_with_its_entitlements_and_approver(database: Database) {
        let fixture = PayoutFixture::with(database, 2, |site| site.config.payout_threshold("10.00")).await;
        let id = fixture.calculated("direct_payout", "100.00").await;
        let requested = fixture.act("submit", &id, "submit").await;
        assert_eq!(fixture.approve(&requested).await.text("/status"), "executed", "{requested:?}");
        let about = |id: &str| format!("select detail from audit_log where object_id = '{id}' and actor_kind = 'person' order by id desc");
        let diff = changed(&fixture.site.rows(&about(&requested.text("/approval/id"))).await);
        let decision = (&diff["status"], &diff["checker"]["to"], &diff["decision_reason"]);
        assert_eq!(decision.0, &json!({ "from": "pending", "to": "executed" }), "{diff}");
        assert!(decision.1.as_str().unwrap().starts_with("usr_") && decision.2 != &diff["checker"], "{diff}");
        let diff = changed(&fixture.site.rows(&about(&id)).await);
        assert_eq!(diff["status"], json!({ "from": "awaiting_approval", "to": "approved" }), "{diff}");
        let part = fixture.parts(&id).await[0].0.clone();
        assert_eq!(fixture.decide("hold", &id, &part, "hold").await.status, 200);
        let diff = changed(&fixture.site.rows(&about(&part)).await);
        assert_eq!(diff, json!({ "status": { "from": "calculated", "to": "held" }, "hold_reason": { "from": null, "to": "operator" }, "note": {} }));
    }

    async fn pausing_a_lane_is_audited(database: Database) {
        let db = open(&database.url()).await;
        let mut tx = db.begin().await.unwrap();
        let signer = lane::ensure(&mut tx, 1, Address::repeat_byte(1), 7).await.unwrap();
        tx.commit(Point::Housekeeping).await.unwrap();
        acting(Act::host_command("muniment admin lane pause"), async {
            let mut tx = db.begin().await.unwrap();
            lane::set_mode(&mut tx, &signer, Mode::Paused, "Eve looked odd", 9).await.unwrap();
            tx.commit(Point::Housekeeping).await.unwrap();
        })
        .await;
        db.close().await;
        let rows = ledger_rows(&database, &line("muniment admin lane pause", &signer.id)).await;
        let next = json!({ "from": "7", "to": "9" });
        assert_eq!(changed(&rows), json!({ "mode": { "from": "active", "to": "paused" }, "next_nonce": next, "mode_reason": {} }));
    }
}
