//! The overview: what needs a person, how the chains answer, and how the last hour went.

use muniment_domain::user::Role;
use world::{Mining, on_both_databases};

use super::visitor::Visitor;
use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn the_overview_shows_each_endpoint_the_last_hour_what_failed_and_gas_that_ends_soon(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        site.mint_refused(&server, 0).await;
        let chains = server.get("/blockchain/chains").await.body["data"].clone();
        let endpoint = &chains[0]["endpoints"][0];
        assert!(endpoint["is_up"] == true && endpoint["trouble"].is_null(), "{chains:#}");
        assert!(endpoint["head_block"].as_i64() > Some(0) && endpoint["since"].is_string(), "{chains:#}");
        let series = server.get("/blockchain/operations/series").await.body;
        let minutes = series["minutes"].as_array().unwrap();
        let sum = |field: &str| minutes.iter().filter_map(|minute| minute[field].as_i64()).sum::<i64>();
        assert_eq!((minutes.len(), sum("confirmed")), (60, 1), "{series:#}");
        assert!(series["fees"][0]["offered_wei"].to_string().contains('"'), "{series:#}");
        let failed = &series["failures"][0];
        assert!(failed["code"] == "reverts" && failed["within_1_hour"] == 1 && failed["older"] == 0, "{series:#}");

        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let calm = olga.get("/console").await;
        for shown in ["Endpoints seen", "127.0.0.1:", "Last hour", "in this hour, at most 1 a minute", "<rect class=\"sp-b\"",
            "Fee offered on", "What failed, by reason and age", "status=attention&amp;error_code=reverts"] {
            assert!(calm.text.contains(shown), "{shown}: {}", calm.text);
        }
        assert!(!calm.text.contains("Before it becomes urgent"), "{}", calm.text);
        let spent = format!("1{}", "0".repeat(40));
        site.write(&format!("update lanes set spent_wei = '{spent}', spent_since = '2020-01-01T00:00:00+00:00'")).await;
        assert_eq!(server.get("/blockchain/signers").await.body["data"][0]["gas_hours_left"], 0);
        let urgent = olga.get("/console").await.text;
        assert!(urgent.contains("Before it becomes urgent") && urgent.contains("has gas for less than an hour"), "{urgent}");
        assert!(olga.get("/console/signers").await.text.contains("<dt>Lasts</dt><dd>less than an hour</dd>"));
    }
}
