//! Token and encryption keys are rotated while the platform runs: sessions continue, and encrypted data stays readable.

use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, PATIENCE, Person, Server, later, prove, register};

const ENDPOINTS: &str = "/v1/webhooks/endpoints";

fn rotate(api: &ApiFixture) -> String {
    let (status, printed) = api.launch_as(&["admin", "keys", "rotate"]).output();
    assert!(status.success(), "{printed}");
    printed
}

async fn published(server: &Server) -> Vec<String> {
    let jwks = server.anonymous().get("/.well-known/jwks.json").await.unwrap();
    jwks.body["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

async fn endpoint(person: &Person, key: &str) -> Answer {
    let body =
        json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"], "headers": { "x-portal": "own" } });
    person.client().post(ENDPOINTS, key, body).await.unwrap()
}

async fn rename(person: &Person, name: &str) -> u16 {
    person.change("PATCH", "/v1/auth/me", Some(json!({ "name": name }))).await.status
}

on_both_databases! {
    async fn keys_rotate_while_sessions_stay_valid(database: Database) {
        let mut api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        prove(&api.database, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        let made = endpoint(&ada, "once").await;
        assert_eq!(made.status, 201, "{made:?}");
        let old = published(&server).await;
        let yesterday = api.copy_secrets("yesterday.json");

        let printed = rotate(&api);
        let next = api.secrets()["generations"][1].clone();
        api.until("the next key is published", async || published(&server).await.len() == 2).await;
        let both = published(&server).await;
        assert!(both[0] == old[0] && printed.contains(&both[1]), "{both:?} {printed}");
        assert!(rotate(&api).contains("Nothing was changed"), "a key is already waiting");
        assert_eq!(api.secrets()["generations"][1], next);
        let bruno = Person::of(&server, &ada.refresh().await).await;
        let head = bruno.access_token.split('.').next().unwrap().to_owned();

        // A day passes.
        let mut file = api.secrets();
        file["generations"][1]["from"] = json!(later(0));
        file["generations"][0]["from"] = json!(later(-1));
        api.replace_secrets(&file);
        api.until("the next key signs", async || published(&server).await[0] == both[1]).await;
        // Earlier tokens stay valid: access, CSRF and refresh tokens; a refreshed pair is signed by the new key.
        assert_eq!((rename(&bruno, "Bruno").await, bruno.session_status().await.0), (200, 200));
        let today = Person::of(&server, &bruno.refresh().await).await;
        assert_ne!(today.access_token.split('.').next().unwrap(), head);
        assert_eq!((rename(&today, "Today").await, rename(&Person { access_token: today.access_token.clone(), ..bruno.clone() }, "Both").await), (200, 200));
        // Encrypted data opens, and an earlier request is recognised as the same.
        let id = made.text("/id");
        assert_eq!(today.get(&format!("{ENDPOINTS}/{id}")).await.body["headers"], json!({ "x-portal": "•••" }));
        let again = endpoint(&today, "once").await;
        assert_eq!((again.status, &again.body, api.count("webhook_endpoints").await), (201, &made.body, 1));
        let sealed = async || api.rows("select headers_sealed from webhook_endpoints").await;
        let before = sealed().await;
        let changed = today.change("PATCH", &format!("{ENDPOINTS}/{id}"), Some(json!({ "headers": { "x-portal": "own" } }))).await;
        assert_eq!((changed.status, sealed().await == before), (200, false), "{changed:?}");

        // An old key file reads data from before the rotation and nothing newer.
        drop(server);
        api.set("auth", "key_file", &format!("{:?}", yesterday));
        let server = api.start().await;
        let standing = async |token: &str| server.anonymous().with_key(token).get("/v1/auth/me").await.unwrap().problem();
        assert_eq!((standing(&bruno.access_token).await.0, standing(&today.access_token).await), (200, (401, "token_invalid".to_owned())));
        assert_eq!(published(&server).await, old);
    }

    async fn a_damaged_key_file_is_not_loaded(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        api.replace_secrets(&Value::String("spoilt".to_owned()));
        server.process.line_with("stay in use", PATIENCE).expect("the operator gets instructions");
        assert_eq!((ada.session_status().await.0, rename(&ada, "Ada").await), (200, 200));
        let (status, printed) = api.launch_as(&["admin", "keys", "rotate"]).output();
        assert!(!status.success() && printed.contains("auth.key_file"), "{printed}");
    }
}
