//! A replay: a request that is sent again under its Idempotency-Key gets its first answer, whatever its body is worth by now.

use chrono::{Duration, Utc};
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, Person};

async fn keyed(person: &Person, path: &str, key: &str, body: &Value) -> Answer {
    person.client().post(path, key, body.clone()).await.unwrap()
}

on_both_databases! {
    async fn a_replay_is_not_refused_because_a_time_in_it_has_passed(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        let ada = api.person(&server, "ada", Role::Investor).await.get("/v1/investor/profile").await.text("/id");
        let soon = Utc::now() + Duration::seconds(60);
        let finding = json!({ "status": "verified", "basis": "net_worth", "evidence_sha256": "ab".repeat(32), "expires_at": soon });
        let cases = [
            (&olga, format!("/v1/investors/{ada}/accreditation"), finding, 200, "accreditations"),
            (&issuer, "/v1/api-keys".to_owned(), json!({ "name": "k", "scopes": ["offerings:read"], "expires_at": soon }), 201, "api_keys"),
        ];
        let mut first = Vec::new();
        for (who, path, body, status, _) in &cases {
            let answer = keyed(who, path, "once", body).await;
            assert_eq!(answer.status, *status, "{path}: {answer:?}");
            first.push(answer.body);
        }
        assert_eq!(olga.post("/v1/test-clock/advance", json!({ "advance_seconds": 120 })).await.status, 200);
        for ((who, path, body, status, table), first) in cases.iter().zip(&first) {
            let again = keyed(who, path, "once", body).await;
            assert_eq!((again.status, &again.body), (*status, first), "{path}");
            assert_eq!(again.headers["idempotent-replayed"], "true", "{path}");
            // Another body under the key is told so, whatever else is wrong with it.
            for (field, value) in [("expires_at", json!(soon - Duration::seconds(1))), ("colour", json!("red"))] {
                let mut other = body.clone();
                other[field] = value;
                let reused = keyed(who, path, "once", &other).await;
                assert_eq!(reused.problem(), (422, "idempotency_key_reuse".to_owned()), "{path}: {field}");
            }
            // A first request is refused, its key is not spent, and nothing has changed.
            let late = keyed(who, path, "late", body).await;
            assert_eq!(late.field(), (422, "/expires_at".to_owned(), "out_of_range".to_owned()), "{path}");
            assert_eq!(api.count(table).await, 1, "{path}");
            let mut corrected = body.clone();
            corrected["expires_at"] = json!(soon + Duration::days(1));
            assert_eq!(keyed(who, path, "late", &corrected).await.status, *status, "{path}");
            assert_eq!(api.count(table).await, 2, "{path}");
        }
    }

    async fn a_replay_is_not_refused_because_its_url_is_forbidden_by_now(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("webhooks", "allow_insecure", "true");
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let (path, body) = ("/v1/webhooks/endpoints", json!({ "url": "http://127.0.0.1:9999/in", "event_types": ["*"] }));
        let first = keyed(&ada, path, "once", &body).await;
        assert_eq!(first.status, 201, "{first:?}");
        drop(server);
        api.set("webhooks", "allow_insecure", "false");
        let server = api.start().await;
        let ada = Person::fresh(&server, &ada.email).await;
        let again = keyed(&ada, path, "once", &body).await;
        assert_eq!((again.status, &again.body, &again.headers["etag"]), (201, &first.body, &first.headers["etag"]));
        let late = keyed(&ada, path, "late", &body).await;
        assert_eq!(late.field(), (422, "/url".to_owned(), "url_forbidden".to_owned()));
        assert_eq!(api.count("webhook_endpoints").await, 1);
    }
}
