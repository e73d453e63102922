//! A database is used with one key file. A process whose file is missing, or is another one, does not start and creates none.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Database, Engine, on_both_databases};

use crate::installation::{ApiFixture, PATIENCE, Person};
use crate::second_factor;

/// Starts the API, which must be refused, and returns its output.
fn refusal(api: &ApiFixture) -> String {
    let mut process = api.launch().spawn();
    let status = process.wait(PATIENCE).expect("it refuses to start");
    assert_eq!(status.code(), Some(1), "{}", process.log());
    process.log()
}

/// The line of `muniment doctor` about the key file.
fn diagnosis(api: &ApiFixture) -> String {
    let (_, text) = api.launch_as(&["doctor"]).output();
    text.lines().find(|line| line.contains("key file")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in:\n{text}");
    }
}

/// The key file of another installation.
async fn foreign() -> serde_json::Value {
    let elsewhere = Database::fresh(Engine::Sqlite).await;
    let other = ApiFixture::new(elsewhere).await;
    other.start().await.process.kill();
    other.secrets()
}

on_both_databases! {
    async fn a_missing_key_file_is_refused_and_not_created(database: Database) {
        let api = ApiFixture::new(database).await;
        let path = api.folder.path().join("auth.json");
        assert_says(&diagnosis(&api), &["warn", "does not exist yet"]);
        assert!(!path.exists(), "the doctor changes nothing");
        api.start().await.process.kill();
        assert_says(&diagnosis(&api), &["ok", "is the one of the database"]);

        let away = api.folder.path().join("away.json");
        std::fs::rename(&path, &away).unwrap();
        assert_says(&refusal(&api), &["auth.key_file", "is missing", "Restore the file from its backup"]);
        assert_says(&diagnosis(&api), &["FAIL", "is missing"]);
        let invited = ["admin", "user", "create", "--email", "ada@people.example", "--role", "admin"];
        let (status, text) = api.launch_as(&invited).output();
        assert!(!status.success() && text.contains("auth.key_file"), "{text}");
        assert_eq!((path.exists(), api.count("users").await), (false, 0));

        std::fs::rename(&away, &path).unwrap();
        assert_says(&diagnosis(&api), &["ok"]);
        api.start().await.process.kill();
        assert_eq!(api.count("secrets_sample").await, 1);
    }

    async fn a_key_file_of_another_database_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let mut server = api.start().await;
        let (own, foreign) = (api.secrets(), foreign().await);
        api.replace_secrets(&foreign);
        server.process.line_with("stay in use", PATIENCE).expect("a running process goes on with its own");
        server.process.kill();
        assert_says(&refusal(&api), &["auth.key_file", "is not the one of this database", "Restore the file from its backup"]);
        assert_says(&diagnosis(&api), &["FAIL", "is not the one of the database"]);
        let (status, text) = api.launch_as(&["audit", "verify"]).output();
        assert!(!status.success() && text.contains("is not the one of this database"), "{text}");
        api.replace_secrets(&own);
        api.start().await.process.kill();
    }

    async fn the_platform_goes_on_without_a_lost_key_file(database: Database) {
        let api = ApiFixture::new(database).await;
        let mut server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        second_factor::add(&ada).await;
        server.process.kill();
        let accept = || api.launch_as(&["admin", "keys", "accept-loss"]).output();
        let (status, text) = accept();
        assert!(!status.success() && text.contains("No key file was lost"), "{text}");
        std::fs::remove_file(api.folder.path().join("auth.json")).unwrap();
        let (status, text) = accept();
        assert!(status.success() && text.contains("Second factors removed: 1."), "{text}");
        let noted = "audit_log where action = 'muniment admin keys accept-loss' and actor_kind = 'host'";
        assert_eq!((api.count(noted).await, api.count("second_factors").await), (1, 0));
        let server = api.start().await;
        Person::log_in(&server, "ada@people.example").await;
    }
}

/// The documents stay encrypted, and the page of the reviewer still works.
#[tokio::test(flavor = "multi_thread")]
async fn a_reviewer_sees_no_data_that_a_lost_key_file_encrypted() {
    let database = Database::fresh(Engine::Postgres).await;
    let api = ApiFixture::new(database).await;
    let mut server = api.start().await;
    let ada = api.person(&server, "ada", Role::Investor).await;
    let data = json!({ "date_of_birth": "1984-02-29", "document_type": "passport", "document_number": "L01X00T47",
        "nationality": "DE", "address": "Hafenstrasse 7, Hamburg" });
    let papers = json!({ "level": "basic", "data": data });
    let submitted = ada.post("/v1/investor/kyc", papers).await;
    assert_eq!(submitted.status, 202, "{submitted:?}");
    server.process.kill();
    std::fs::remove_file(api.folder.path().join("auth.json")).unwrap();
    let (status, text) = api.launch_as(&["admin", "keys", "accept-loss"]).output();
    assert!(status.success(), "{text}");
    let server = api.start().await;
    let olga = api.person(&server, "olga", Role::Operator).await;
    let review = olga.get(&format!("/v1/investors/{}/kyc", submitted.text("/investor_id"))).await;
    assert_eq!((review.status, &review.body["cases"][0]["data"]), (200, &json!(null)), "{review:?}");
}
