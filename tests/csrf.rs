//! Changes in a session need that session's CSRF token; API keys need none.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Mining, on_both_databases};

use crate::installation::{ApiFixture, Installation, Person, Terms, register};

const CHANGES: &[(&str, &str)] = &[
    ("PATCH", "/v1/auth/me"),
    ("POST", "/v1/auth/step-up"),
    ("DELETE", "/v1/auth/sessions"),
    ("POST", "/blockchain/deploy-token"),
    ("POST", "/v1/auth/logout"),
];

on_both_databases! {
    async fn a_change_without_the_sessions_csrf_token_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Operator).await;
        let bruno = api.person(&server, "bruno", Role::Operator).await;
        // The same user has another token on another device.
        let elsewhere = Person::log_in(&server, "ada@people.example").await;
        let body = Some(json!({ "name": "Somebody else" }));
        for (method, path) in CHANGES {
            let bare = server.anonymous().with_key(&ada.access_token);
            let missing = bare.change(method, path, body.clone()).await.unwrap();
            assert_eq!(missing.problem(), (403, "csrf_token_missing".to_owned()), "{method} {path}");
            let half = &ada.csrf_token[..ada.csrf_token.len() / 2];
            for wrong in [&bruno.csrf_token, &elsewhere.csrf_token, &ada.access_token, "x", half, "%00"] {
                let forged = bare.clone().in_session(&ada.access_token, wrong);
                let answer = forged.change(method, path, body.clone()).await.unwrap();
                assert_eq!(answer.problem(), (403, "csrf_token_invalid".to_owned()), "{method} {path} {wrong}");
            }
        }
        assert_eq!(ada.get("/v1/auth/me").await.text("/name"), "Somebody");
        assert_eq!(elsewhere.get("/v1/auth/me").await.status, 200);
        assert_eq!(ada.change("PATCH", "/v1/auth/me", body).await.status, 200);
    }

    async fn a_csrf_token_expires_when_it_says(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "csrf_seconds", "0");
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        let late = ada.change("PATCH", "/v1/auth/me", Some(json!({ "name": "Ada" }))).await;
        assert_eq!(late.problem(), (403, "csrf_token_expired".to_owned()));
        assert_eq!(ada.get("/v1/auth/me").await.status, 200);
    }

    async fn a_missing_access_token_is_reported_before_csrf(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        for (method, path) in CHANGES {
            let answer = server.anonymous().change(method, path, Some(json!({}))).await.unwrap();
            assert_eq!(answer.problem(), (401, "token_missing".to_owned()), "{method} {path}");
        }
        let fetched = server.anonymous().get("/v1/csrf-token").await.unwrap();
        assert_eq!(fetched.problem(), (401, "token_missing".to_owned()));
    }

    async fn a_session_deploys_with_csrf_and_a_key_without(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        let operator = site.person(&server, "operator", Role::Operator).await;
        assert_eq!(operator.email, "operator@people.example");
        let body = json!({ "offering_id": site.offerings[0] });
        let accepted = operator.client().post("/blockchain/deploy-token", "one", body).await.unwrap();
        assert_eq!(accepted.status, 202, "{accepted:?}");
        assert_eq!(server.deploy("two", &site.offerings[1]).await.status, 202);
        // A key has no session, so any CSRF token sent with it is foreign.
        let body = json!({ "offering_id": site.offerings[0] });
        let odd = server.client().in_session(&site.key, &operator.csrf_token);
        let odd = odd.post("/blockchain/deploy-token", "three", body).await.unwrap();
        assert_eq!(odd.problem(), (403, "csrf_token_invalid".to_owned()));
        site.settled().await;
    }
}
