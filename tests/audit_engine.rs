//! Changes by the engine and the calendar are audited like changes by people.

use std::collections::BTreeSet;

use muniment_domain::clock::Clock;
use muniment_domain::point::Point;
use muniment_domain::{event, event_data};
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Installation, OfferingFixture, SubscriptionFixture, Terms, UNLOGGED, in_days, open};
use crate::statements::Statements;

/// Entries about an object, oldest first: actor, action and changes.
fn entries(lines: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = lines["data"].as_array().unwrap().iter().rev();
    lines
        .map(|line| {
            (text(&line["actor_kind"]), text(&line["action"]), line["detail"]["diff_redacted"]["status"].clone())
        })
        .collect()
}

on_both_databases! {
    async fn timed_changes_of_a_subscription_are_audited_with_statuses(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        fixture.at(Clock::manual(in_days(15)), None).await;
        fixture.at(Clock::manual(in_days(60)), None).await;
        assert_eq!(fixture.status(&id).await, "expired");
        let lines = fixture.operator.get(&format!("/v1/audit-log?object={id}")).await;
        let timer = |from: &str, to: &str| ("engine".to_owned(), "timer".to_owned(), json!({ "from": from, "to": to }));
        let entries = entries(&lines.body);
        assert_eq!((entries[0].0.as_str(), entries[0].1.as_str()), ("person", "POST /v1/offerings/{id}/subscribe"));
        assert_eq!(entries[1..], [timer("committed", "binding"), timer("binding", "expired")]);
        assert_eq!(lines.body["data"][0]["actor"], Value::Null);
        assert_eq!(fixture.rows(UNLOGGED).await, Vec::<Vec<String>>::new());
    }

    async fn every_change_of_an_offering_is_audited_with_its_values(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.draft(json!({ "opens_at": in_days(1).to_rfc3339(), "auto_open": true })).await;
        let version = fixture.shown(&id).await.body["version"].as_i64().unwrap();
        let change = json!({ "hard_cap": "450000.00", "description": "x".repeat(300) });
        let path = format!("/v1/offerings/{id}");
        let changed = fixture.issuer.client().on_version(version).change("PATCH", &path, Some(change)).await.unwrap();
        assert_eq!(changed.status, 200, "{changed:?}");
        for (who, verb) in [(&fixture.issuer, "submit"), (&fixture.olga, "approve")] {
            assert_eq!(fixture.act(who, &id, verb, json!({})).await.status, 200);
        }
        fixture.at(in_days(2)).await;
        fixture.at(in_days(61)).await;
        assert_eq!(fixture.status(&id).await, "settled");
        let lines = fixture.olga.get(&format!("/v1/audit-log?object={id}&limit=100")).await;
        let moves: Vec<_> = entries(&lines.body).into_iter().filter(|(.., moved)| moved["from"] != moved["to"]).collect();
        let actors: Vec<_> = moves.iter().map(|(kind, ..)| kind.as_str()).collect();
        assert_eq!(actors, ["person", "person", "engine", "engine", "engine"], "{moves:?}");
        // Two calendar passes have the same time, so their order in the list is not fixed.
        for (from, to) in [("approved", "open"), ("open", "closed"), ("closed", "settled")] {
            let moved = json!({ "from": from, "to": to });
            assert_eq!(moves[2..].iter().filter(|(_, action, statuses)| action == "timer" && *statuses == moved).count(), 1);
        }
        let lines = lines.body["data"].as_array().unwrap();
        let written = lines.iter().find(|line| line["action"] == "PATCH /v1/offerings/{id}").unwrap();
        let diff = &written["detail"]["diff_redacted"];
        assert_eq!(diff["hard_cap"], json!({ "from": "50000000", "to": "45000000" }), "{written}");
        assert_eq!(diff["description"], json!({}));
        // Each entry begins with the state that the one before it left.
        let hashes = |field: &str| lines.iter().filter_map(|line| line["detail"][field].as_str()).collect::<BTreeSet<_>>();
        let (before, after) = (hashes("before_sha256"), hashes("after_sha256"));
        assert!(before.len() > 4 && before.difference(&after).count() == 1 && after.difference(&before).count() == 1, "{lines:?}");
        assert_eq!(fixture.api.rows(UNLOGGED).await, Vec::<Vec<String>>::new());
    }

    async fn personal_data_is_audited_by_field_name_without_values(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let profile = fixture.investor.get("/v1/investor/profile").await;
        let version = profile.body["version"].as_i64().unwrap();
        let change = json!({ "legal_name": "Augusta Ada King", "country": "PT" });
        let client = fixture.investor.client().on_version(version);
        let changed = client.change("PATCH", "/v1/investor/profile", Some(change)).await.unwrap();
        assert_eq!(changed.status, 200, "{changed:?}");
        let lines = fixture.olga.get(&format!("/v1/audit-log?object={}", profile.text("/id"))).await;
        let diff = &lines.body["data"][0]["detail"]["diff_redacted"];
        assert_eq!(diff, &json!({ "legal_name": {}, "country": {} }), "{lines:?}");
        assert!(!lines.body.to_string().contains("Augusta"));
    }

    async fn minting_a_page_audits_each_subscription(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(11)]).await;
        let server = site.start().await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
        site.settled().await;
        site.exactly_once().await;
        let minted = "audit_log where actor_kind = 'engine' and action = 'finalise' and object_type = 'subscription' \
            and detail like '%\"from\":\"accepted\",\"to\":\"minted\"%'";
        assert_eq!(site.count(minted).await, 11);
    }

    async fn auditing_a_large_commit_takes_few_statements(database: Database) {
        let db = open(&database.url()).await;
        let (statements, guard) = Statements::follow();
        let mut tx = db.begin().await.unwrap();
        let data = event_data::sample("subscription.minted");
        let events: Vec<_> = (0..100).map(|number| event::New {
            name: "subscription.minted".to_owned(),
            subject_type: "subscription",
            subject_id: format!("sub_{number}"),
            sequence: 2,
            data: data.clone(),
        }).collect();
        event::write_all(&mut tx, &events).await.unwrap();
        tx.commit(Point::Finalise).await.unwrap();
        drop(guard);
        let of_the_log = statements.texts().iter().filter(|text| text.contains("into audit_")).count();
        assert_eq!(of_the_log, if db.is_shared() { 2 } else { 0 });
        db.close().await;
        let lines = crate::installation::ledger_rows(&database, "select object_id from audit_log where actor_kind = 'engine'").await;
        assert_eq!(lines.len(), 100);
    }
}
