//! Staff: invited, given roles and disabled by two admins, and never without an admin.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, PASSWORD, Person, Server};

async fn ask(person: &Person, method: &str, path: &str, key: &str, body: Value) -> Answer {
    let headers = [("idempotency-key", key)];
    person.client().send(method, path, &headers, Some(body.to_string())).await.unwrap()
}

async fn admins(api: &ApiFixture, server: &Server) -> (Person, Person) {
    (api.person(server, "admin-a", Role::Admin).await, api.person(server, "admin-b", Role::Admin).await)
}

on_both_databases! {
    async fn inviting_staff_takes_two_admins(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = admins(&api, &server).await;
        let body = json!({ "email": "Olga@people.example", "name": "Olga", "roles": ["operator"], "reason": "nights" });
        let requested = ask(&a, "POST", "/v1/users", "invite", body.clone()).await;
        assert_eq!(api.count("users where email = 'olga@people.example'").await, 0);
        // A repetition after a day gets the outcome of its key.
        api.write("delete from idempotency_keys").await;
        let spent = ask(&a, "POST", "/v1/users", "invite", body).await;
        assert_eq!((spent.problem(), spent.text("/resource")), ((409, "idempotency_key_spent".to_owned()), requested.headers["location"].to_str().unwrap().to_owned()));
        assert_eq!(a.approve(&requested).await.problem(), (403, "self_approval_forbidden".to_owned()));
        let approved = b.approve(&requested).await;
        assert!(approved.status < 300, "{approved:?}");
        assert_eq!(server.log_in("olga@people.example", PASSWORD).await.problem(), (401, "invalid_credentials".to_owned()));
        let users = a.get("/v1/users?limit=1").await;
        assert_eq!((users.text("/data/0/status"), users.text("/data/0/email")), ("pending_verification".to_owned(), "olga@people.example".to_owned()));
        let first = server.mailed("invitation", "olga@people.example").await;
        let again = a.post(&format!("/v1/users/{}/invitation", users.text("/data/0/id")), json!({})).await;
        assert_eq!(again.status, 202, "{again:?}");
        let second = server.mailed_after(&first, "invitation", "olga@people.example").await;
        for (token, status) in [(first, 422), (second, 204)] {
            let body = json!({ "token": token, "new_password": PASSWORD });
            let set = server.anonymous().change("POST", "/v1/auth/password/reset", Some(body)).await.unwrap();
            assert_eq!(set.status, status, "{set:?}");
        }
        let olga = Person::log_in(&server, "olga@people.example").await;
        assert_eq!(olga.get("/blockchain/operations").await.status, 200);
        assert_eq!(olga.get("/v1/users").await.status, 200);
        assert_eq!(olga.change("POST", &format!("/v1/users/{}/disable", a.id), None).await.problem(), (403, "role_forbidden".to_owned()));
    }

    async fn a_role_change_takes_two_admins_and_ends_sessions(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = admins(&api, &server).await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let path = format!("/v1/users/{}/roles", olga.id);
        let wrong = ask(&a, "PATCH", &path, "1", json!({ "roles": ["operator", "investor"], "reason": "x" })).await;
        assert_eq!((wrong.status, wrong.text("/errors/0/pointer")), (422, "/roles".to_owned()));
        let requested = ask(&a, "PATCH", &path, "2", json!({ "roles": ["auditor"], "reason": "moves on" })).await;
        assert_eq!(olga.get("/blockchain/operations").await.status, 200);
        let approved = b.approve(&requested).await;
        assert!(approved.status < 300, "{approved:?}");
        assert_eq!(olga.session_status().await, (401, "session_revoked".to_owned()));
        let auditor = Person::log_in(&server, &olga.email).await;
        let users = auditor.get("/v1/users").await;
        assert!(users.body.to_string().contains("…@people.example") && !users.body.to_string().contains("admin-a@"), "{users:?}");
        assert_eq!(users.text("/data/0/name"), "S…");
        // The new role lets this auditor, and nobody else, see personal data.
        let body = |role: &str| json!({ "roles": [role], "pii_read": true, "reason": "the yearly audit" });
        let refused = ask(&a, "PATCH", &path, "3", body("operator")).await;
        assert_eq!(refused.field(), (422, "/pii_read".to_owned(), "unexpected".to_owned()));
        let requested = ask(&a, "PATCH", &path, "4", body("auditor")).await;
        assert_eq!(auditor.get("/v1/users").await.text("/data/0/name"), "S…");
        assert!(b.approve(&requested).await.status < 300);
        assert_eq!(auditor.session_status().await, (401, "session_revoked".to_owned()));
        let auditor = Person::log_in(&server, &olga.email).await;
        assert_eq!(auditor.get("/v1/auth/me").await.body["pii_read"], true);
        let users = auditor.get("/v1/users").await.body.to_string();
        assert!(users.contains("admin-a@people.example") && !users.contains('…'), "{users}");
        assert_eq!(auditor.change("POST", &format!("/v1/users/{}/disable", a.id), None).await.status, 403);
        // Another role change removes it.
        let back = ask(&a, "PATCH", &path, "5", json!({ "roles": ["operator"], "reason": "back" })).await;
        assert!(b.approve(&back).await.status < 300);
        assert_eq!(api.count("users where pii_read").await, 0);
    }

    async fn keys_that_a_person_made_alone_end_when_they_join_the_staff(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = admins(&api, &server).await;
        let ira = api.person(&server, "ira", Role::Issuer).await;
        let made = ira.post("/v1/api-keys", json!({ "name": "portal", "scopes": ["offerings:read"] })).await;
        let holder = server.client().with_key(&made.text("/key"));
        assert_eq!(holder.get("/v1/offerings").await.unwrap().status, 200, "{made:?}");
        let roles = json!({ "roles": ["operator"], "reason": "joins us" });
        let requested = ask(&a, "PATCH", &format!("/v1/users/{}/roles", ira.id), "1", roles).await;
        assert!(b.approve(&requested).await.status < 300, "{requested:?}");
        assert_eq!(holder.get("/v1/offerings").await.unwrap().status, 401);
    }

    async fn an_admin_disables_a_user_but_never_the_last_admin(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = admins(&api, &server).await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let act = async |who: &Person, id: &str, verb: &str| who.change("POST", &format!("/v1/users/{id}/{verb}"), None).await;
        assert_eq!(act(&a, &ada.id, "revoke-sessions").await.status, 204);
        assert_eq!(ada.session_status().await, (401, "session_revoked".to_owned()));
        assert_eq!(act(&a, &ada.id, "disable").await.status, 200);
        assert_eq!(server.log_in(&ada.email, PASSWORD).await.problem(), (403, "account_disabled".to_owned()));
        assert_eq!(act(&a, &ada.id, "disable").await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(act(&a, &ada.id, "enable").await.status, 200);
        Person::log_in(&server, &ada.email).await;
        assert_eq!(act(&a, &a.id, "disable").await.problem(), (409, "invalid_state".to_owned()));
        let asked = act(&a, &b.id, "disable").await;
        // Before the staff is notified, that is the first reason against it.
        let untold = "email_links where purpose = 'notice' and sent_at is null";
        api.until("the staff is notified", async || api.count(untold).await == 0).await;
        assert_eq!(a.approve(&asked).await.problem(), (403, "self_approval_forbidden".to_owned()));
        assert_eq!(b.session_status().await.0, 200);
        assert_eq!(b.approve(&asked).await.text("/status"), "executed");
        assert_eq!(b.session_status().await.0, 401);
        let path = format!("/v1/users/{}/roles", a.id);
        let last = ask(&a, "PATCH", &path, "1", json!({ "roles": ["operator"], "reason": "tired" })).await;
        assert_eq!(last.problem(), (409, "invalid_state".to_owned()));
    }

    async fn two_admins_disabling_each_other_leave_one(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        for round in 0..5 {
            api.write("update users set status = 'disabled'").await;
            let a = api.person(&server, &format!("a-{round}"), Role::Admin).await;
            let b = api.person(&server, &format!("b-{round}"), Role::Admin).await;
            let disable = async |who: &Person, id: &str| who.post(&format!("/v1/users/{id}/disable"), json!({})).await;
            let (of_b, of_a) = (disable(&a, &b.id).await, disable(&b, &a.id).await);
            let (first, second) = tokio::join!(b.approve(&of_b), a.approve(&of_a));
            assert!(first.status < 500 && second.status < 500, "{first:?} {second:?}");
            assert_eq!(api.count("users where roles like '%admin%' and status = 'active'").await, 1);
        }
    }
}
