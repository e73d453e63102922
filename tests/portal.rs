//! What a developer of a portal stumbles over: spellings, reasons, mistyped settings, and the page that tries requests.

use alloy::primitives::Address;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Database, Engine, Launch, Mining, on_both_databases};

use crate::installation::{ApiFixture, CHAIN_ID, Installation, PATIENCE, Terms, wallet};

/// The addresses in a text that are written without their checksum.
fn unchecked(text: &str) -> Vec<String> {
    let is_hex = |c: char| c.is_ascii_hexdigit();
    let found = text.match_indices("0x").filter_map(|(at, _)| {
        let digits = &text[at + 2..][..text[at + 2..].find(|c| !is_hex(c)).unwrap_or(text.len() - at - 2)];
        (digits.len() == 40).then(|| format!("0x{digits}"))
    });
    found.filter(|address| address.parse::<Address>().unwrap().to_checksum(None) != *address).collect()
}

on_both_databases! {
    async fn every_address_has_its_checksum(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        site.minted(&server).await;
        let frozen = site.freeze(&server, "freeze", 1).await;
        site.settled().await;
        let admin = site.person(&server, "ada", Role::Admin).await;
        let body = site.about(json!({ "address": wallet(1).to_checksum(None) }));
        let asked = server.post("/blockchain/unfreeze", "unfreeze", body).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        let offering = &site.offerings[0];
        let mut seen = 0;
        for path in [
            frozen.headers["location"].to_str().unwrap().to_owned(),
            format!("/v1/approvals/{}", asked.text("/approval/id")),
            "/blockchain/operations".to_owned(),
            "/v1/subscriptions".to_owned(),
            format!("/v1/offerings/{offering}"),
            format!("/v1/offerings/{offering}/holders"),
            format!("/v1/reports/cap-table?offering_id={offering}"),
            "/blockchain/signers".to_owned(),
        ] {
            let text = admin.get(&path).await.body.to_string();
            seen += text.matches("0x").count();
            assert_eq!(unchecked(&text), Vec::<String>::new(), "{path}: {text}");
        }
        assert!(seen > 20, "there were addresses to look at: {seen}");
    }

    async fn the_networks_that_an_offering_can_name_are_listed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let listed = server.anonymous().get("/v1/networks").await.unwrap();
        let refused = server.anonymous().get("/v1/networks?colour=red").await.unwrap();
        assert_eq!(refused.problem(), (400, "unknown_parameter".to_owned()));
        assert_eq!(refused.text("/detail"), "The parameter colour is unknown. The path takes no parameters.");
        let found = &listed.body["data"][0];
        let offering = server.get(&format!("/v1/offerings/{}", site.offerings[0])).await;
        assert_eq!((listed.status, &found["chain_id"]), (200, &json!(CHAIN_ID)), "{listed:?}");
        assert_eq!((&offering.body["network"], &offering.body["blockchain"]["network"]), (&found["key"], &found["name"]), "{offering:?}");
    }

    async fn a_mint_without_anything_to_mint_counts_the_reasons(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let server = site.start().await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        site.write("update subscriptions set wallet_address = null").await;
        let refused = server.mint("mint", &site.offerings[0]).await;
        assert_eq!(refused.problem(), (409, "nothing_to_mint".to_owned()));
        assert!(refused.text("/detail").contains("3 wallet_required (such as sub_"), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_setting_is_named_and_not_ignored() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value, said) in [
        ("MUNIMENT_DATABASE_URLL", "sqlite:data.db", "MUNIMENT_DATABASE_URLL"),
        ("MUNIMENT_LISTEN", "abc", "MUNIMENT_LISTEN"),
        ("MUNIMENT_LIMITS_REQUESTS_MAX", "many", "MUNIMENT_LIMITS_REQUESTS_MAX"),
    ] {
        let mut process = Launch::new(["api"]).folder(folder.path()).env(name, value).spawn();
        let code = process.wait(PATIENCE).expect("it refuses to start").code();
        assert_eq!(code, Some(1), "{}", process.log());
        assert!(process.log().contains(said), "{}", process.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_the_document_sends_every_method() {
    let api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    let server = api.start().await;
    let get = async |path: &str| server.anonymous().get(path).await.unwrap().body;
    let (document, script) = (get("/openapi.json").await, get("/docs/page.js").await);
    let methods = script.as_str().unwrap().lines().find(|line| line.starts_with("const METHODS")).unwrap().to_owned();
    let paths = document["paths"].as_object().unwrap();
    let used = paths.values().flat_map(|operations| operations.as_object().unwrap().keys());
    for method in used.filter(|key| !["parameters", "summary", "description"].contains(&key.as_str())) {
        assert!(methods.contains(&format!("\"{method}\"")), "{method} is not sent: {methods}");
    }
    // Each code of an invalid field that the page can show has its meaning beside it.
    let codes = &document["components"]["schemas"]["InvalidFieldCode"];
    let text = codes["description"].as_str().unwrap();
    for code in codes["enum"].as_array().unwrap().iter().filter_map(Value::as_str) {
        assert!(text.contains(&format!("- `{code}`: ")), "{code}");
    }
}
