//! What attackers tried at the edges: files, headers, sockets, keys, papers, names and references.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use muniment_domain::user::Role;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use world::{Database, Engine, Launch, on_both_databases};

use crate::installation::{ApiFixture, PASSWORD, PATIENCE, Server, SubscriptionFixture};

const URL: &str = "https://hooks.portal.example/in";

/// Sends raw bytes, and returns all that comes back until the server closes the connection.
async fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
    let mut answer = Vec::new();
    _ = stream.write_all(request.as_bytes()).await;
    _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer))
        .await
        .expect("the server closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_database_are_readable_by_their_owner_only() {
    let api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    let path = PathBuf::from(api.database.url().trim_start_matches("sqlite:").split('?').next().unwrap());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let server = api.start().await;
    api.person(&server, "ada", Role::Investor).await;
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap().map(Result::unwrap);
    let modes: Vec<_> = files
        .filter(|file| file.file_name().to_string_lossy().starts_with(&name))
        .map(|file| (file.file_name(), file.metadata().unwrap().permissions().mode() & 0o777))
        .filter(|(name, _)| !name.to_string_lossy().ends_with("lock"))
        .collect();
    assert!(modes.len() >= 2 && modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superuser_role_is_refused_in_production() {
    let database = Database::fresh(Engine::Postgres).await;
    let folder = tempfile::tempdir().unwrap();
    let launch = |url: String| {
        let launch = Launch::new(["worker"]).folder(folder.path()).env("MUNIMENT_DATABASE_URL", url);
        launch.env("MUNIMENT_PROFILE", "production").spawn()
    };
    let superuser = database.url().replace("//muniment@", "//postgres@");
    assert_ne!(superuser, database.url(), "the cluster of ops/postgres has both roles");
    let mut process = launch(superuser);
    let code = process.wait(PATIENCE).expect("it refuses to start").code();
    assert_eq!(code, Some(1), "{}", process.log());
    assert!(process.log().contains("is a superuser or has BYPASSRLS"), "{}", process.log());
}

on_both_databases! {
    async fn a_loop_that_stands_still_is_shown(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        api.write("insert into leases (name, holder, holder_key, until) values ('sweep', 'gone', 1, '2020-01-01T00:00:00+00:00')").await;
        let ready = server.get("/readyz").await;
        assert_eq!((ready.status, ready.text("/status")), (200, "degraded".to_owned()), "{ready:?}");
        let loops = ready.body["loops"].as_array().unwrap();
        assert!(loops.contains(&json!({ "name": "sweep", "status": "still" })), "{ready:?}");
    }

    async fn an_early_refusal_ends_its_connection(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "body_bytes_max", "1000");
        api.set("limits", "body_seconds_max", "1");
        let server = api.start().await;
        let head = |path: &str, kind: &str, length: usize| {
            format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{{")
        };
        // The body is announced and never sent: what follows on the connection must not be read as a request.
        for (path, kind, length, wanted) in [
            ("/v1/auth/login", "application/json", 5_000, "413"),
            ("/v1/auth/login", "text/plain", 500, "408"),
            ("/v1/offerings", "application/json", 500, "408"),
        ] {
            let answer = raw(&server, &head(path, kind, length)).await;
            assert_eq!(status(&answer), wanted, "{path} {kind}: {answer}");
            assert!(answer.to_lowercase().contains("connection: close"), "{path} {kind}: {answer}");
        }
        // A body that was sent whole leaves nothing behind, so the second request is answered too.
        let body = "x".repeat(20);
        let whole = format!("POST /v1/auth/login HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 20\r\n\r\n{body}");
        let both = raw(&server, &format!("{whole}GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).await;
        assert_eq!((status(&both), both.matches("HTTP/1.1 200").count()), ("415", 1), "{both}");
    }

    async fn a_question_of_a_page_with_a_body_ends_its_connection(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "origins", "[\"https://portal.example\"]");
        let server = api.start().await;
        let head = "OPTIONS /v1/offerings HTTP/1.1\r\nhost: a\r\norigin: https://portal.example\r\naccess-control-request-method: POST\r\n";
        let smuggled = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
        let answer = raw(&server, &format!("{head}content-length: {}\r\n\r\n{smuggled}", smuggled.len())).await;
        assert_eq!((status(&answer), answer.matches("HTTP/1.1").count()), ("204", 1), "{answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
        let plain = raw(&server, &format!("{head}\r\nGET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).await;
        assert_eq!(plain.matches("HTTP/1.1 2").count(), 2, "without a body the connection goes on: {plain}");
    }

    async fn a_proxy_that_nobody_declared_is_named_once(database: Database) {
        let mut api = ApiFixture::new(database).await;
        let server = api.start().await;
        let named = |server: &Server| server.process.log().matches("not in limits.trusted_proxies").count();
        let ask = async |server: &Server| {
            for network in ["203.0.113.1", "203.0.113.2"] {
                server.anonymous().send("GET", "/v1/offerings", &[("x-forwarded-for", network)], None).await.unwrap();
            }
        };
        server.get("/v1/offerings").await;
        assert_eq!(named(&server), 0, "nobody forwards");
        ask(&server).await;
        assert!(server.process.line_with("not in limits.trusted_proxies", PATIENCE).is_some(), "{}", server.process.log());
        server.get("/v1/offerings").await;
        assert_eq!(named(&server), 1, "{}", server.process.log());
        drop(server);
        api.set("limits", "trusted_proxies", "[\"127.0.0.1\"]");
        let server = api.start().await;
        ask(&server).await;
        assert_eq!(named(&server), 0, "it is declared");
    }

    async fn a_request_that_two_readers_tell_apart_differently_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ask = async |headers: &str| raw(&server, &format!("GET /healthz HTTP/1.1\r\n{headers}\r\n")).await;
        assert_eq!(status(&ask("host: a\r\nconnection: close\r\n").await), "200");
        for headers in ["connection: close\r\n", "host: a\r\nhost: b\r\nconnection: close\r\n"] {
            assert_eq!(status(&ask(headers).await), "400", "{headers}");
        }
        let smuggled = "0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
        let both = format!("host: a\r\ntransfer-encoding: chunked\r\ncontent-length: {}\r\n\r\n{smuggled}", smuggled.len());
        let answer = raw(&server, &format!("POST /v1/auth/login HTTP/1.1\r\n{both}")).await;
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "the rest is no request: {answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    }

    async fn a_name_with_hidden_characters_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        for name in ["Ada\u{200b}", "\u{202e}adA", "\u{2066}Ada", "\u{3164}", "A\u{feff}da"] {
            let body = json!({ "email": "ada@people.example", "password": PASSWORD, "name": name });
            let refused = server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.unwrap();
            assert_eq!(refused.field(), (422, "/name".to_owned(), "name_format".to_owned()), "{name:?}");
        }
        let ada = api.person(&server, "ada", Role::Investor).await;
        let body = json!({ "legal_name": "Ada\u{200d}" });
        let refused = ada.change("PATCH", "/v1/investor/profile", Some(body)).await;
        assert_eq!(refused.field(), (422, "/legal_name".to_owned(), "name_format".to_owned()), "{refused:?}");
    }

    async fn one_line_of_a_bank_is_one_payment(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.binding("2000.00").await;
        assert_eq!(fixture.pay(&id, "500.00", "Bank-1").await.status, 201);
        let received = async || fixture.operator.get(&format!("/v1/subscriptions/{id}")).await.text("/payment/received_amount");
        for reference in ["bank-1", " BANK-1 "] {
            let again = fixture.pay(&id, "500.00", reference).await;
            assert_eq!((again.status, received().await), (201, "500.00".to_owned()), "the same line: {again:?}");
            let other = fixture.pay(&id, "600.00", reference).await;
            assert_eq!(other.field(), (422, "/external_reference".to_owned(), "already_recorded".to_owned()), "{reference:?}");
        }
        let hidden = fixture.pay(&id, "500.00", "Bank\u{200b}-1").await;
        assert_eq!(hidden.field(), (422, "/external_reference".to_owned(), "text_format".to_owned()), "{hidden:?}");
        assert_eq!((fixture.api.count("payments").await, received().await), (1, "500.00".to_owned()));
    }

    async fn a_consent_commits_its_investor_once(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let investor = fixture.investor.get("/v1/investor/profile").await.text("/id");
        let paper = json!({ "kind": "subscription_consent", "sha256": "ab".repeat(32) });
        let paper = fixture.operator.post(&format!("/v1/investors/{investor}/documents"), paper).await.text("/id");
        let body = json!({ "amount": "1500.00", "investor_id": investor, "consent_document_id": paper });
        let first = fixture.operator.post(&fixture.path(), body.clone()).await;
        assert_eq!(first.status, 201, "{first:?}");
        let again = fixture.operator.post(&fixture.path(), body.clone()).await;
        assert_eq!(again.field(), (422, "/consent_document_id".to_owned(), "already_used".to_owned()), "{again:?}");
        // Not even after the investor has taken it back.
        assert_eq!(fixture.act(&fixture.investor, &first.text("/id"), "cancel", json!({})).await.status, 200);
        let again = fixture.operator.post(&fixture.path(), body).await;
        assert_eq!(again.field(), (422, "/consent_document_id".to_owned(), "already_used".to_owned()), "{again:?}");
    }

    async fn one_admin_does_not_prolong_a_platform_key(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = (api.person(&server, "a", Role::Admin).await, api.person(&server, "b", Role::Admin).await);
        let end = (chrono::Utc::now() + chrono::Duration::days(30)).format("%Y-%m-%dT%H:%M:%S.000Z").to_string();
        let requested = a.post("/v1/api-keys", json!({ "name": "reader", "scopes": ["ops:read"], "expires_at": end })).await;
        assert_eq!(b.approve(&requested).await.text("/status"), "executed");
        let path = format!("/v1/approvals/{}/api-key", requested.text("/approval/id"));
        let made = a.client().on_version(1).change("POST", &path, Some(json!({}))).await.unwrap();
        assert_eq!((made.status, made.text("/expires_at")), (201, end.clone()), "{made:?}");
        api.write("update api_keys set created_at = '2026-01-01T00:00:00+00:00'").await;
        let rotated = a.post(&format!("/v1/api-keys/{}/rotate", made.text("/id")), json!({})).await;
        assert_eq!((rotated.status, rotated.text("/expires_at")), (201, end), "{rotated:?}");
    }

    async fn a_webhook_reaches_no_service_of_the_machine(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let ask = async |url: &str, headers: Value| {
            ada.post("/v1/webhooks/endpoints", json!({ "url": url, "event_types": ["*"], "headers": headers })).await
        };
        for name in ["Metadata", "metadata-flavor", "X-Google-Metadata-Request", "x-aws-ec2-metadata-token", "X-Amz-Date"] {
            let refused = ask(URL, json!({ name: "1" })).await;
            assert_eq!(refused.field(), (422, format!("/headers/{name}"), "header_reserved".to_owned()), "{refused:?}");
        }
        for host in ["db.default.svc", "db.default.svc.cluster.local", "vault.service.consul", "a.cluster"] {
            let refused = ask(&format!("https://{host}/"), json!({})).await;
            assert_eq!(refused.field(), (422, "/url".to_owned(), "url_forbidden".to_owned()), "{host}");
        }
    }

    async fn nothing_is_verified_beyond_the_end_of_the_audit_chain(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let auditor = api.person(&server, "aude", Role::Auditor).await;
        for range in ["from=9000000000000000000", "from=100000", "from=2&to=1"] {
            let refused = auditor.get(&format!("/v1/audit-log/verify?{range}")).await;
            assert_eq!(refused.problem(), (400, "invalid_parameter".to_owned()), "{range}: {refused:?}");
        }
    }
}
