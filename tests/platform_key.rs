//! A platform API key takes two admins: one requests it, another approves exactly that, and the requester receives it once.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, Person};

async fn decide(who: &Person, requested: &Answer, verb: &str, body: Value) -> Answer {
    let path = format!("/v1/approvals/{}/{verb}", requested.text("/approval/id"));
    who.client().on_version(1).change("POST", &path, Some(body)).await.unwrap()
}

async fn take_key(who: &Person, requested: &Answer) -> Answer {
    decide(who, requested, "api-key", json!({})).await
}

fn key_request() -> Value {
    json!({ "name": "reader", "scopes": ["ops:read", "audit:read"], "allowed_cidrs": ["127.0.0.0/8"], "rate_limit": 5000,
        "expires_at": "2027-11-01T00:00:00Z" })
}

on_both_databases! {
    async fn an_approved_platform_key_is_created_for_the_requester_and_shown_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = (api.person(&server, "a", Role::Admin).await, api.person(&server, "b", Role::Admin).await);
        let olga = api.person(&server, "olga", Role::Operator).await;
        let requested = a.post("/v1/api-keys", key_request()).await;
        assert_eq!((requested.status, requested.text("/key"), api.count("api_keys").await), (202, String::new(), 0), "{requested:?}");
        assert_eq!(a.post("/v1/api-keys", key_request()).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(take_key(&a, &requested).await.problem(), (409, "invalid_state".to_owned()), "nobody has approved it");
        let shown = b.get(requested.headers["location"].to_str().unwrap()).await;
        let mut payload = key_request();
        payload["scopes"] = json!(["audit:read", "ops:read"]);
        for field in ["name", "scopes", "allowed_cidrs"] {
            assert_eq!(shown.body["payload"][field], payload[field], "{field}");
        }
        assert_eq!((&shown.body["payload"]["per_minute"], &shown.body["payload"]["user_id"]), (&json!(5000), &json!(a.id)));
        assert_eq!((shown.text("/payload/expires_at"), &shown.body["alone_from"]), ("2027-11-01T00:00:00Z".to_owned(), &Value::Null));
        assert_eq!(a.approve(&requested).await.problem(), (403, "self_approval_forbidden".to_owned()));
        assert_eq!(olga.approve(&requested).await.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!(b.approve(&requested).await.text("/status"), "executed");
        assert_eq!(take_key(&b, &requested).await.problem(), (404, "not_found".to_owned()), "only the requester receives the secret");

        let path = format!("/v1/approvals/{}/api-key", requested.text("/approval/id"));
        let made = a.client().post(&path, "take", json!({})).await.unwrap();
        assert_eq!(made.status, 201, "{made:?}");
        let again = a.client().post(&path, "take", json!({})).await.unwrap();
        assert_eq!((&again.body, again.headers["idempotent-replayed"].to_str().unwrap()), (&made.body, "true"));
        assert_eq!(api.count("idempotency_keys where body like '%rap_%'").await, 0);
        assert_eq!(take_key(&a, &requested).await.problem(), (409, "invalid_state".to_owned()), "a second time");
        assert_eq!((api.count("api_keys").await, made.text("/approval_id")), (1, requested.text("/approval/id")));
        assert_eq!((&made.body["scopes"], &made.body["rate_limit"]), (&payload["scopes"], &json!(5000)));
        let with = server.client().with_key(&made.text("/key"));
        assert_eq!(with.get("/blockchain/operations").await.unwrap().status, 200);
    }

    async fn a_rejected_or_expired_platform_key_is_not_created(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = (api.person(&server, "a", Role::Admin).await, api.person(&server, "b", Role::Admin).await);
        let refused = a.post("/v1/api-keys", key_request()).await;
        assert_eq!(decide(&b, &refused, "reject", json!({ "comment": "no" })).await.text("/status"), "rejected");
        assert_eq!(take_key(&a, &refused).await.problem(), (409, "invalid_state".to_owned()));
        let invited = json!({ "email": "olga@people.example", "name": "Olga", "roles": ["operator"], "reason": "x" });
        let other = a.post("/v1/users", invited).await;
        b.approve(&other).await;
        assert_eq!(take_key(&a, &other).await.problem(), (409, "invalid_state".to_owned()), "it is not an approval of a key");

        let requested = a.post("/v1/api-keys", key_request()).await;
        b.approve(&requested).await;
        let (id, at) = (requested.text("/approval/id"), "expires_at = created_at");
        let before = api.rows(&format!("select cast(expires_at as text) from approvals where id = '{id}'")).await[0][0].clone();
        api.write(&format!("update approvals set {at} where id = '{id}'")).await;
        assert_eq!(take_key(&a, &requested).await.problem(), (409, "invalid_state".to_owned()), "the approval has expired");
        api.write(&format!("update approvals set expires_at = '{before}' where id = '{id}'")).await;
        let takers = futures::future::join_all((0..8).map(|_| take_key(&a, &requested))).await;
        let mut outcomes: Vec<_> = takers.iter().map(|taken| taken.status).collect();
        outcomes.sort_unstable();
        assert_eq!((outcomes, api.count("api_keys").await), ([vec![201], vec![409; 7]].concat(), 1));
    }

    async fn a_platform_key_is_not_created_for_a_former_admin(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = (api.person(&server, "a", Role::Admin).await, api.person(&server, "b", Role::Admin).await);
        let requested = a.post("/v1/api-keys", key_request()).await;
        api.write(&format!("update users set status = 'disabled' where id = '{}'", a.id)).await;
        let approved = b.approve(&requested).await;
        assert_eq!((approved.status, approved.text("/status"), approved.text("/error/code")), (200, "execution_failed".to_owned(), "invalid_state".to_owned()));
        assert_eq!(api.count("api_keys").await, 0);
    }
}
