//! Sessions through the API: how they begin, what they give, and every reason that ends them at once.

use muniment_domain::point::Point;
use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{ApiFixture, PASSWORD, Person, register};

/// Commit points at which these tests end a process.
pub const ENDED_AT: &[Point] = &[Point::Account];

const NEW: &str = "nine blue umbrellas in june";

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

on_both_databases! {
    async fn a_user_registers_logs_in_and_logs_out(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let registered = register(&server, "Ada@People.example").await;
        assert_eq!((registered.status, registered.text("/status")), (201, "active".to_owned()));
        assert_eq!((registered.text("/email"), &registered.body["roles"]), ("ada@people.example".to_owned(), &json!(["investor"])));
        assert!(registered.text("/investor_id").starts_with("inv_") && registered.body.get("access_token").is_none());
        assert_eq!(register(&server, "ada@people.example").await.problem(), refused(409, "email_taken"));

        let ada = Person::log_in(&server, "ada@people.example").await;
        let me = ada.get("/v1/auth/me").await;
        assert_eq!((me.status, me.text("/session/id")), (200, ada.session_id.clone()));
        assert_eq!(me.headers["cache-control"], "no-store");
        assert_eq!(me.body["session"]["amr"], json!(["pwd"]));
        let changed = ada.change("PATCH", "/v1/auth/me", Some(json!({ "name": "Ada B.", "locale": "de" }))).await;
        assert_eq!((changed.status, changed.text("/name"), changed.text("/locale")), (200, "Ada B.".to_owned(), "de".to_owned()));
        let strange = ada.change("PATCH", "/v1/auth/me", Some(json!({ "roles": ["admin"] }))).await;
        assert_eq!((strange.status, strange.text("/errors/0/pointer")), (422, "/roles".to_owned()));

        assert_eq!(ada.change("POST", "/v1/auth/logout", None).await.status, 204);
        assert_eq!(ada.session_status().await, refused(401, "session_revoked"));
        assert_eq!(ada.refresh().await.problem(), refused(401, "refresh_token_invalid"));
    }

    async fn a_session_ends_at_once_for_every_reason(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let log_in = async || Person::log_in(&server, "ada@people.example").await;
        let (first, second, third) = (log_in().await, log_in().await, log_in().await);
        let listed = third.get("/v1/auth/sessions").await;
        assert_eq!(listed.body["pagination"]["total"], 3);
        assert_eq!(listed.text("/data/0/id"), third.session_id);

        // The user ends one session, then all others.
        assert_eq!(third.change("DELETE", &format!("/v1/auth/sessions/{}", first.session_id), None).await.status, 204);
        assert_eq!(first.session_status().await, refused(401, "session_revoked"));
        assert_eq!(second.get("/v1/auth/me").await.status, 200);
        assert_eq!(third.change("DELETE", "/v1/auth/sessions", None).await.status, 204);
        assert_eq!(second.session_status().await, refused(401, "session_revoked"));

        // Another user cannot end a session or learn that it exists.
        let other = api.person(&server, "bruno", Role::Investor).await;
        let theirs = other.change("DELETE", &format!("/v1/auth/sessions/{}", third.session_id), None).await;
        let none = other.change("DELETE", "/v1/auth/sessions/ses_01jc0000000000000000000000", None).await;
        assert_eq!((theirs.problem(), none.problem()), (refused(404, "not_found"), refused(404, "not_found")));
        assert_eq!(third.get("/v1/auth/me").await.status, 200);

        // A disabled user, an expired session, and a user who ends all sessions.
        let id = &third.id;
        api.write(&format!("update users set status = 'disabled' where id = '{id}'")).await;
        assert_eq!(third.session_status().await, refused(403, "account_disabled"));
        assert_eq!(third.refresh().await.problem(), refused(403, "account_disabled"));
        assert_eq!(server.log_in("ada@people.example", PASSWORD).await.problem(), refused(403, "account_disabled"));
        api.write(&format!("update users set status = 'active' where id = '{id}'")).await;
        assert_eq!(third.get("/v1/auth/me").await.status, 200);
        api.write(&format!("update sessions set absolute_expires_at = created_at where id = '{}'", third.session_id)).await;
        assert_eq!(third.session_status().await, refused(401, "session_revoked"));
        let (fourth, fifth) = (log_in().await, log_in().await);
        assert_eq!(fourth.change("POST", "/v1/auth/logout", Some(json!({ "all": true }))).await.status, 204);
        assert_eq!(fifth.session_status().await, refused(401, "session_revoked"));
    }

    async fn a_removed_role_applies_to_the_next_request(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        assert_eq!(operator.get("/blockchain/operations").await.status, 200);
        api.write(&format!("update users set roles = 'investor' where id = '{}'", operator.id)).await;
        assert_eq!(operator.get("/blockchain/operations").await.problem(), refused(403, "role_forbidden"));
        let me = operator.get("/v1/auth/me").await;
        assert_eq!((me.status, &me.body["roles"]), (200, &json!(["investor"])));
    }

    async fn the_eleventh_session_ends_the_first(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let mut people = Vec::new();
        for _ in 0..11 {
            people.push(Person::log_in(&server, "ada@people.example").await);
        }
        assert_eq!(people[0].session_status().await, refused(401, "session_revoked"));
        assert_eq!(people[1].get("/v1/auth/me").await.status, 200);
    }

    async fn a_reused_refresh_token_ends_the_session(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "refresh_grace_seconds", "600");
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let first = Person::log_in(&server, "ada@people.example").await;

        // Twenty tabs at once: all get the same successor.
        let requested = (0..20).map(|_| { let first = first.clone(); tokio::spawn(async move { first.refresh().await }) });
        let mut successors = std::collections::BTreeSet::new();
        for answer in requested.collect::<Vec<_>>() {
            let answer = answer.await.unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
            successors.insert(answer.text("/refresh_token"));
        }
        assert_eq!(successors.len(), 1);
        assert_eq!(api.count("sessions where generation = 2").await, 1);
        let second = Person { refresh_token: successors.into_iter().next().unwrap(), ..first.clone() };
        assert_ne!(first.refresh_token, second.refresh_token);

        // The CSRF token is bound to the session, so it outlives its access token.
        let third = Person::of(&server, &second.refresh().await).await;
        let mixed = Person { csrf_token: first.csrf_token.clone(), ..third.clone() };
        assert_eq!(mixed.change("PATCH", "/v1/auth/me", Some(json!({ "name": "Ada" }))).await.status, 200);

        // The oldest token is two generations old, so the grace period does not apply. Thief and owner both lose the session.
        assert_eq!(first.refresh().await.problem(), refused(401, "refresh_token_reused"));
        assert_eq!(third.refresh().await.problem(), refused(401, "refresh_token_invalid"));
        assert_eq!(third.session_status().await, refused(401, "session_revoked"));
        assert_eq!(api.count("events where type = 'session.reuse_detected'").await, 1);
        // Her portal is told, and nobody else's.
        api.fanned_out().await;
        let (ada, other) = (Person::log_in(&server, "ada@people.example").await, api.person(&server, "bruno", Role::Investor).await);
        let told = ada.get("/v1/events?type=session.reuse_detected").await;
        assert_eq!((told.text("/data/0/data/session_id"), told.text("/data/0/data/user_id")), (first.session_id.clone(), ada.id.clone()), "{told:?}");
        assert_eq!(other.get("/v1/events?type=session.reuse_detected").await.body["data"], json!([]));
    }

    async fn a_refresh_token_reused_after_the_grace_period_ends_the_session(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let first = Person::log_in(&server, "ada@people.example").await;
        let second = Person::of(&server, &first.refresh().await).await;
        assert_eq!(first.refresh().await.text("/refresh_token"), second.refresh_token);
        api.write("update sessions set rotated_at = '2026-01-01T00:00:00+00:00'").await;
        assert_eq!(first.refresh().await.problem(), refused(401, "refresh_token_reused"));
        assert_eq!(second.session_status().await, refused(401, "session_revoked"));
        for forged in ["", "rt_", "rt_a.1.b", &second.refresh_token.replace(".2.", ".3.")] {
            let forged = Person { refresh_token: forged.to_owned(), ..second.clone() };
            assert_eq!(forged.refresh().await.problem(), refused(401, "refresh_token_invalid"));
        }
    }

    async fn a_new_password_ends_every_other_session(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let (here, there) = (Person::log_in(&server, "ada@people.example").await, Person::log_in(&server, "ada@people.example").await);
        let change = async |current: &str, new: &str| {
            here.post("/v1/auth/password/change", json!({ "current_password": current, "new_password": new })).await
        };
        assert_eq!(change("wrong wrong wrong", NEW).await.problem(), refused(401, "invalid_credentials"));
        assert_eq!(change(PASSWORD, "short").await.text("/errors/0/code"), "password_too_short");
        assert_eq!(there.get("/v1/auth/me").await.status, 200);
        assert_eq!(change(PASSWORD, NEW).await.status, 204);
        assert_eq!(here.get("/v1/auth/me").await.status, 200);
        assert_eq!(there.session_status().await, refused(401, "session_revoked"));
        assert_eq!(server.log_in("ada@people.example", PASSWORD).await.problem(), refused(401, "invalid_credentials"));
        assert_eq!(server.log_in("ada@people.example", NEW).await.status, 200);
    }

    async fn a_reset_link_sets_a_password_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        let anybody = server.anonymous();
        let post = async |path: &str, body| anybody.change("POST", path, Some(body)).await.unwrap();
        for email in ["ada@people.example", "nobody@people.example"] {
            let answer = post("/v1/auth/password/forgot", json!({ "email": email })).await;
            assert_eq!((answer.status, answer.body), (202, json!("")));
        }
        assert_eq!(api.count("email_links where purpose = 'reset_password'").await, 1);
        let proof = server.mailed("verify_email", "ada@people.example").await;
        let token = server.mailed("reset_password", "ada@people.example").await;
        let reset = async |token: &str| post("/v1/auth/password/reset", json!({ "token": token, "new_password": NEW })).await;
        for wrong in [&proof, &format!("{token}A"), &token[1..].to_owned()] {
            assert_eq!(reset(wrong).await.text("/errors/0/code"), "token_invalid", "{wrong}");
        }
        assert_eq!(reset(&token).await.status, 204);
        assert_eq!(reset(&token).await.text("/errors/0/pointer"), "/token");
        assert_eq!(ada.session_status().await, refused(401, "session_revoked"));
        assert_eq!(server.log_in("ada@people.example", NEW).await.status, 200);
        assert_eq!(post("/v1/auth/verify-email", json!({ "token": token })).await.status, 422);
        assert_eq!(post("/v1/auth/verify-email", json!({ "token": proof })).await.status, 204);
        assert_eq!(post("/v1/auth/verify-email", json!({ "token": proof })).await.status, 422);
    }

    async fn an_account_is_created_completely_or_not_at_all(database: Database) {
        let api = ApiFixture::new(database).await;
        for (when, then) in [("before", 201), ("after", 409)] {
            let mut server = api.serve(api.launch().env("MUNIMENT_CRASH", format!("account.{when}:1"))).await;
            let email = format!("{when}@people.example");
            let body = json!({ "email": email, "password": PASSWORD, "name": "Somebody" });
            assert!(server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.is_none());
            server.process.wait(crate::installation::PATIENCE).expect("it ended");
            let server = api.start().await;
            assert_eq!(register(&server, &email).await.status, then);
            Person::log_in(&server, &email).await;
        }
        assert_eq!(api.count("investors").await, 2);
    }
}
