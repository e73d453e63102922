//! Every event of a whole life of the platform fits the JSON Schema that the catalog publishes for its kind, with no field more.
//!
//! A debug build refuses to write any other event (`domain/src/event.rs`), so the tests named below check the kinds that the demo lacks.

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;
use regex::Regex;
use serde_json::Value;

use crate::demo::Demo;

/// The kinds that the demo has no event of, and the test in which the platform writes one.
const ELSEWHERE: &[(&str, &str)] = &[
    ("approval.cancelled", "approval.rs"),
    ("approval.execution_failed", "approval.rs"),
    ("approval.expired", "approval.rs"),
    ("approval.rejected", "approval.rs"),
    ("chain.cleared", "lying_node.rs"),
    ("chain.endpoint_down", "lying_node.rs"),
    ("chain.halted", "lying_node.rs"),
    ("chain.history_accepted", "chain_history.rs"),
    ("distribution.audit_declared", "every_kind/kind.rs"),
    ("distribution.cancelled", "distribution.rs"),
    ("distribution.completed", "payout.rs"),
    ("distribution.entitlement_failed", "shortfall.rs"),
    ("distribution.entitlement_held", "payout.rs"),
    ("distribution.record_difference", "snapshot.rs"),
    ("distribution.revised", "distribution.rs"),
    ("endpoint.disabled", "webhook_delivery.rs"),
    ("endpoint.test", "webhook_again.rs"),
    ("investor.accreditation_changed", "investor_record.rs"),
    ("investor.document_added", "investor.rs"),
    ("investor.erased", "erasure.rs"),
    ("investor.kyc_approved", "investor.rs"),
    ("investor.kyc_expired", "investor.rs"),
    ("investor.kyc_reinstated", "investor.rs"),
    ("investor.kyc_renewed", "investor_record.rs"),
    ("investor.kyc_reset", "investor.rs"),
    ("investor.kyc_suspended", "investor.rs"),
    ("investor.risk_warned", "exemption.rs"),
    ("investor.tax_changed", "investor_record.rs"),
    ("investor.updated", "investor.rs"),
    ("issuer.approved", "issuer_members.rs"),
    ("issuer.reinstated", "issuer_members.rs"),
    ("issuer.suspended", "issuer_members.rs"),
    ("lane.active", "signers.rs"),
    ("lane.funds_low", "signers.rs"),
    ("lane.paused", "signers.rs"),
    ("lane.quarantined", "restore.rs"),
    ("lane.stuck", "operator.rs"),
    ("offering.archived", "offering.rs"),
    ("offering.cancelled", "offering.rs"),
    ("offering.changes_requested", "offering.rs"),
    ("offering.closed", "offering_calendar.rs"),
    ("offering.failed", "offering_calendar.rs"),
    ("offering.paused", "offering.rs"),
    ("offering.reopened", "offering_calendar.rs"),
    ("offering.resumed", "offering.rs"),
    ("offering.settled", "offering_calendar.rs"),
    ("offering.token_deployment_failed", "deploy.rs"),
    ("operation.history_lost", "chain_history.rs"),
    ("operation.history_replaced", "chain_history.rs"),
    ("operation.nonce_closed", "used_nonce.rs"),
    ("operation.resolved", "approval.rs"),
    ("policy.changed", "policies.rs"),
    ("reconciliation.difference_found", "reconciliation.rs"),
    ("session.reuse_detected", "sessions.rs"),
    ("subscription.cooling_off_changed", "offering_change.rs"),
    ("subscription.expired", "subscription_timer.rs"),
    ("subscription.wallet_changed", "subscription.rs"),
    ("wallet.preferred", "wallet_proof.rs"),
    ("wallet.recovered", "recover.rs"),
    ("wallet.reinstated", "recover.rs"),
    ("wallet.removed", "wallet_proof.rs"),
    ("wallet.unfrozen", "freeze.rs"),
    ("wallet.verified", "wallet_proof.rs"),
];

/// How a value differs from a word of a schema that concerns the value alone.
fn own_difference(word: &str, rule: &Value, value: &Value) -> Option<&'static str> {
    let (fits, why) = match word {
        "description" | "example" | "$schema" => (true, ""),
        "type" => {
            let is = |kind: &Value| match kind.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64(),
                "null" => value.is_null(),
                other => panic!("the type {other}"),
            };
            (rule.as_array().map_or_else(|| is(rule), |kinds| kinds.iter().any(is)), "has another type")
        }
        "const" => (rule == value, "is another constant"),
        "enum" => (rule.as_array().unwrap().contains(value), "is no word of it"),
        "pattern" => {
            let pattern = Regex::new(rule.as_str().unwrap()).unwrap();
            (value.as_str().is_none_or(|text| pattern.is_match(text)), "has another form")
        }
        "minimum" => (value.as_i64().is_none_or(|number| number >= rule.as_i64().unwrap()), "is too small"),
        "format" => {
            let is_time = |text: &str| DateTime::parse_from_rfc3339(text).is_ok();
            (value.as_str().is_none_or(is_time), "is no time")
        }
        other => panic!("the catalog uses {other}, which this test does not know"),
    };
    (!fits).then_some(why)
}

/// How a value differs from a schema. The words are those that the catalog uses; another word is an error.
fn difference(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let wrong = |why: &str| Some(format!("{at} {why}: {value}"));
    schema.as_object().unwrap().iter().find_map(|(word, rule)| match word.as_str() {
        "oneOf" => {
            let fits = rule.as_array().unwrap().iter().filter(|way| difference(way, value, at).is_none()).count();
            if fits == 1 { None } else { wrong("fits not exactly one way") }
        }
        "items" => {
            let items = value.as_array().into_iter().flatten();
            items.enumerate().find_map(|(number, item)| difference(rule, item, &format!("{at}/{number}")))
        }
        "required" => {
            let mut names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            let fields = value.as_object()?;
            names.find(|name| !fields.contains_key(*name)).and_then(|name| wrong(&format!("has no {name}")))
        }
        "properties" => value.as_object()?.iter().find_map(|(name, value)| match rule.get(name) {
            Some(rule) => difference(rule, value, &format!("{at}/{name}")),
            None => Some(format!("{at}/{name} is not in the schema")),
        }),
        word => own_difference(word, rule, value).and_then(wrong),
    })
}

#[test]
fn a_value_that_differs_from_its_schema_is_found() {
    let schema = serde_json::json!({ "type": "object", "required": ["id", "n"], "properties": {
        "id": { "type": "string", "pattern": "^a+$" },
        "n": { "oneOf": [{ "type": "null" }, { "type": "string", "enum": ["x"] }] },
    } });
    let differs = |value: Value| difference(&schema, &value, "").is_some();
    assert!(
        !differs(serde_json::json!({ "id": "aa", "n": "x" })) && !differs(serde_json::json!({ "id": "a", "n": null }))
    );
    for wrong in [
        serde_json::json!({ "id": "aa" }),
        serde_json::json!({ "id": "b", "n": null }),
        serde_json::json!({ "id": "a", "n": "y" }),
        serde_json::json!({ "id": "a", "n": null, "more": 1 }),
        serde_json::json!([]),
    ] {
        assert!(differs(wrong.clone()), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_the_demo_fits_the_schema_of_its_kind() {
    let demo = Demo::start();
    let catalog = demo.get("/v1/webhooks/event-types").await;
    let kinds: BTreeMap<_, _> = catalog["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| (kind["type"].as_str().unwrap().to_owned(), kind["schema"].clone()))
        .collect();
    let (mut seen, mut after, mut wrong) = (BTreeSet::new(), String::new(), Vec::new());
    let mut sequences = BTreeMap::new();
    loop {
        let page = demo.get(&format!("/v1/events?limit=100{after}")).await;
        let events = page["data"].as_array().unwrap_or_else(|| panic!("{page}"));
        for event in events {
            let kind = event["type"].as_str().unwrap();
            // A wallet has no version: its events count blocks.
            let subject = event["subject"].clone();
            if subject["type"] != "wallet" {
                let last = sequences.insert(subject["id"].to_string(), event["sequence"].as_i64());
                assert!(last.unwrap_or_default() <= event["sequence"].as_i64(), "the sequence goes back: {event}");
            }
            let mut event = event.clone();
            // The body of a webhook has no subject; everything else is the same.
            event.as_object_mut().unwrap().remove("subject");
            wrong.extend(difference(&kinds[kind], &event, kind));
            seen.insert(kind.to_owned());
        }
        if events.len() < 100 {
            break;
        }
        after = format!("&after={}", page["pagination"]["next_after"].as_str().unwrap());
    }
    assert_eq!(wrong, Vec::<String>::new());
    let named: BTreeSet<_> = ELSEWHERE.iter().map(|(kind, _)| (*kind).to_owned()).collect();
    let missed: Vec<_> = kinds.keys().filter(|kind| !seen.contains(*kind) && !named.contains(*kind)).collect();
    assert!(missed.is_empty(), "neither the demo nor a named test has an event of {missed:#?}");
    assert!(named.iter().all(|kind| kinds.contains_key(kind)), "a kind that is not in the catalog");
    for (kind, test) in ELSEWHERE {
        assert!(world::repository().join("tests").join(test).exists(), "{kind}: there is no {test}");
    }
}
