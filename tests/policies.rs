//! Policies: visible to staff, changed by two admins, kept as versions, and applied from the approval on.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Answer, ApiFixture, Installation, Person, Server, SubscriptionFixture, Terms};

/// The configured limits with changes.
fn limits(change: &Value) -> Value {
    let mut limits = json!({ "mint_dual_control_threshold": "250000.00", "payout_dual_control_threshold": "10000.00",
        "mint_platform_dual_control_threshold": "1000000.00", "payout_platform_dual_control_threshold": "40000.00", "means_raise_days": 30,
        "payout_dust_threshold": "0.01", "payment_due_days": 10, "approval_hours": 72, "kyc_months": 24, "kyc_months_at_high_risk": 12,
        "issuer_invitations_per_day": 20, "unpaid_investor_percent": 50, "unverified_investor_percent": 5, "unverified_total_percent": 20, "unverified_hours": 72 });
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(limits.as_object_mut().unwrap().remove(name)),
            value => limits[name] = value.clone(),
        }
    }
    limits
}

async fn ask(admin: &Person, version: i64, change: Value) -> Answer {
    let body = json!({ "limits": limits(&change), "reason": "the auditors ask for it" });
    admin.client().on_version(version).change("PUT", "/v1/policies", Some(body)).await.unwrap()
}

async fn changed(a: &Person, b: &Person, version: i64, change: Value) {
    let approved = b.approve(&ask(a, version, change).await).await;
    assert_eq!((approved.status, approved.text("/status")), (202, "executed".to_owned()), "{approved:?}");
}

async fn admins(api: &ApiFixture, server: &Server) -> (Person, Person) {
    (api.person(server, "a", Role::Admin).await, api.person(server, "b", Role::Admin).await)
}

on_both_databases! {
    async fn changing_limits_takes_two_admins_and_keeps_versions(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = admins(&api, &server).await;
        let read = a.get("/v1/policies").await;
        assert_eq!((read.headers["etag"].to_str().unwrap(), &read.body["limits"]), ("\"v0\"", &limits(&json!({}))));
        assert_eq!((&read.body["fixed"]["requests"]["page_limit_max"], &read.body["fixed"]["engine"]["attempts_max"]), (&json!(100), &json!(10)));
        assert_eq!(read.body["bounds"][7], json!({ "name": "approval_hours", "minimum": 25, "maximum": 336 }));

        let invited = json!({ "email": "olga@people.example", "name": "Olga", "roles": ["operator"], "reason": "x" });
        let before = a.post("/v1/users", invited).await;
        let requested = ask(&a, 0, json!({ "approval_hours": 48, "payout_dust_threshold": "1.00" })).await;
        assert_eq!((requested.status, a.get("/v1/policies").await.body["version"].as_i64()), (202, Some(0)), "{requested:?}");
        assert_eq!(a.approve(&requested).await.problem(), (403, "self_approval_forbidden".to_owned()));
        assert_eq!(b.approve(&requested).await.text("/status"), "executed");
        let read = b.get("/v1/policies").await;
        assert_eq!((&read.body["version"], &read.body["limits"]), (&json!(1), &limits(&json!({ "approval_hours": 48, "payout_dust_threshold": "1.00" }))));
        assert_eq!((read.text("/maker"), read.text("/checker"), read.text("/approval_id")), (a.id.clone(), b.id.clone(), requested.text("/approval/id")));
        assert_eq!(read.text("/reason"), "the auditors ask for it");
        let first = b.get("/v1/policies?version=0").await;
        assert_eq!((&first.body["limits"], &first.body["maker"]), (&limits(&json!({})), &Value::Null));
        assert_eq!(b.get("/v1/policies?version=2").await.problem(), (404, "not_found".to_owned()));
        assert_eq!(b.get("/v1/policies?version=-1").await.problem(), (400, "invalid_parameter".to_owned()));

        let line = api.rows("select detail from audit_log where object_type = 'policy'").await.concat().concat();
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["diff_redacted"], json!({ "approval_hours": { "from": "72", "to": "48" }, "payout_dust_threshold": { "from": "0.01", "to": "1.00" } }));
        assert_eq!(api.count("events where type = 'policy.changed'").await, 1);
        // A pending approval keeps its expiry; a new request gets the new one.
        let hours = async |approval: &str| {
            let shown = b.get(&format!("/v1/approvals/{approval}")).await;
            let at = |field: &str| shown.text(field).parse::<chrono::DateTime<chrono::Utc>>().unwrap();
            (at("/expires_at") - at("/created_at")).num_hours()
        };
        let after = a.post("/v1/api-keys", json!({ "name": "k", "scopes": ["ops:read"] })).await;
        assert_eq!((hours(&before.text("/approval/id")).await, hours(&after.text("/approval/id")).await), (72, 48));
    }

    async fn invalid_or_outdated_limits_are_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (a, b) = admins(&api, &server).await;
        let unseen = json!({ "limits": limits(&json!({ "kyc_months": 12 })), "reason": "x" });
        assert_eq!(a.change("PUT", "/v1/policies", Some(unseen)).await.problem(), (428, "precondition_required".to_owned()));
        assert_eq!(ask(&a, 1, json!({ "kyc_months": 12 })).await.problem(), (412, "version_conflict".to_owned()));
        assert_eq!(ask(&a, 0, json!({})).await.problem(), (409, "invalid_state".to_owned()), "it changes nothing");
        for (change, pointer, code) in [
            (json!({ "approval_hours": 24 }), "/limits/approval_hours", "out_of_range"),
            (json!({ "payout_dual_control_threshold": "1000000.01" }), "/limits/payout_dual_control_threshold", "out_of_range"),
            (json!({ "mint_dual_control_threshold": 5 }), "/limits/mint_dual_control_threshold", "type_mismatch"),
            (json!({ "payout_dust_threshold": "0.1" }), "/limits/payout_dust_threshold", "amount_format"),
            (json!({ "kyc_months": 6 }), "/limits/kyc_months_at_high_risk", "out_of_range"),
            (json!({ "kyc_months": null }), "/limits/kyc_months", "required"),
            (json!({ "cooling_off_hours": 0 }), "/limits/cooling_off_hours", "unknown_field"),
            (json!({ "payment_due_days": -1 }), "/limits/payment_due_days", "type_mismatch"),
        ] {
            assert_eq!(ask(&a, 0, change).await.field(), (422, pointer.to_owned(), code.to_owned()));
        }
        let (first, second) = tokio::join!(ask(&a, 0, json!({ "kyc_months": 12 })), ask(&b, 0, json!({ "kyc_months": 18 })));
        let mut outcomes = [first.status, second.status];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [202, 409], "{first:?} {second:?}");
        let (requested, approver) = if first.status == 202 { (first, b) } else { (second, a) };
        // A concurrent change wrote the next version first.
        api.write(&format!("insert into policies (version, limits, reason, created_by, created_at) values (1, '{}', 'x', '{}', '2026-01-01T00:00:00+00:00')",
            limits(&json!({ "kyc_months": 36 })), approver.id)).await;
        let late = approver.approve(&requested).await;
        assert_eq!((late.text("/status"), late.text("/error/code")), ("execution_failed".to_owned(), "version_conflict".to_owned()));
        assert_eq!((approver.get("/v1/policies").await.body["limits"]["kyc_months"].as_i64(), api.count("policies").await), (Some(36), 1));
    }

    async fn subscriptions_and_identities_use_the_limits_of_their_time(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let (a, b) = admins(&fixture.api, &fixture.server).await;
        let path = format!("/v1/offerings/{}/subscribe?dry_run=true", fixture.offering);
        let days = async || {
            let preview = fixture.investor.post(&path, json!({ "amount": "1000.00" })).await;
            let at = |field: &str| preview.text(field).parse::<chrono::DateTime<chrono::Utc>>().unwrap();
            (at("/payment_due_at") - at("/cooling_off_expires_at")).num_days()
        };
        assert_eq!(days().await, 10);
        changed(&a, &b, 0, json!({ "payment_due_days": 3, "kyc_months": 1, "kyc_months_at_high_risk": 1 })).await;
        assert_eq!(days().await, 3);
        let carl = fixture.api.person(&fixture.server, "carl", Role::Investor).await;
        let papers = json!({ "level": "basic", "data": { "date_of_birth": "1984-02-29", "document_number": "L01X00T47" } });
        assert_eq!(carl.post("/v1/investor/kyc", papers).await.status, 202);
        let investor = carl.get("/v1/auth/me").await.text("/investor_id");
        let decide = async |body: Value| fixture.operator.post(&format!("/v1/investors/{investor}/kyc/decision"), body).await;
        assert_eq!(decide(json!({ "decision": "start_review" })).await.status, 200);
        let in_days = |days: i64| crate::installation::later(days);
        let approval = |days: i64| json!({ "decision": "approve", "evidence_sha256": "ab".repeat(32), "screening": "clear", "expires_at": in_days(days) });
        let refused = decide(approval(40)).await;
        assert_eq!(refused.field(), (422, "/expires_at".to_owned(), "out_of_range".to_owned()), "{refused:?}");
        assert_eq!(decide(approval(20)).await.status, 200);
    }

    async fn many_offerings_do_not_multiply_what_one_person_mints(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        for offering in &site.offerings {
            assert_eq!(server.deploy(&format!("deploy-{offering}"), offering).await.status, 202);
        }
        site.settled().await;
        let (a, b) = (site.person(&server, "a", Role::Admin).await, site.person(&server, "b", Role::Admin).await);
        changed(&a, &b, 0, json!({ "mint_platform_dual_control_threshold": "1500.00" })).await;
        // Sent at once they count together: one of the two needs a second person.
        let at_once = tokio::join!(server.mint("first", &site.offerings[0]), server.mint("second", &site.offerings[1]));
        let (first, second) =
            if at_once.0.body["operations"].is_array() { at_once } else { (at_once.1, at_once.0) };
        assert_eq!((first.status, first.body["operations"].as_array().map(Vec::len)), (202, Some(1)), "{first:?}");
        assert_eq!((second.status, second.text("/approval/action")), (202, "mint".to_owned()), "{second:?}");
        assert_eq!(server.approve(&b, &second).await.text("/status"), "executed");
        // The limit is a policy: two admins raise it, and the next mint is one person's again.
        changed(&a, &b, 1, json!({ "mint_platform_dual_control_threshold": "9000000.00" })).await;
        let third = server.mint("third", &site.offerings[2]).await;
        assert_eq!((third.status, third.body["operations"].as_array().map(Vec::len)), (202, Some(1)), "{third:?}");
        site.settled().await;
        site.exactly_once().await;
    }

    async fn a_lower_threshold_applies_to_the_next_mint_only(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let offering = &site.offerings[0];
        assert_eq!(server.deploy("deploy", offering).await.status, 202);
        site.settled().await;
        let (a, b) = (site.person(&server, "a", Role::Admin).await, site.person(&server, "b", Role::Admin).await);
        changed(&a, &b, 0, json!({ "mint_dual_control_threshold": "0.00" })).await;
        let requested = server.mint("mint", offering).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "mint".to_owned()), "{requested:?}");
        changed(&a, &b, 1, json!({ "mint_dual_control_threshold": "9000000.00" })).await;
        assert_eq!(site.count("operations where kind = 'mint'").await, 0, "it waits for approval all the same");
        assert_eq!(server.approve(&b, &requested).await.text("/status"), "executed");
        site.settled().await;
        site.exactly_once().await;
    }
}
