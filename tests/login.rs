//! Logging in: guessing is slowed, and no response shows whether an account exists.

use std::process::{Child, Command};

use serde_json::{Value, json};
use world::{Database, Engine, on_both_databases, stay_on_core};

use crate::installation::{Answer, ApiFixture, PASSWORD, Person, Server, register};

/// The response without the request id, to compare refusals.
fn comparable(answer: &Answer) -> (u16, Value) {
    let mut body = answer.body.clone();
    body.as_object_mut().unwrap().remove("request_id");
    (answer.status, body)
}

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    server.anonymous().change("POST", path, Some(body)).await.unwrap()
}

/// Programs that never rest.
struct Busy(Vec<Child>);

impl Busy {
    fn start(programs: usize) -> Self {
        Self((0..programs).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for program in &mut self.0 {
            program.kill().unwrap();
            program.wait().unwrap();
        }
    }
}

/// A hash that gave way to all others was not computed within the time limit of a request.
#[tokio::test]
async fn a_login_succeeds_on_a_busy_machine() {
    let mut api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    // Much work in little memory: how fast the memory is does not matter here.
    api.set("auth", "password_memory_kib", "1024");
    api.set("auth", "password_passes", "300");
    stay_on_core(0);
    let server = api.start().await;
    register(&server, "ada@people.example").await;
    let _busy = Busy::start(4);
    assert_eq!(server.log_in("ada@people.example", PASSWORD).await.status, 200);
}

on_both_databases! {
    async fn an_unknown_address_and_a_wrong_password_give_the_same_response(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let wrong = server.log_in("ada@people.example", "wrong wrong wrong").await;
        let unknown = server.log_in("nobody@people.example", "wrong wrong wrong").await;
        assert_eq!(wrong.problem(), (401, "invalid_credentials".to_owned()));
        assert_eq!(comparable(&wrong), comparable(&unknown));
        assert_eq!(wrong.headers.get("www-authenticate"), unknown.headers.get("www-authenticate"));
        // An invited user without a password gets the same response.
        api.write("update users set password_hash = null").await;
        assert_eq!(comparable(&server.log_in("ada@people.example", PASSWORD).await), comparable(&unknown));
    }

    async fn guessing_is_throttled_equally_for_known_and_unknown_addresses(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let mut refused = Vec::new();
        for email in ["ada@people.example", "nobody@people.example"] {
            for _ in 0..5 {
                assert_eq!(server.log_in(email, "wrong wrong wrong").await.status, 401);
            }
            // The sixth attempt is refused even with the right password.
            let sixth = server.log_in(email, PASSWORD).await;
            assert_eq!(sixth.problem(), (429, "login_throttled".to_owned()));
            let wait: u64 = sixth.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((50..=60).contains(&wait), "{wait}");
            refused.push(sixth.text("/title"));
        }
        assert_eq!(refused[0], refused[1]);
        // The delay is stored in the database: another process keeps it, and further attempts do not extend it.
        drop(server);
        let server = api.start().await;
        assert_eq!(server.log_in("ada@people.example", PASSWORD).await.status, 429);
        api.write("update attempt_counters set blocked_until = '2026-01-01T00:00:00+00:00'").await;
        assert_eq!(server.log_in("ada@people.example", "wrong wrong wrong").await.status, 401);
        let seventh = server.log_in("ada@people.example", PASSWORD).await;
        let wait: u64 = seventh.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((110..=120).contains(&wait), "{wait}");
        // A successful login resets the counters.
        api.write("update attempt_counters set blocked_until = '2026-01-01T00:00:00+00:00'").await;
        assert_eq!(server.log_in("ADA@people.example", PASSWORD).await.status, 200);
        for _ in 0..5 {
            assert_eq!(server.log_in("ada@people.example", "wrong wrong wrong").await.status, 401);
        }
    }

    async fn a_user_is_notified_once_after_ten_wrong_passwords(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        for email in ["ada@people.example", "nobody@people.example"] {
            for _ in 0..12 {
                api.write("update attempt_counters set blocked_until = '2026-01-01T00:00:00+00:00'").await;
                assert_eq!(server.log_in(email, "wrong wrong wrong").await.status, 401);
            }
        }
        server.mailed("notice", "ada@people.example").await;
        assert_eq!(api.count("email_links where purpose = 'notice'").await, 1);
    }

    async fn a_hundred_concurrent_guesses_all_count(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let guesses = (0..40).map(|number| {
            let (client, password) = (server.anonymous(), format!("guess number {number}"));
            let body = json!({ "email": "ada@people.example", "password": password });
            tokio::spawn(async move { client.change("POST", "/v1/auth/login", Some(body)).await.unwrap().status })
        });
        let mut looked_at = 0;
        for guess in guesses.collect::<Vec<_>>() {
            match guess.await.unwrap() {
                401 => looked_at += 1,
                status => assert_eq!(status, 429),
            }
        }
        assert_eq!(looked_at, 5);
    }

    async fn a_password_reset_does_not_reveal_accounts(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let forgot = async |email: &str| post(&server, "/v1/auth/password/forgot", json!({ "email": email })).await;
        let (known, unknown) = (forgot("ada@people.example").await, forgot("nobody@people.example").await);
        assert_eq!((known.status, &known.body), (unknown.status, &unknown.body));
        assert_eq!(api.count("email_links where purpose = 'reset_password'").await, 1);
    }

    async fn repeated_reset_requests_keep_the_link_valid_and_send_one_mail(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let forgot = async || post(&server, "/v1/auth/password/forgot", json!({ "email": "ada@people.example" })).await;
        forgot().await;
        let first = server.mailed("reset_password", "ada@people.example").await;
        let requested = futures::future::join_all((0..8).map(|_| forgot())).await;
        assert!(requested.iter().all(|answer| answer.status == 202), "{requested:?}");
        assert_eq!(api.count("email_links where purpose = 'reset_password'").await, 3);
        let last = server.mailed_after(&first, "reset_password", "ada@people.example").await;
        let reset = async |token: &str| {
            post(&server, "/v1/auth/password/reset", json!({ "token": token, "new_password": "another one altogether" })).await
        };
        // Of ten concurrent uses of the link, one sets the password; none gets an unavailable error.
        let requested = (0..10).map(|_| {
            let (client, body) = (server.anonymous(), json!({ "token": first, "new_password": "another one altogether" }));
            tokio::spawn(async move { client.change("POST", "/v1/auth/password/reset", Some(body)).await.unwrap().status })
        });
        let mut statuses = Vec::new();
        for answer in requested.collect::<Vec<_>>() {
            statuses.push(answer.await.unwrap());
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [&[204][..], &[422; 9]].concat());
        assert_eq!(reset(&last).await.text("/errors/0/code"), "token_invalid", "the other links were voided");
        let resend = Person::of(&server, &server.log_in("ada@people.example", "another one altogether").await).await;
        assert_eq!(resend.post("/v1/auth/verify-email/resend", json!({})).await.status, 204);
        assert_eq!(api.count("email_links where purpose = 'verify_email'").await, 1, "the address is verified");
    }

    async fn text_that_the_database_cannot_store_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let answer = post(&server, "/v1/auth/login", json!({ "email": "ada\0@people.example", "password": PASSWORD })).await;
        assert_eq!(answer.field(), (422, "/email".into(), "text_format".into()));
        register(&server, "ada@people.example").await;
        let listed = Person::log_in(&server, "ada@people.example").await.get("/v1/offerings?q=%00").await;
        assert_eq!(listed.problem(), (400, "invalid_parameter".to_owned()));
    }

    async fn concurrent_changes_of_one_user_never_fail_with_an_outage(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        let requested = (0..12).map(|number| {
            let (client, body) = (ada.client(), json!({ "name": format!("Ada {number}") }));
            tokio::spawn(async move { client.change("PATCH", "/v1/auth/me", Some(body)).await.unwrap() })
        });
        let mut made = 0;
        for answer in requested.collect::<Vec<_>>() {
            let answer = answer.await.unwrap();
            made += i64::from(answer.status == 200);
            assert!(answer.status == 200 || answer.problem() == (412, "version_conflict".to_owned()), "{answer:?}");
        }
        assert!(made > 0);
        assert_eq!(api.count("events where type = 'user.updated'").await, made);
    }

    async fn an_invalid_registration_is_refused_at_its_field(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let sound = json!({ "email": "ada@people.example", "password": PASSWORD, "name": "Ada" });
        for (change, pointer, code) in [
            (json!({ "email": "ada" }), "/email", "email_format"),
            (json!({ "email": "a b@people.example" }), "/email", "email_format"),
            (json!({ "password": "short" }), "/password", "password_too_short"),
            (json!({ "password": "password1234" }), "/password", "password_breached"),
            (json!({ "password": 7 }), "/password", "type_mismatch"),
            (json!({ "name": " " }), "/name", "name_format"),
            (json!({ "country": "Germany" }), "/country", "country_format"),
            (json!({ "account_type": "operator" }), "/account_type", "type_mismatch"),
            (json!({ "account_type": "issuer" }), "/organization_name", "required"),
            (json!({ "roles": ["admin"] }), "/roles", "unknown_field"),
        ] {
            let mut body = sound.clone();
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let answer = post(&server, "/v1/auth/register", body).await;
            assert_eq!(answer.field(), (422, pointer.to_owned(), code.to_owned()));
        }
        assert_eq!(api.count("users").await, 0);
        let issuer = json!({ "email": "ines@people.example", "password": PASSWORD, "name": "Ines", "account_type": "issuer",
            "organization_name": "Harbour" });
        let registered = post(&server, "/v1/auth/register", issuer).await;
        assert_eq!((registered.status, &registered.body["roles"]), (201, &json!(["issuer"])));
        assert_eq!(api.count("issuers where status = 'pending'").await, 1);
    }

    async fn twenty_concurrent_registrations_make_one_account(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let requested = (0..20).map(|_| {
            let client = server.anonymous();
            let body = json!({ "email": "ada@people.example", "password": PASSWORD, "name": "Ada" });
            tokio::spawn(async move { client.change("POST", "/v1/auth/register", Some(body)).await.unwrap().status })
        });
        let mut made = 0;
        for answer in requested.collect::<Vec<_>>() {
            let status = answer.await.unwrap();
            assert!(matches!(status, 201 | 409), "{status}");
            made += u32::from(status == 201);
        }
        assert_eq!((made, api.count("users").await, api.count("investors").await), (1, 1, 1));
    }

    async fn logins_are_limited_per_network(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("rates", "login_per_minute", "3");
        api.set("limits", "origins", "[\"https://portal.example\"]");
        let server = api.start().await;
        let body = json!({ "email": "nobody@people.example", "password": "wrong wrong wrong" }).to_string();
        let from = async |origin: &str| server.anonymous().send("POST", "/v1/auth/login", &[("origin", origin)], Some(body.clone())).await.unwrap();
        let portal = from("https://portal.example").await;
        assert_eq!((portal.status, portal.headers["access-control-allow-origin"].to_str().unwrap()), (401, "https://portal.example"));
        assert_eq!(portal.headers["ratelimit-policy"], "\"login\";q=3;w=60");
        let evil = from("https://evil.example").await;
        assert_eq!(evil.problem(), (403, "forbidden".to_owned()));
        assert!(evil.headers.get("access-control-allow-origin").is_none());
        // A refused origin takes nothing of the limit.
        for _ in 0..2 {
            assert_eq!(from("https://portal.example").await.status, 401);
        }
        let fourth = from("https://portal.example").await;
        assert_eq!(fourth.problem(), (429, "rate_limited".to_owned()));
        assert!(fourth.headers.contains_key("retry-after"));
        let asks = [("origin", "https://portal.example"), ("access-control-request-method", "POST")];
        let preflight = server.anonymous().send("OPTIONS", "/v1/auth/login", &asks, None).await.unwrap();
        assert_eq!(preflight.status, 204);
        assert!(preflight.headers["access-control-allow-headers"].to_str().unwrap().contains("x-csrf-token"));
        // Every response gets the same headers, even one without a handler.
        for answer in [&preflight, &fourth, &evil, &portal] {
            assert_eq!(answer.headers["x-content-type-options"], "nosniff");
            assert!(answer.headers.contains_key("x-request-id") && answer.headers.contains_key("content-security-policy"));
        }
    }

    async fn bulk_retries_are_rate_limited(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("rates", "bulk_retry_per_minute", "2");
        let server = api.start().await;
        let operator = api.person(&server, "operator", muniment_domain::user::Role::Operator).await;
        let bulk = async || operator.post("/blockchain/operations/bulk-retry", json!({})).await;
        let first = bulk().await;
        assert_eq!(first.headers["ratelimit-policy"], "\"bulk-retry\";q=2;w=60");
        assert_eq!((first.status, bulk().await.status), (422, 422));
        assert_eq!(bulk().await.problem(), (429, "rate_limited".to_owned()));
        let body = json!({ "name": "Somebody" });
        assert_eq!(operator.change("PATCH", "/v1/auth/me", Some(body)).await.status, 200);
    }

    async fn a_dry_run_takes_nothing_of_the_limit_of_subscriptions(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("rates", "subscribe_per_minute", "2");
        let server = api.start().await;
        let ada = api.person(&server, "ada", muniment_domain::user::Role::Investor).await;
        let path = "/v1/offerings/off_01jc8yq3k5e9v8w2m4n6p7r9st/subscribe";
        let body = json!({ "amount": "100.00", "acknowledgements": ["risk_warning"] });
        for _ in 0..5 {
            assert_eq!(ada.post(&format!("{path}?dry_run=true"), body.clone()).await.problem(), (404, "not_found".to_owned()));
        }
        let first = ada.post(path, body.clone()).await;
        assert_eq!(first.headers["ratelimit-policy"], "\"subscribe\";q=2;w=60");
        assert_eq!((first.status, ada.post(path, body.clone()).await.status), (404, 404));
        assert_eq!(ada.post(path, body).await.problem(), (429, "rate_limited".to_owned()));
    }

    async fn a_password_with_outdated_hash_settings_is_rehashed_at_login(database: Database) {
        let mut api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        assert_eq!(api.count("users where password_hash like '%m=64,%'").await, 1);
        drop(server);
        api.set("auth", "password_memory_kib", "128");
        let server = api.start().await;
        Person::log_in(&server, "ada@people.example").await;
        assert_eq!(api.count("users where password_hash like '%m=128,%'").await, 1);
        Person::log_in(&server, "ada@people.example").await;
    }
}
