//! Rules that hold for every endpoint: a repeated creation makes one row, a duplicate field is refused, lists filter alike, and
//! personal data is hidden from callers who do not need it.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, OfferingFixture, Person};

const ADDRESS: &str = "0x52908400098527886E0F7030069857D2E4169EE7";

async fn keyed(person: &Person, path: &str, key: &str, body: &Value) -> Answer {
    person.client().post(path, key, body.clone()).await.unwrap()
}

/// Lists with a status filter, and one of their statuses.
const LISTS: &[(&str, &str, &str)] = &[
    ("/v1/offerings", "draft,open", "offerings"),
    ("/v1/subscriptions", "committed,binding", "subscriptions"),
    ("/v1/distributions", "draft,approved", "distributions"),
    ("/v1/investors", "not_started,approved", "investors"),
    ("/v1/issuers", "pending,active", "issuers"),
    ("/v1/users", "active,disabled", "users"),
    ("/v1/approvals", "pending,rejected", "approvals"),
    ("/blockchain/operations", "pending,failed", "operations"),
    ("/blockchain/reconciliation-runs", "running,completed", "reconciliation_runs"),
    ("/v1/webhooks/endpoints", "enabled,disabled", "webhook_endpoints"),
];

on_both_databases! {
    async fn a_repeated_creation_makes_one_row_and_returns_the_same_response(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let ada_id = ada.get("/v1/investor/profile").await.text("/id");
        let papers = json!({ "level": "basic", "data": { "date_of_birth": "1984-02-29", "document_number": "L01X00T47" } });
        for (who, path, body, status, table) in [
            (&issuer, "/v1/api-keys".to_owned(), json!({ "name": "k", "scopes": ["offerings:read"] }), 201, "api_keys"),
            (&ada, "/v1/webhooks/endpoints".to_owned(), json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] }), 201, "webhook_endpoints"),
            (&ada, "/v1/investor/kyc".to_owned(), papers, 202, "kyc_cases"),
            (&ada, "/v1/investor/wallets".to_owned(), json!({ "address": ADDRESS }), 201, "wallet_challenges"),
            (&olga, format!("/v1/investors/{ada_id}/documents"), json!({ "kind": "subscription_consent", "sha256": "ab".repeat(32) }), 201, "investor_documents"),
        ] {
            let first = keyed(who, &path, "once", &body).await;
            assert_eq!(first.status, status, "{path}: {first:?}");
            let again = keyed(who, &path, "once", &body).await;
            assert_eq!((again.status, &again.body, again.headers.get("etag")), (status, &first.body, first.headers.get("etag")), "{path}");
            assert_eq!((again.headers["idempotent-replayed"].to_str().unwrap(), api.count(table).await), ("true", 1), "{path}");
            let mut other = body.clone();
            other["label"] = json!("another");
            let reused = keyed(who, &path, "once", &other).await;
            assert!(reused.status == 422, "{path}: {reused:?}");
        }
        let reused = keyed(&issuer, "/v1/api-keys", "once", &json!({ "name": "other", "scopes": ["offerings:read"] })).await;
        assert_eq!(reused.problem(), (422, "idempotency_key_reuse".to_owned()));
        // Secrets shown once are in no row, and request values cannot be derived from a row.
        for secret in ["%rap_test_%", "%whsec_%", "%1984-02-29%"] {
            assert_eq!(api.count(&format!("idempotency_keys where body like '{secret}' or fingerprint like '{secret}'")).await, 0);
        }
        assert_eq!(issuer.post("/v1/api-keys", json!({ "name": "k", "scopes": ["offerings:read"] })).await.status, 201);
        assert_eq!(api.count("api_keys").await, 2);
    }

    async fn a_repeated_rotation_makes_no_second_secret(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ines, ada) = (api.person(&server, "ines", Role::Issuer).await, api.person(&server, "ada", Role::Investor).await);
        let key = ines.post("/v1/api-keys", json!({ "name": "k", "scopes": ["offerings:read"] })).await;
        let endpoint = ada.post("/v1/webhooks/endpoints", json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] })).await;
        let (rotate, rotate_secret) = (format!("/v1/api-keys/{}/rotate", key.text("/id")), format!("/v1/webhooks/endpoints/{}/rotate-secret", endpoint.text("/id")));
        for (who, path, status, shown) in [(&ines, &rotate, 201, "/key"), (&ada, &rotate_secret, 200, "/secret")] {
            let first = keyed(who, path, "turn", &json!({ "overlap_hours": 1 })).await;
            assert_eq!(first.status, status, "{first:?}");
            let again = keyed(who, path, "turn", &json!({ "overlap_hours": 1 })).await;
            assert_eq!((again.status, again.text(shown), again.headers["idempotent-replayed"].to_str().unwrap()), (status, first.text(shown), "true"));
            assert!(!first.text(shown).is_empty());
            assert_eq!(keyed(who, path, "turn", &json!({ "overlap_hours": 2 })).await.problem(), (422, "idempotency_key_reuse".to_owned()));
            assert_eq!(keyed(who, path, "other", &json!({ "overlap_hours": 73 })).await.text("/errors/0/pointer"), "/overlap_hours");
        }
        assert_eq!((api.count("api_keys").await, api.count("webhook_secrets").await), (2, 2));
        for secret in ["%rap_test_%", "%whsec_%"] {
            assert_eq!(api.count(&format!("idempotency_keys where body like '{secret}'")).await, 0);
        }
        // A key is rotated once. A webhook secret can be rotated again, without a body or a key; of many concurrent secrets one has no end.
        assert_eq!(ines.change("POST", &rotate, None).await.problem(), (409, "invalid_state".to_owned()));
        let many = futures::future::join_all((0..6).map(|_| ada.change("POST", &rotate_secret, None))).await;
        assert!(many.iter().any(|turned| turned.status == 200) && many.iter().all(|turned| [200, 503].contains(&turned.status)), "{many:?}");
        assert_eq!((api.count("webhook_secrets where expires_at is null").await, api.count("webhook_secrets").await), (1, 2));
        for path in [rotate, rotate_secret] {
            assert_eq!(api.person(&server, &format!("eve{}", path.len()), Role::Issuer).await.change("POST", &path, None).await.status, 404, "{path}");
        }
    }

    async fn lists_without_status_are_filtered_by_time(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (admin, ada) = (api.person(&server, "admin", Role::Admin).await, api.person(&server, "ada", Role::Investor).await);
        let ines = api.person(&server, "ines", Role::Issuer).await;
        assert_eq!(ines.post("/v1/api-keys", json!({ "name": "k", "scopes": ["offerings:read"] })).await.status, 201);
        let invited = json!({ "email": "carl@people.example", "name": "Carl", "roles": ["operator"], "reason": "nights" });
        assert_eq!(admin.post("/v1/users", invited).await.status, 202);
        api.write(&format!("insert into wallets (id, investor_id, address, verified_at, created_at) select 'wal_01jc0000000000000000000000', id, '{}', \
            created_at, created_at from investors where user_id = '{}'", ADDRESS.to_lowercase(), ada.id)).await;
        api.fanned_out().await;
        for (who, path) in [(&admin, "/v1/api-keys"), (&ada, "/v1/investor/wallets"), (&admin, "/v1/events")] {
            let found = async |query: &str| {
                let listed = who.get(&format!("{path}?{query}")).await;
                assert_eq!(listed.status, 200, "{path}?{query}: {listed:?}");
                listed.body["data"].as_array().unwrap().len()
            };
            let all = found("limit=100").await;
            assert!(all > 0, "{path}");
            let whole = found("limit=100&created_from=2020-01-01T00:00:00Z&created_to=2099-01-01T00:00:00Z").await;
            assert_eq!((whole, found("created_to=2020-01-01T00:00:00Z").await, found("created_from=2099-01-01T00:00:00Z").await), (all, 0, 0), "{path}");
            for wrong in ["created_from=now", "created_from=2026-01-02T00:00:00Z&created_to=2026-01-01T00:00:00Z"] {
                assert_eq!(who.get(&format!("{path}?{wrong}")).await.problem(), (400, "invalid_parameter".to_owned()), "{path}?{wrong}");
            }
        }
    }

    async fn a_program_needs_an_idempotency_key_to_move_money_and_a_person_does_not(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let server = fixture.server.as_ref().unwrap();
        let admin = fixture.api.person(server, "admin", Role::Admin).await;
        let scopes = ["ops:write", "ops:freeze", "distributions:write", "payments:write"];
        let second = fixture.api.person(server, "second", Role::Admin).await;
        let made = admin.key(&second, json!({ "name": "k", "scopes": scopes })).await;
        assert_eq!(made.status, 201, "{made:?}");
        let program = server.client().with_key(&made.text("/key"));
        let (off, sub, needed) = ("off_01jc0000000000000000000000", "sub_01jc0000000000000000000000", (400, "idempotency_key_required".to_owned()));
        for (path, body) in [
            ("/blockchain/deploy-token".to_owned(), json!({ "offering_id": off })),
            ("/blockchain/freeze".to_owned(), json!({ "offering_id": off, "address": ADDRESS, "reason_code": "sanctions" })),
            ("/blockchain/operations/op_01jc0000000000000000000000/retry".to_owned(), json!({ "reason": "x" })),
            (format!("/v1/subscriptions/{sub}/payments"), json!({ "type": "received", "amount": "1.00", "method": "bank_transfer", "external_reference": "x" })),
            ("/v1/distributions/dist_01jc0000000000000000000000/snapshot".to_owned(), json!({})),
        ] {
            let requested = program.change("POST", &path, Some(body.clone())).await.unwrap();
            assert_eq!(requested.problem(), needed, "{path}: {requested:?}");
            let requested = admin.post(&path, body).await;
            assert_eq!(requested.problem(), (404, "not_found".to_owned()), "{path}: {requested:?}");
        }
        let taken = program.change("POST", &format!("/v1/subscriptions/{sub}/accept"), Some(json!({}))).await.unwrap();
        assert_eq!(taken.problem(), (404, "not_found".to_owned()), "no Idempotency-Key is needed here: {taken:?}");
    }

    async fn a_duplicate_field_is_refused_everywhere(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        for (path, body, pointer) in [
            ("/v1/api-keys", r#"{"name":"k","scopes":["me:read"],"name":"l"}"#, "/name"),
            ("/v1/auth/step-up", r#"{"password":"a","\u0070assword":"b"}"#, "/password"),
            ("/v1/webhooks/endpoints", r#"{"url":"https://a.example/","event_types":["*"],"headers":{"x-a":"1","x-b":"2","x-a":"3"}}"#, "/headers/x-a"),
        ] {
            let refused = admin.client().post_text(path, None, body.to_owned()).await.unwrap();
            assert_eq!(refused.problem(), (400, "malformed_json".to_owned()), "{refused:?}");
            assert_eq!((refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), (pointer.to_owned(), "duplicate".to_owned()));
        }
        assert_eq!((api.count("api_keys").await, api.count("webhook_endpoints").await), (0, 0));
    }

    async fn every_list_filters_by_statuses_and_time_range(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let admin = fixture.api.person(fixture.server.as_ref().unwrap(), "admin", Role::Admin).await;
        let id = fixture.draft(json!({})).await;
        let requested = fixture.act(&fixture.issuer, &id, "cancel", json!({ "reason": "no" })).await;
        assert_eq!(requested.status, 202, "{requested:?}");
        assert_eq!(admin.post("/blockchain/reconciliation-runs", json!({})).await.status, 202);
        for (path, statuses, table) in LISTS {
            let total = async |query: &str| {
                let listed = admin.get(&format!("{path}?{query}")).await;
                assert_eq!(listed.status, 200, "{path}?{query}: {listed:?}");
                listed.body["pagination"]["total"].as_i64().unwrap()
            };
            let all = fixture.api.count(table).await;
            assert_eq!(total(&format!("status={statuses}")).await, all, "{path}");
            assert_eq!(total("created_from=2026-01-01T00:00:00Z&created_to=2099-01-01T00:00:00Z").await, all, "{path}");
            assert_eq!((total("created_to=2026-01-01T00:00:00Z").await, total("created_from=2099-01-01T00:00:00Z").await), (0, 0), "{path}");
            for wrong in ["status=sold", "status=", "created_from=now", "created_from=2026-01-02T00:00:00Z&created_to=2026-01-01T00:00:00Z"] {
                let refused = admin.get(&format!("{path}?{wrong}")).await;
                assert_eq!(refused.problem(), (400, "invalid_parameter".to_owned()), "{path}?{wrong}");
            }
        }
        let own = format!("/v1/offerings/{id}/subscriptions?status=committed,binding&created_to=2099-01-01T00:00:00Z");
        assert_eq!(fixture.issuer.get(&own).await.status, 200);
    }

    async fn an_auditor_sees_actions_without_personal_data(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let auditor = api.person(&server, "auditor", Role::Auditor).await;
        let body = json!({ "email": "Hidden@people.example", "name": "Hidden Person", "roles": ["operator"], "reason": "nights" });
        let requested = keyed(&admin, "/v1/users", "invite", &body).await;
        assert_eq!((requested.status, requested.text("/approval/subject/type")), (202, "user".to_owned()), "{requested:?}");
        let path = requested.headers["location"].to_str().unwrap().to_owned();
        let seen = admin.get(&path).await;
        assert_eq!((seen.text("/payload/email"), seen.text("/payload/name")), ("hidden@people.example".to_owned(), "Hidden Person".to_owned()));
        let masked = auditor.get(&path).await;
        assert_eq!((masked.text("/payload/email"), masked.text("/payload/name")), ("h…@people.example".to_owned(), "H… P…".to_owned()));
        assert_eq!(masked.text("/payload_sha256"), seen.text("/payload_sha256"));
        for list in ["/v1/approvals", "/v1/users", "/v1/events", "/v1/audit-log", &path] {
            let shown = auditor.get(list).await.body.to_string().to_lowercase();
            for personal in ["hidden", "somebody", "admin@people"] {
                assert!(!shown.contains(personal), "{list} shows {personal}: {shown}");
            }
        }
        assert_eq!(api.count("events where lower(cast(data as text)) like '%hidden%'").await, 0);
        // The account gets the id that was reserved for it.
        let other = api.person(&server, "other", Role::Admin).await;
        let body = json!({ "payload_sha256": seen.text("/payload_sha256") });
        let approved = other.client().on_version(1).post(&format!("{path}/approve"), "yes", body).await.unwrap();
        assert!(approved.status < 300, "{approved:?}");
        assert_eq!(api.rows("select id from users where email = 'hidden@people.example'").await, [[requested.text("/approval/subject/id")]]);
    }

    async fn an_issuer_follows_and_cancels_its_own_approvals(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let ask = async |id: &str| {
            let requested = fixture.act(&fixture.issuer, id, "cancel", json!({ "reason": "no demand" })).await;
            assert_eq!(requested.status, 202, "{requested:?}");
            format!("/v1/approvals/{}", requested.text("/approval/id"))
        };
        let id = fixture.draft(json!({})).await;
        let path = ask(&id).await;
        let (own, full) = (fixture.issuer.get(&path).await, fixture.olga.get(&path).await);
        assert_eq!((own.status, own.text("/status"), &own.body["payload"], &own.body["outlook"]), (200, "pending".to_owned(), &Value::Null, &Value::Null));
        assert_eq!((full.text("/payload/reason"), own.text("/history/0/actor")), ("no demand".to_owned(), fixture.issuer.id.clone()));
        assert_eq!(fixture.issuer.get("/v1/approvals").await.text("/data/0/id"), own.text("/id"));
        let (eve, _) = fixture.other_issuer("eve").await;
        assert_eq!((eve.get(&path).await.status, eve.get("/v1/approvals").await.body["data"].clone()), (404, json!([])));

        let no = fixture.olga.client().on_version(1).change("POST", &format!("{path}/reject"), Some(json!({ "comment": "go on" }))).await.unwrap();
        assert_eq!((no.status, no.text("/checker")), (200, fixture.olga.id.clone()), "{no:?}");
        let shown = fixture.issuer.get(&path).await;
        assert_eq!((shown.text("/status"), shown.text("/decision_reason"), shown.text("/history/1/reason")), ("rejected".to_owned(), "go on".to_owned(), "go on".to_owned()));
        assert!(!shown.body.to_string().contains(&fixture.olga.id), "the approver on the platform's side is not shown: {shown:?}");

        let path = ask(&id).await;
        let cancel = async |who: &Person| {
            who.client().on_version(1).change("POST", &format!("{path}/cancel"), Some(json!({}))).await.unwrap()
        };
        assert_eq!(cancel(&eve).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(cancel(&fixture.issuer).await.text("/status"), "cancelled");
        assert_eq!(cancel(&fixture.issuer).await.problem().0, 412);
    }

    async fn notification_preferences_and_key_limits_are_kept(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("rates", "key_per_minute", "1200");
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        assert_eq!(ada.get("/v1/auth/me").await.body["notification_prefs"], json!({}));
        let prefs = json!({ "subscription": true, "distribution": false });
        let changed = ada.change("PATCH", "/v1/auth/me", Some(json!({ "notification_prefs": prefs }))).await;
        assert_eq!((changed.status, &changed.body["notification_prefs"]), (200, &prefs), "{changed:?}");
        for (wrong, pointer, code) in [
            (json!({ "weather": true }), "/notification_prefs/weather", "event_type_unknown"),
            (json!({ "subscription": "yes" }), "/notification_prefs/subscription", "type_mismatch"),
        ] {
            let refused = ada.change("PATCH", "/v1/auth/me", Some(json!({ "notification_prefs": wrong }))).await;
            assert_eq!((refused.status, refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), (422, pointer.to_owned(), code.to_owned()));
        }
        assert_eq!(ada.change("PATCH", "/v1/auth/me", Some(json!({ "name": "Ada" }))).await.body["notification_prefs"], prefs);

        let (issuer, admin) = (api.person(&server, "issuer", Role::Issuer).await, api.person(&server, "admin", Role::Admin).await);
        let make = async |who: &Person, rate: i64| who.post("/v1/api-keys", json!({ "name": "k", "scopes": ["me:read"], "rate_limit": rate })).await;
        assert_eq!((make(&issuer, 1_201).await.text("/errors/0/pointer"), make(&issuer, 1_200).await.status, make(&admin, 1_201).await.status), ("/rate_limit".to_owned(), 201, 202));
        let many = futures::future::join_all((0..22).map(|_| make(&issuer, 10))).await;
        assert_eq!(many.iter().filter(|made| made.status == 201).count(), 19);
        let refused = many.iter().find(|made| made.status != 201).unwrap();
        assert_eq!(refused.problem(), (409, "invalid_state".to_owned()), "{refused:?}");
        assert_eq!(api.count(&format!("api_keys where user_id = '{}'", issuer.id)).await, 20);
        let revoked = issuer.change("DELETE", &format!("/v1/api-keys/{}", many.iter().find(|made| made.status == 201).unwrap().text("/id")), None).await;
        assert_eq!((revoked.status, make(&issuer, 10).await.status), (204, 201));
    }
}
