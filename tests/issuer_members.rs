//! Issuer members join and leave, the last one stays, and a suspended issuer can read and change nothing.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Database, on_both_databases};

use crate::installation::{Answer, OfferingFixture, PASSWORD, Person, open};

/// Two members of one issuer; the first invited the second.
async fn two_members(database: Database) -> (OfferingFixture, Person, Person) {
    let fixture = OfferingFixture::new(database).await;
    let ida = Person::fresh(fixture.server.as_ref().unwrap(), &fixture.issuer.email).await;
    let ivo = join(&fixture, &ida, "ivo@issuer.example").await;
    (fixture, ida, ivo)
}

async fn invite(fixture: &OfferingFixture, by: &Person, email: &str) -> Answer {
    by.post(&format!("/v1/issuers/{}/members", fixture.issuer_id), json!({ "email": email, "name": "Ivo" })).await
}

/// Invites a member, who follows the link in the mail.
async fn join(fixture: &OfferingFixture, by: &Person, email: &str) -> Person {
    let server = fixture.server.as_ref().unwrap();
    let invited = invite(fixture, by, email).await;
    assert_eq!((invited.status, invited.text("/status")), (201, "pending_verification".to_owned()), "{invited:?}");
    let token = server.mailed("invitation", email).await;
    assert_eq!(set_password_by_mail(fixture, &token).await, 204);
    Person::fresh(server, email).await
}

/// Sets a password by the link of a mail.
async fn set_password_by_mail(fixture: &OfferingFixture, token: &str) -> u16 {
    let body = json!({ "token": token, "new_password": PASSWORD });
    let server = fixture.server.as_ref().unwrap();
    server.anonymous().change("POST", "/v1/auth/password/reset", Some(body)).await.unwrap().status
}

async fn remove(fixture: &OfferingFixture, by: &Person, whom: &Person) -> Answer {
    by.change("DELETE", &format!("/v1/issuers/{}/members/{}", fixture.issuer_id, whom.id), None).await
}

async fn change_status(fixture: &OfferingFixture, verb: &str) -> Answer {
    fixture.olga.post(&format!("/v1/issuers/{}/{verb}", fixture.issuer_id), json!({ "reason": "a complaint" })).await
}

on_both_databases! {
    async fn a_member_is_invited_and_removed_at_once(database: Database) {
        let (fixture, ida, ivo) = two_members(database).await;
        let server = fixture.server.as_ref().unwrap();
        let own = ivo.get(&format!("/v1/issuers/{}", fixture.issuer_id)).await;
        assert_eq!((own.status, own.text("/id"), own.headers.contains_key("etag")), (200, fixture.issuer_id.clone(), true));
        let draft = fixture.draft(json!({})).await;
        assert_eq!(ivo.get(&format!("/v1/offerings/{draft}")).await.status, 200, "a colleague's draft");
        let members = ivo.get(&format!("/v1/issuers/{}/members", fixture.issuer_id)).await;
        assert_eq!((&members.body["pagination"]["total"], members.text("/data/0/email")), (&json!(2), ivo.email.clone()));
        let auditor = fixture.api.person(server, "aude", Role::Auditor).await;
        let masked = auditor.get(&format!("/v1/issuers/{}/members", fixture.issuer_id)).await;
        assert_eq!((masked.text("/data/0/email"), masked.text("/data/0/name")), ("i…@issuer.example".to_owned(), "I…".to_owned()));
        assert_eq!(invite(&fixture, &ivo, "ada@people.example").await.problem(), (409, "email_taken".to_owned()));
        let by_staff = invite(&fixture, &fixture.olga, "mole@issuer.example").await;
        assert_eq!(by_staff.problem(), (403, "role_forbidden".to_owned()), "an operator could approve what the member asks for");
        for (body, pointer) in [(json!({ "email": "x", "name": "X" }), "/email"), (json!({ "email": "x@y.example", "name": "" }), "/name")] {
            let refused = ivo.post(&format!("/v1/issuers/{}/members", fixture.issuer_id), body).await;
            assert_eq!((refused.status, refused.text("/errors/0/pointer")), (422, pointer.to_owned()));
        }

        // API keys belong to the issuer: a colleague sees and revokes them.
        let make = async |who: &Person| who.post("/v1/api-keys", json!({ "name": "k", "scopes": ["offerings:read"] })).await;
        let (first, second) = (make(&ivo).await, make(&ivo).await);
        assert_eq!(ida.get("/v1/api-keys").await.body["pagination"]["total"], 2);
        assert_eq!(ida.post(&format!("/v1/api-keys/{}/rotate", first.text("/id")), json!({})).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(ida.change("DELETE", &format!("/v1/api-keys/{}", second.text("/id")), None).await.status, 204);
        let with = server.client().with_key(&first.text("/key"));
        assert_eq!(with.get("/v1/offerings").await.unwrap().status, 200);
        assert_eq!(remove(&fixture, &ida, &ivo).await.status, 204);
        assert_eq!(with.get("/v1/offerings").await.unwrap().problem(), (401, "token_invalid".to_owned()));
        assert_eq!(ivo.session_status().await.0, 401);
        assert_eq!(server.log_in(&ivo.email, PASSWORD).await.problem(), (403, "account_disabled".to_owned()));
        assert_eq!(remove(&fixture, &ida, &ivo).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(remove(&fixture, &ida, &ida).await.problem(), (409, "invalid_state".to_owned()), "the last member");
        assert_eq!(fixture.api.count("api_keys where revoked_at is null").await, 0);
    }

    async fn a_removed_member_stays_an_investor_and_a_revoked_invitation_fails(database: Database) {
        let (fixture, ida, ivo) = two_members(database).await;
        let server = fixture.server.as_ref().unwrap();
        fixture.api.write(&format!("update users set roles = 'investor issuer' where id = '{}'", ivo.id)).await;
        assert_eq!(remove(&fixture, &ida, &ivo).await.status, 204);
        let me = Person::log_in(server, &ivo.email).await.get("/v1/auth/me").await;
        assert_eq!((&me.body["roles"], &me.body["issuer_id"]), (&json!(["investor"]), &Value::Null));
        let invited = invite(&fixture, &ida, "new@issuer.example").await;
        let token = server.mailed("invitation", "new@issuer.example").await;
        let path = format!("/v1/issuers/{}/members/{}", fixture.issuer_id, invited.text("/id"));
        assert_eq!(fixture.olga.change("DELETE", &path, None).await.status, 204, "an operator may do it too");
        assert_eq!(set_password_by_mail(&fixture, &token).await, 422);
    }

    async fn a_member_who_loses_the_role_leaves_the_issuer(database: Database) {
        let (fixture, ida, ivo) = two_members(database).await;
        let server = fixture.server.as_ref().unwrap();
        let (a, b) = (fixture.api.person(server, "a", Role::Admin).await, fixture.api.person(server, "b", Role::Admin).await);
        let set = async |who: &Person, role: &str| {
            let body = json!({ "roles": [role], "reason": "moves on" });
            a.change("PATCH", &format!("/v1/users/{}/roles", who.id), Some(body)).await
        };
        let total = async |path: &str| ida.get(path).await.body["pagination"]["total"].clone();
        let members = format!("/v1/issuers/{}/members", fixture.issuer_id);
        for role in ["operator", "investor"] {
            let person = join(&fixture, &ida, &format!("{role}@issuer.example")).await;
            assert_eq!(total(&members).await, json!(3));
            let key = person.post("/v1/api-keys", json!({ "name": "k", "scopes": ["offerings:read"] })).await.text("/key");
            let changed = set(&person, role).await;
            if changed.status != 200 {
                assert_eq!(b.approve(&changed).await.text("/status"), "executed");
            }
            assert_eq!((total(&members).await, total("/v1/api-keys").await), (json!(2), json!(0)), "{role}");
            assert_eq!(remove(&fixture, &ida, &person).await.problem(), (404, "not_found".to_owned()), "{role}");
            assert_eq!(server.client().with_key(&key).get("/v1/offerings").await.unwrap().status, 401, "{role}");
            let me = Person::log_in(server, &person.email).await.get("/v1/auth/me").await;
            assert_eq!((&me.body["roles"], &me.body["issuer_id"]), (&json!([role]), &Value::Null));
        }
        // One member stays when the last two leave at once, each in another way.
        let (removed, changed) = tokio::join!(remove(&fixture, &fixture.olga, &ivo), set(&ida, "investor"));
        assert!(matches!((removed.status, changed.status), (204, 409) | (409, 200)), "{removed:?} {changed:?}");
        assert_eq!(fixture.api.count(&format!("users where issuer_id = '{}'", fixture.issuer_id)).await, 1);
    }

    async fn the_migration_takes_former_members_from_their_issuer(database: Database) {
        let (mut fixture, ida, ivo) = two_members(database).await;
        drop(fixture.server.take());
        fixture.api.write(&format!("update users set roles = 'operator' where id = '{}'", ivo.id)).await;
        fixture.api.write("delete from muniment_migrations where version = 53").await;
        open(&fixture.api.database.url()).await.close().await;
        assert_eq!(fixture.api.rows("select id from users where issuer_id is not null").await.concat(), [ida.id]);
    }

    async fn two_members_removing_each_other_leave_one(database: Database) {
        let (fixture, ida, ivo) = two_members(database).await;
        for _ in 0..5 {
            let (first, second) = tokio::join!(remove(&fixture, &ida, &ivo), remove(&fixture, &ivo, &ida));
            let done = [&first, &second].iter().filter(|answer| answer.status == 204).count();
            assert!(done == 1 && first.status < 500 && second.status < 500, "{first:?} {second:?}");
            let people = format!("users where issuer_id = '{}' and status = 'active'", fixture.issuer_id);
            assert_eq!(fixture.api.count(&people).await, 1);
            for who in [&ida, &ivo] {
                let back = format!("update users set status = 'active', issuer_id = '{}' where id = '{}'", fixture.issuer_id, who.id);
                fixture.api.write(&back).await;
            }
            fixture.api.write("update sessions set revoked_at = null, revoke_reason = null").await;
        }
    }

    async fn a_suspended_issuer_is_read_only_until_reinstated(database: Database) {
        let (fixture, ida, ivo) = two_members(database).await;
        let server = fixture.server.as_ref().unwrap();
        let (open, draft) = (fixture.open(json!({})).await, fixture.draft(json!({ "token_symbol": "NEXT" })).await);
        let key = ida.post("/v1/api-keys", json!({ "name": "k", "scopes": ["offerings:read", "offerings:write"] })).await;
        let program = server.client().with_key(&key.text("/key"));
        assert_eq!(ida.post(&format!("/v1/issuers/{}/suspend", fixture.issuer_id), json!({ "reason": "x" })).await.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!(change_status(&fixture, "reinstate").await.problem(), (409, "invalid_state".to_owned()));
        let unsaid = fixture.olga.post(&format!("/v1/issuers/{}/suspend", fixture.issuer_id), json!({ "reason": " " })).await;
        assert_eq!((unsaid.status, unsaid.text("/errors/0/pointer")), (422, "/reason".to_owned()));
        let (one, other) = tokio::join!(change_status(&fixture, "suspend"), change_status(&fixture, "suspend"));
        let mut outcomes = [one.status, other.status];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 409], "{one:?} {other:?}");

        let stopped = (409, "invalid_state".to_owned());
        let before = fixture.api.count("offerings").await;
        for who in [&ida, &ivo] {
            assert_eq!(who.get(&format!("/v1/offerings/{draft}")).await.status, 200);
            assert_eq!(who.post("/v1/offerings", OfferingFixture::terms(json!({ "token_symbol": "MORE" }))).await.problem(), stopped);
            assert_eq!(who.post(&format!("/v1/offerings/{draft}/submit"), json!({})).await.problem(), stopped);
            assert_eq!(who.post("/v1/api-keys", json!({ "name": "l", "scopes": ["offerings:read"] })).await.problem(), stopped);
        }
        assert_eq!(program.get("/v1/offerings").await.unwrap().status, 200);
        assert_eq!(program.change("POST", &format!("/v1/offerings/{open}/pause"), Some(json!({ "reason": "x" }))).await.unwrap().problem(), stopped);
        assert_eq!(fixture.api.count("offerings").await, before);
        let shown = ida.get(&format!("/v1/issuers/{}", fixture.issuer_id)).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("suspended".to_owned(), "a complaint".to_owned()));
        // Logging in and out stays possible.
        assert_eq!(ivo.change("PATCH", "/v1/auth/me", Some(json!({ "name": "Ivo B." }))).await.status, 200);

        fixture.api.write("update investors set kyc_status = 'approved', sanctions_status = 'clear'").await;
        let subscribe = async || fixture.investor.post(&format!("/v1/offerings/{open}/subscribe"), json!({ "amount": "1000.00" })).await;
        assert_eq!(subscribe().await.problem(), (409, "offering_not_open".to_owned()));
        let preview = fixture.investor.post(&format!("/v1/offerings/{open}/subscribe?dry_run=true"), json!({ "amount": "1000.00" })).await;
        assert!(preview.body.to_string().contains("offering_not_open"), "{preview:?}");
        assert_eq!(change_status(&fixture, "reinstate").await.text("/status"), "active");
        assert_eq!(subscribe().await.status, 201);
        assert_eq!(ida.post("/v1/offerings", OfferingFixture::terms(json!({ "token_symbol": "MORE" }))).await.status, 201);
        let events = fixture.api.rows("select type from events where subject_type = 'issuer' order by sequence").await.concat();
        assert_eq!(events, ["issuer.approved", "issuer.suspended", "issuer.reinstated"]);
        let line = fixture.api.rows("select detail from audit_log where action = 'POST /v1/issuers/{id}/suspend' and detail like '%issuer.suspended%'").await;
        assert!(line[0][0].contains(r#""status":{"from":"active","to":"suspended"}"#), "{line:?}");
    }
}
