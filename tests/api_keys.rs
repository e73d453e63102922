//! API keys: scopes stay within the owner's rights, networks are restricted, rotation leaves no gap, revocation is immediate.

use muniment_domain::clock::Clock;
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_domain::user::Role;
use serde_json::json;
use world::{Database, Engine, on_both_databases};

use crate::installation::{ApiFixture, OfferingFixture, Person, open_at};

on_both_databases! {
    async fn a_key_has_only_its_scopes_and_ends_with_its_owner(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let second = api.person(&server, "second", Role::Admin).await;
        let made = admin.key(&second, json!({ "name": "reader", "scopes": ["ops:read"], "rate_limit": 50 })).await;
        assert_eq!(made.status, 201, "{made:?}");
        let key = made.text("/key");
        let with = |key: &str| server.client().with_key(key);
        let read = with(&key).get("/blockchain/operations").await.unwrap();
        assert_eq!((read.status, read.headers["ratelimit-policy"].to_str().unwrap()), (200, "\"key\";q=50;w=60"));
        assert_eq!(with(&key).get("/v1/auth/me").await.unwrap().problem(), (403, "scope_insufficient".to_owned()));
        // A key cannot create keys or see users.
        assert_eq!(with(&key).get("/v1/api-keys").await.unwrap().problem(), (403, "role_forbidden".to_owned()));
        let listed = admin.get("/v1/api-keys").await;
        assert_eq!((listed.text("/data/0/prefix"), listed.body["data"][0].get("key")), (key[..13].to_owned(), None));
        api.write(&format!("update users set roles = 'investor' where id = '{}'", admin.id)).await;
        assert_eq!(with(&key).get("/blockchain/operations").await.unwrap().problem(), (403, "role_forbidden".to_owned()));
        api.write(&format!("update users set status = 'disabled' where id = '{}'", admin.id)).await;
        assert_eq!(with(&key).get("/blockchain/operations").await.unwrap().problem(), (401, "token_invalid".to_owned()));
    }

    async fn a_key_without_its_scope_sees_of_an_offering_what_everybody_sees(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let ida = Person::fresh(fixture.server.as_ref().unwrap(), &fixture.issuer.email).await;
        let path = format!("/v1/offerings/{}", fixture.draft(json!({})).await);
        for (scope, status) in [("offerings:read", 200), ("webhooks:write", 404)] {
            let key = ida.post("/v1/api-keys", json!({ "name": scope, "scopes": [scope] })).await.text("/key");
            let with = fixture.server.as_ref().unwrap().client().with_key(&key);
            for read in [path.clone(), format!("{path}/documents")] {
                assert_eq!(with.get(&read).await.unwrap().status, status, "{scope}: {read}");
            }
        }
    }

    async fn a_key_rotates_without_a_gap_and_is_revoked_at_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let second = api.person(&server, "second", Role::Admin).await;
        let made = admin.key(&second, json!({ "name": "reader", "scopes": ["ops:read"] })).await;
        let rotated = admin.post(&format!("/v1/api-keys/{}/rotate", made.text("/id")), json!({})).await;
        assert_eq!(rotated.status, 201, "{rotated:?}");
        let standing = async |key: &str| server.client().with_key(key).get("/blockchain/operations").await.unwrap().status;
        let (old, new) = (made.text("/key"), rotated.text("/key"));
        assert_eq!((standing(&old).await, standing(&new).await), (200, 200));
        let again = admin.post(&format!("/v1/api-keys/{}/rotate", made.text("/id")), json!({})).await;
        assert_eq!(again.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(admin.change("DELETE", &format!("/v1/api-keys/{}", made.text("/id")), None).await.status, 204);
        assert_eq!((standing(&old).await, standing(&new).await), (401, 200));
        // Another user's keys are not found.
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        assert_eq!(issuer.get("/v1/api-keys").await.body["pagination"]["total"], 0);
        let theirs = issuer.change("DELETE", &format!("/v1/api-keys/{}", rotated.text("/id")), None).await;
        assert_eq!(theirs.problem(), (404, "not_found".to_owned()));
        assert_eq!(standing(&new).await, 200);
    }

    async fn a_key_works_from_its_networks_only(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let second = api.person(&server, "second", Role::Admin).await;
        for (networks, status) in [(json!(["203.0.113.0/24"]), 403), (json!(["203.0.113.0/24", "127.0.0.0/8"]), 200)] {
            let made = admin.key(&second, json!({ "name": "k", "scopes": ["ops:read"], "allowed_cidrs": networks })).await;
            let answer = server.client().with_key(&made.text("/key")).get("/blockchain/operations").await.unwrap();
            assert_eq!(answer.status, status, "{answer:?}");
        }
    }

    async fn an_invalid_key_request_is_refused_at_its_field(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        for (body, pointer) in [
            (json!({ "name": "k", "scopes": [] }), "/scopes"),
            (json!({ "name": "k", "scopes": ["ops:write"] }), "/scopes/0"),
            (json!({ "name": "k", "scopes": ["me:read", "all"] }), "/scopes/1"),
            (json!({ "name": "", "scopes": ["me:read"] }), "/name"),
            (json!({ "name": "k", "scopes": ["me:read"], "allowed_cidrs": ["here"] }), "/allowed_cidrs/0"),
            (json!({ "name": "k", "scopes": ["me:read"], "expires_at": "2020-01-01T00:00:00Z" }), "/expires_at"),
            (json!({ "name": "k", "scopes": ["me:read"], "rate_limit": 0 }), "/rate_limit"),
        ] {
            let refused = issuer.post("/v1/api-keys", body).await;
            assert_eq!((refused.status, refused.text("/errors/0/pointer")), (422, pointer.to_owned()));
        }
        let elsewhere = Person::log_in(&server, &issuer.email).await;
        let body = json!({ "name": "k", "scopes": ["me:read"] });
        assert_eq!(elsewhere.post("/v1/api-keys", body).await.problem(), (403, "step_up_required".to_owned()));
        assert_eq!(api.count("api_keys").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_requested_while_its_owner_joins_the_staff_is_refused() {
    let api = ApiFixture::new(Database::fresh(Engine::Postgres).await).await;
    let server = api.start().await;
    let ira = api.person(&server, "ira", Role::Issuer).await;
    let wanted = json!({ "name": "portal", "scopes": ["offerings:read"] });
    let old = ira.post("/v1/api-keys", wanted.clone()).await.text("/id");
    let db = open_at(&api.database.url(), Clock::System).await;
    let mut change = db.begin().await.unwrap();
    for set in ["users set roles = 'operator' where id", "api_keys set revoked_at = created_at where user_id"] {
        sql("update ").push(set).push(" = $1").bind(&ira.id).execute(&mut change).await.unwrap();
    }
    let waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let path = format!("/v1/api-keys/{old}/rotate");
    let (made, rotated, ()) = tokio::join!(ira.post("/v1/api-keys", wanted), ira.post(&path, json!({})), async {
        api.until("both wait for the change", async || api.count(waiting).await == 2).await;
        change.commit(Point::Account).await.unwrap();
    });
    let refused = (409, "invalid_state".to_owned());
    assert_eq!((made.problem(), rotated.problem()), (refused.clone(), refused), "{made:?} {rotated:?}");
    assert_eq!(api.count("api_keys where revoked_at is null").await, 0);
}
