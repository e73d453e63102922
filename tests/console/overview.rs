//! The overview: what needs a person, how the chains answer, and how the last hour went.

use muniment_domain::user::Role;
use serde_json::json;
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

    async fn a_dead_letter_whose_transaction_is_on_the_chain_is_shown_before_newer_failures(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let stuck = site.stuck(&server).await;
        site.anvil.mine(1).await;
        site.finalised().await;
        site.all_read().await;
        for number in 1..=10 {
            let failed = format!(
                "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_index, chain_id, payload, \
                     payload_sha256, cycle, faults, error_code, requested_by, idempotency_key, version, created_at, updated_at) \
                 select 'op_7{number:0>25}', kind, 'failed', subject_type, subject_id, offering_id, {number}, chain_id, payload, \
                     payload_sha256, cycle, faults, 'reverts', requested_by, 'copy-{number}', version, created_at, updated_at \
                 from operations where id = '{stuck}'"
            );
            assert_eq!(site.write(&failed).await, 1);
        }
        let uncertain = server.get("/blockchain/operations?uncertain=true").await.body;
        assert_eq!((&uncertain["pagination"]["total"], &uncertain["data"][0]["id"]), (&json!(1), &json!(stuck)), "{uncertain:#}");
        let others = server.get("/blockchain/operations?uncertain=false&needs_attention=true").await.body;
        assert_eq!(others["pagination"]["total"], 10, "{others:#}");
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let page = olga.get("/console").await.text;
        assert!(page.contains("One of them may touch money."), "{page}");
        let (money, held_up) = (page.find("Money that is not certain"), page.find("Work that is held up"));
        let place = page.find(&format!("id=\"need-{stuck}\""));
        assert!(money.is_some() && money < place && place < held_up, "{page}");
        assert_eq!(page.matches("id=\"need-op_").count(), 9, "as many as there are keys");
    }

    async fn a_clean_run_of_one_offering_does_not_hide_what_a_run_of_everything_found(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let run = async |number: usize, offering: &str, findings: usize| {
            let at = "2026-11-01T00:00:00+00:00";
            let insert = format!(
                "insert into reconciliation_runs (id, status, offering_id, findings, requested_by, version, created_at, completed_at) \
                 values ('rec_0{number:0>25}', 'completed', {offering}, {findings}, 'usr_old', 2, '{at}', '{at}')"
            );
            assert_eq!(site.write(&insert).await, 1);
        };
        let offering = format!("'{}'", site.offerings[0]);
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let found = |count: usize| format!("found {count} differences");
        run(1, "null", 2).await;
        for number in 2..=105 {
            run(number, &offering, 0).await;
        }
        assert!(olga.get("/console").await.text.contains(&found(2)));
        run(106, &offering, 3).await;
        let both = olga.get("/console").await.text;
        assert!(both.contains(&found(2)) && both.contains(&found(3)), "{both}");
        run(107, "null", 0).await;
        let clean = olga.get("/console").await.text;
        assert!(!clean.contains("The last reconciliation"), "a run of everything covers what is older: {clean}");
    }

    async fn an_endpoint_that_the_platform_disabled_is_shown_and_one_that_its_owner_disabled_is_not(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let create = "/console/webhooks/act/create";
        let sheet = olga.get(create).await;
        let made = olga.submit(&sheet, create, &[("url", "https://hooks.portal.example/in"), ("event_types", "*")]).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = site.rows("select id from webhook_endpoints").await.concat().remove(0);
        let disable = format!("/console/webhooks/{id}/act/disable");
        let sheet = olga.get(&disable).await;
        assert_eq!(olga.submit(&sheet, &disable, &[]).await.status, 303);
        // The platform's is the oldest of eleven.
        for number in 0..10 {
            let (id, url, reason) = match number {
                0 => (format!("whe_0{number:0>25}"), "'https://gone.example/'", "'every attempt failed for five days'"),
                _ => (format!("whe_7{number:0>25}"), "url", "disabled_reason"),
            };
            let copy = format!(
                "insert into webhook_endpoints (id, owner, slot, url, description, event_types, status, disabled_reason, api_version, \
                     consecutive_failures, created_by, version, created_at, updated_at) \
                 select '{id}', owner, {number} + 40, {url}, description, event_types, status, {reason}, api_version, \
                     consecutive_failures, created_by, version, created_at, updated_at \
                 from webhook_endpoints where slot < 40"
            );
            assert_eq!(site.write(&copy).await, 1);
        }
        let page = olga.get("/console").await.text;
        assert!(page.contains("The webhook endpoint https://gone.example/ gets no events"), "{page}");
        assert!(!page.contains("hooks.portal.example"), "{page}");
        let entry = page.split("href=\"/console/webhooks\"").nth(1).unwrap().split("</a>").next().unwrap();
        assert!(entry.contains("<span class=\"n person\">1<"), "{entry}");
    }
}
