//! Webhook endpoints and events through the API: each owner has their own, and none reaches a private network.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{ApiFixture, OfferingFixture, Person};

const ENDPOINTS: &str = "/v1/webhooks/endpoints";
const URL: &str = "https://hooks.portal.example/in";

/// Addresses where no endpoint is allowed.
const HOSTILE: &[&str] = &[
    "",
    "hooks.portal.example",
    "//hooks.portal.example/",
    "http://hooks.portal.example/",
    "ftp://hooks.portal.example/",
    "file:///etc/passwd",
    "gopher://hooks.portal.example/",
    "javascript:alert(1)",
    "HTTPS:hooks.portal.example",
    "https://",
    "https:///in",
    "https://?x",
    "https://user@hooks.portal.example/",
    "https://user:word@hooks.portal.example/",
    "https://hooks.portal.example@127.0.0.1/",
    "https://127.0.0.1/",
    "https://127.0.0.1:443/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://192.168.1.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[fd00::1]/",
    "https://8.8.8.8/",
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://app.localhost/",
    "https://metadata.google.internal/",
    "https://printer.local/",
    "https://intranet/",
    "https://hooks.portal.example:22/",
    "https://hooks.portal.example:80/",
    "https://hooks.portal.example:0443x/",
    "https://hooks.portal.example:99999/",
    "https://hooks.portal.example:/",
    "https://hooks..example/",
    "https://-hooks.example/",
    "https://hooks_1.example/",
    "https://hooks.portal.example\\@127.0.0.1/",
    "https://hooks.portal.example/a b",
    "https://hooks.portal.example/\r\nhost: a",
    "https://hooks.portal.example/#in",
    "https://bücher.example/",
    "https://hooks.portal.example%00.evil.example/",
    "https://h\u{2e80}oks.example/",
    "https://127。0。0。1/",
    "https://0.0.0.0/",
    "https://100.64.0.1/",
    "https://198.18.0.1/",
    "https://240.0.0.1/",
    "https://[::]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fe80::1%25eth0]/",
    "ws://hooks.portal.example/",
];

async fn create(person: &Person, url: &str) -> crate::installation::Answer {
    person.post(ENDPOINTS, json!({ "url": url, "event_types": ["*"] })).await
}

on_both_databases! {
    async fn the_secret_of_an_endpoint_is_shown_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let body = json!({ "url": URL, "description": "portal", "event_types": ["subscription.*", "wallet.frozen"],
            "headers": { "x-portal": "its-own-secret" }, "rate_limit_per_minute": 60 });
        let made = ada.post(ENDPOINTS, body).await;
        assert_eq!((made.status, made.text("/status")), (201, "enabled".to_owned()), "{made:?}");
        let (secret, id) = (made.text("/secret"), made.text("/id"));
        assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
        let path = format!("{ENDPOINTS}/{id}");
        assert_eq!((made.headers["location"].to_str().unwrap(), made.headers["etag"].to_str().unwrap()), (path.as_str(), "\"v1\""));
        let read = ada.get(&path).await;
        assert_eq!((read.status, read.body.get("secret"), &read.body["headers"]), (200, None, &json!({ "x-portal": "•••" })));
        // No secret is in the database in clear.
        for column in ["webhook_endpoints where headers_sealed like '%secret%'", "webhook_secrets where secret_sealed like '%whsec%'"] {
            assert_eq!(api.count(column).await, 0);
        }
        assert_eq!((api.count("webhook_secrets").await, api.count("webhook_endpoints where headers_sealed is not null").await), (1, 1));

        let changed = ada.change("PATCH", &path, Some(json!({ "status": "disabled", "rate_limit_per_minute": null }))).await;
        assert_eq!((changed.status, changed.text("/status"), &changed.body["rate_limit_per_minute"]), (200, "disabled".to_owned(), &Value::Null));
        assert_eq!(changed.text("/description"), "portal");
        let stale = ada.client().on_version(1).change("PATCH", &path, Some(json!({ "description": "x" }))).await.unwrap();
        assert_eq!(stale.problem(), (412, "version_conflict".to_owned()));
        let seen = ada.client().on_version(2).change("PATCH", &path, Some(json!({ "status": "enabled" }))).await.unwrap();
        assert_eq!((seen.status, &seen.body["disabled_reason"]), (200, &Value::Null), "{seen:?}");

        let rotated = ada.post(&format!("{path}/rotate-secret"), json!({ "overlap_hours": 1 })).await;
        assert!(rotated.status == 200 && rotated.text("/secret") != secret, "{rotated:?}");
        assert_eq!(api.count("webhook_secrets where expires_at is not null").await, 1);
        ada.post(&format!("{path}/rotate-secret"), json!({})).await;
        assert_eq!(api.count("webhook_secrets").await, 2);
        let wrong = ada.post(&format!("{path}/rotate-secret"), json!({ "overlap_hours": 73 })).await;
        assert_eq!(wrong.text("/errors/0/pointer"), "/overlap_hours");

        assert_eq!(ada.change("DELETE", &path, None).await.status, 204);
        assert_eq!(ada.get(&path).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(ada.change("DELETE", &path, None).await.problem(), (404, "not_found".to_owned()));
        assert_eq!((ada.get(ENDPOINTS).await.body["pagination"]["total"].clone(), api.count("webhook_secrets").await), (json!(0), 0));
    }

    async fn one_version_of_an_endpoint_is_rotated_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let made = create(&ada, URL).await;
        let path = format!("{ENDPOINTS}/{}/rotate-secret", made.text("/id"));
        let rotate = async |version| ada.client().on_version(version).change("POST", &path, Some(json!({}))).await.unwrap();
        let secrets = async || api.rows("select id from webhook_secrets order by id").await.concat();
        // Of two people with the same page one rotates. The secret that the receiver knows goes on signing.
        let (one, other) = futures::join!(rotate(1), rotate(1));
        let (first, second) = if one.status == 200 { (one, other) } else { (other, one) };
        assert_eq!((first.status, second.problem()), (200, (412, "version_conflict".to_owned())), "{first:?} {second:?}");
        let known = secrets().await;
        assert_eq!(known.len(), 2);
        assert_eq!(rotate(1).await.problem(), (412, "version_conflict".to_owned()));
        assert_eq!(secrets().await, known);
        assert_eq!(rotate(2).await.status, 200, "who has seen the first rotation may rotate again");
        let unread = ada.client().send("POST", &path, &[("if-match", "v3")], Some("{}".to_owned())).await.unwrap();
        assert_eq!(unread.problem(), (400, "invalid_header".to_owned()));
    }

    async fn an_endpoint_in_a_private_network_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let made = create(&ada, URL).await;
        let path = format!("{ENDPOINTS}/{}", made.text("/id"));
        for url in HOSTILE {
            for refused in [create(&ada, url).await, ada.change("PATCH", &path, Some(json!({ "url": url }))).await] {
                assert_eq!(refused.field(), (422, "/url".to_owned(), "url_forbidden".to_owned()), "{url}");
            }
        }
        let long = format!("{URL}/{}", "a".repeat(2_048));
        assert_eq!(create(&ada, &long).await.text("/errors/0/code"), "url_forbidden");
        assert_eq!(ada.get(&path).await.body["version"], 1);
        assert_eq!(api.count("webhook_endpoints").await, 1);
    }

    async fn development_can_allow_private_endpoints(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("webhooks", "allow_insecure", "true");
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        assert_eq!(create(&ada, "http://127.0.0.1:9999/in").await.status, 201);
        assert_eq!(create(&ada, "http://user@127.0.0.1:9999/in").await.status, 422);
    }

    async fn invalid_endpoints_are_refused_and_their_number_is_limited(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        for (field, value, pointer, code) in [
            ("event_types", json!([]), "/event_types", "required"),
            ("event_types", json!(["*", "subscription.sold"]), "/event_types/1", "event_type_unknown"),
            ("event_types", json!(["operation.confirmed"]), "/event_types/0", "event_type_unknown"),
            ("offering_ids", json!(["off_1"]), "/offering_ids/0", "reference_format"),
            ("headers", json!({ "Host": "x" }), "/headers/Host", "header_reserved"),
            ("rate_limit_per_minute", json!(0), "/rate_limit_per_minute", "out_of_range"),
            ("description", json!("x".repeat(501)), "/description", "too_long"),
            ("secret", json!("mine"), "/secret", "unknown_field"),
        ] {
            let mut body = json!({ "url": URL, "event_types": ["*"] });
            body[field] = value;
            let refused = ada.post(ENDPOINTS, body).await;
            let found = refused.field();
            assert_eq!(found, (422, pointer.to_owned(), code.to_owned()));
        }
        // Seven requests at once for five places.
        let made = futures::future::join_all((0..7).map(|_| create(&ada, URL))).await;
        let mut statuses: Vec<_> = made.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 201, 201, 201, 201, 409, 409]);
        assert_eq!(api.count("webhook_endpoints").await, 5);
        let first = made.iter().find(|answer| answer.status == 201).unwrap().text("/id");
        assert_eq!(ada.change("DELETE", &format!("{ENDPOINTS}/{first}"), None).await.status, 204);
        assert_eq!(create(&ada, URL).await.status, 201);
    }

    async fn endpoints_belong_to_their_owner_and_auditors_change_none(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let bruno = api.person(&server, "bruno", Role::Investor).await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        let auditor = api.person(&server, "auditor", Role::Auditor).await;
        let path = format!("{ENDPOINTS}/{}", create(&ada, URL).await.text("/id"));
        let platform = format!("{ENDPOINTS}/{}", create(&operator, URL).await.text("/id"));
        for stranger in [&bruno, &operator, &auditor] {
            assert_eq!(stranger.get(&path).await.problem(), (404, "not_found".to_owned()));
        }
        assert_eq!(bruno.change("DELETE", &path, None).await.status, 404);
        assert_eq!(bruno.post(&format!("{path}/rotate-secret"), json!({})).await.status, 404);
        assert_eq!(auditor.get(&platform).await.status, 200);
        assert_eq!(auditor.change("DELETE", &platform, None).await.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!((ada.get(&path).await.status, operator.get(&platform).await.status), (200, 200));
    }

    async fn every_investor_is_told_of_a_listed_offering_and_of_no_other(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let (ada, (rita, _)) = (&fixture.investor, fixture.other_issuer("rita").await);
        let (hers, theirs) = (create(ada, URL).await.text("/id"), create(&rita, URL).await.text("/id"));
        let rules = json!({ "rules": [{ "event_types": ["offering.*"], "offering_ids": null, "pace": "digest" }] });
        assert_eq!(ada.change("PUT", "/v1/auth/me/alerts", Some(rules)).await.status, 200);
        let public = fixture.open(json!({})).await;
        let members = fixture.open(json!({ "name": "Members' House", "visibility": "members" })).await;
        fixture.open(json!({ "name": "Private House", "visibility": "private" })).await;
        let closed = fixture.act(&fixture.issuer, &public, "close", json!({})).await;
        assert_eq!(closed.status, 200, "{closed:?}");
        let api = &fixture.api;
        api.fanned_out().await;
        let expected = [("offering.published", &public), ("offering.published", &members), ("offering.closed", &public)];
        let expected = expected.map(|(kind, id)| (kind.to_owned(), id.clone()));
        let events = ada.get("/v1/events?limit=100").await.body["data"].as_array().unwrap().clone();
        let of_offerings = events.iter().filter(|event| event["subject"]["type"] == "offering");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let read: Vec<_> = of_offerings.map(|event| (text(&event["type"]), text(&event["subject"]["id"]))).collect();
        assert_eq!(read, expected);
        let sent = format!("select d.event_type, e.subject_id from webhook_deliveries d join events e on e.id = d.event_id
            where d.endpoint_id = '{hers}' and e.subject_type = 'offering' order by e.position");
        let sent: Vec<_> = api.rows(&sent).await.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
        assert_eq!(sent, expected);
        let waiting = api.rows("select cast(waiting as text) from alert_mails where cause = 'digest'").await.concat();
        let waiting: Value = serde_json::from_str(&waiting[0]).unwrap();
        assert_eq!(waiting, json!({ "offering.closed": 1, "offering.published": 2 }));
        // Another issuer is told of none.
        assert_eq!(rita.get("/v1/events?limit=100").await.body["data"], json!([]));
        assert_eq!(api.count(&format!("webhook_deliveries where endpoint_id = '{theirs}'")).await, 0);
    }

    async fn events_are_delivered_to_the_affected_owners(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let bruno = api.person(&server, "bruno", Role::Investor).await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        let investor = ada.get("/v1/auth/me").await.text("/investor_id");
        let now = "2026-01-01T00:00:00+00:00";
        let wallet = "wal_01jc0000000000000000000001";
        api.write(&format!("insert into wallets (id, investor_id, address, created_at) values ('{wallet}', '{investor}', '0x01', '{now}')")).await;
        let evt = |number: usize| format!("evt_0000000000000000000000000{number}");
        for (number, kind, subject, id) in [(1, "wallet.frozen", "wallet", wallet), (2, "operation.failed", "operation", "op_1"),
            (3, "wallet.frozen", "wallet", "wal_2"), (4, "user.updated", "user", &ada.id)] {
            api.write(&format!("insert into events (id, type, subject_type, subject_id, sequence, data, created_at) \
                values ('{}', '{kind}', '{subject}', '{id}', 1, '{{}}', '{now}')", evt(number))).await;
        }
        api.fanned_out().await;
        let ids = async |person: &Person, query: &str| {
            let listed = person.get(&format!("/v1/events?{query}")).await;
            assert_eq!(listed.status, 200, "{listed:?}");
            listed.body["data"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&ada, "").await, [evt(1)]);
        assert_eq!(ids(&bruno, "").await, [""; 0]);
        assert_eq!(ids(&issuer, "").await, [""; 0]);
        assert_eq!(ids(&operator, "type=wallet.frozen").await, [evt(1), evt(3)]);
        assert_eq!(ids(&operator, &format!("after={}&limit=1", evt(1))).await, [evt(2)]);
        let page = operator.get("/v1/events?limit=2").await;
        assert_eq!(page.text("/pagination/next_after"), evt(2));
        assert_eq!(ada.get(&format!("/v1/events/{}", evt(1))).await.text("/subject/id"), wallet);
        for other in [evt(2), evt(3), evt(4), "evt_1".to_owned()] {
            assert_eq!(ada.get(&format!("/v1/events/{other}")).await.problem(), (404, "not_found".to_owned()), "{other}");
        }
        let catalog = server.anonymous().get("/v1/webhooks/event-types").await.unwrap();
        assert_eq!(catalog.headers["cache-control"], "public, max-age=300");
        let kinds = catalog.body["data"].as_array().unwrap();
        let minted = kinds.iter().find(|kind| kind["type"] == "subscription.minted").unwrap();
        assert_eq!(minted["audience"], json!(["staff", "organisation", "investor"]));
    }
}
