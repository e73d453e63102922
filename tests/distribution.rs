//! A distribution through the API, from draft to a receipt for each holder: every method, and every refusal.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Database, Engine, on_both_databases};

use crate::installation::{PayoutFixture, wallet};

on_both_databases! {
    async fn every_method_pays_every_holder_to_the_cent(database: Database) {
        let fixture = PayoutFixture::new(database, 5).await;
        for (method, total, kinds) in [
            ("direct_payout", "1000.01", vec!["payout", "payout", "payout", "payout"]),
            ("distributor", "777.77", vec!["payout", "distributor_payout"]),
            ("direct_payout", "0.07", vec!["payout", "payout", "payout"]),
        ] {
            let id = fixture.calculated(method, total).await;
            let shown = fixture.shown(&id).await;
            assert_eq!(shown.text("/totals/gross"), total);
            assert_eq!((shown.text("/totals/net"), shown.text("/totals/paid")), (total.to_owned(), "0.00".to_owned()));
            let executed = fixture.executed(&id).await;
            let operations = executed.body["operations"].as_array().unwrap().clone();
            assert_eq!(operations.iter().map(|op| op["type"].as_str().unwrap()).collect::<Vec<_>>(), kinds);
            fixture.reaches(&id, "completed").await;
            assert_eq!(fixture.shown(&id).await.text("/totals/paid"), total);
        }
        let id = fixture.site.rows("select id from distributions order by id").await.concat().remove(0);
        let csv = fixture.server.get(&format!("/v1/distributions/{id}/report?format=csv")).await;
        let paid_to = csv.body.as_str().unwrap();
        assert!(paid_to.contains(&wallet(0).to_checksum(None)), "addresses have their checksum: {paid_to}");
        assert_eq!(fixture.sums_agree().await, 15);
        assert_eq!(fixture.site.count("operations where status <> 'confirmed'").await, 0);
        assert_eq!(fixture.site.count("payout_allowances").await, 2, "one for the token, one for the distributor");
    }

    async fn a_repeated_request_has_one_effect(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let id = fixture.calculated("direct_payout", "30.00").await;
        let again = fixture.act(&format!("calculate-{id}"), &id, "calculate").await;
        assert_eq!((again.status, again.headers.contains_key("idempotent-replayed")), (200, true));
        assert_eq!(fixture.act("calculate-2", &id, "calculate").await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(fixture.site.count("entitlements").await, 3);
        let submitted = fixture.act("submit", &id, "submit").await;
        assert_eq!(submitted.status, 200, "{submitted:?}");
        let path = format!("/v1/distributions/{id}/execute");
        let keyed = fixture.server.client().post(&path, "keyed", json!({})).await.unwrap();
        assert_eq!(keyed.problem(), (403, "role_forbidden".to_owned()), "moving money needs a person");
        let operator = fixture.server.session().await;
        let requested = (0..6).map(|number| {
            let (client, path) = (operator.clone(), path.clone());
            async move { client.post(&path, &format!("execute-{number}"), json!({})).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        assert_eq!(answers.iter().filter(|a| a.status == 202).count(), 1, "{answers:?}");
        assert!(answers.iter().all(|a| a.status == 202 || a.problem() == (409, "invalid_state".to_owned())), "{answers:?}");
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 3);
    }

    async fn an_entitlement_that_cannot_be_paid_is_held_and_delays_no_other(database: Database) {
        let fixture = PayoutFixture::new(database, 5).await;
        let site = &fixture.site;
        site.write(&format!("delete from wallets where address = '{:#x}'", wallet(0))).await;
        let owner = |n: usize| format!("select investor_id from wallets where address = '{:#x}'", wallet(n));
        site.write(&format!("update investors set kyc_status = 'expired' where id = ({})", owner(1))).await;
        let taxed = site.rows(&owner(2)).await[0][0].clone();
        let officer = site.person(&fixture.server, "tara", Role::Operator).await;
        let rate = json!({ "withholding_rate": "30.00", "basis": "no_treaty", "evidence_sha256": "ab".repeat(32) });
        let set = officer.post(&format!("/v1/investors/{taxed}/tax"), rate).await;
        assert_eq!(set.status, 200, "{set:?}");
        let id = fixture.calculated("direct_payout", "500.00").await;
        let parts = fixture.parts(&id).await;
        let of = |n: usize| parts.iter().find(|part| part.1 == wallet(n)).unwrap().clone();
        assert_eq!((of(0).3, of(0).4), ("held".to_owned(), "wallet_required".to_owned()));
        assert_eq!((of(1).3, of(1).4), ("held".to_owned(), "kyc_required".to_owned()));
        assert_eq!(fixture.decide("hold", &id, &of(3).0, "hold").await.text("/hold_reason"), "operator");
        assert_eq!(fixture.decide("early", &id, &of(0).0, "release").await.problem(), (422, "wallet_required".to_owned()));
        assert_eq!(fixture.decide("sooner", &id, &of(1).0, "release").await.problem(), (409, "invalid_state".to_owned()));
        let withheld = site.rows("select cast(sum(withholding) as text), cast(sum(gross - withholding - net) as text) from entitlements").await;
        assert!(withheld[0][0].parse::<i64>().unwrap() > 2_000 && withheld[0][1] == "0", "{withheld:?}");
        fixture.executed(&id).await;
        fixture.reaches(&id, "partially_completed").await;
        assert_eq!(fixture.sums_agree().await, 2);
        // The reason is gone: an approver releases it, and it is paid.
        assert_eq!(fixture.decide("release", &id, &of(3).0, "release").await.text("/status"), "calculated");
        let requested = fixture.decide("reissue", &id, &of(3).0, "reissue").await;
        assert_eq!(requested.status, 202, "{requested:?}");
        assert_eq!(fixture.approve(&requested).await.text("/status"), "executed");
        site.until("it is paid", async || fixture.parts(&id).await.iter().filter(|p| p.3 == "paid").count() == 3).await;
        for n in [0, 1] {
            let requested = fixture.decide(&format!("exclude-{n}"), &id, &of(n).0, "exclude").await;
            assert_eq!(fixture.approve(&requested).await.text("/status"), "executed");
        }
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 3);
    }

    async fn payouts_below_the_threshold_count_together(database: Database) {
        let fixture = PayoutFixture::with(database, 2, |site| site.config.payout_threshold("100.00")).await;
        let ids = [fixture.calculated("direct_payout", "60.00").await, fixture.calculated("direct_payout", "60.01").await];
        let requested = ids.iter().map(|id| {
            let (client, path) = (fixture.server.client(), format!("/v1/distributions/{id}/submit"));
            async move { client.post(&path, "submit", json!({})).await.unwrap() }
        });
        let requested = futures::future::join_all(requested).await;
        let mut statuses: Vec<_> = requested.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 202], "one of two concurrent moves needs an approver: {requested:?}");
        fixture.approve(requested.iter().find(|answer| answer.status == 202).unwrap()).await;
        for id in &ids {
            assert_eq!(fixture.shown(id).await.text("/status"), "approved");
        }
        let small = fixture.calculated("direct_payout", "39.99").await;
        assert_eq!(fixture.act("small", &small, "submit").await.status, if requested[0].status == 200 { 200 } else { 202 });
        let more = fixture.calculated("direct_payout", "40.00").await;
        assert_eq!(fixture.act("more", &more, "submit").await.status, 202);
    }

    async fn payouts_of_the_platform_count_together(database: Database) {
        let fixture = PayoutFixture::with(database, 2, |site| site.config.platform_payout_threshold("100.00")).await;
        let first = fixture.calculated("direct_payout", "60.00").await;
        assert_eq!(fixture.act("first", &first, "submit").await.status, 200, "far below the offering's own threshold");
        let second = fixture.calculated("direct_payout", "40.00").await;
        let waits = fixture.act("second", &second, "submit").await;
        assert_eq!((waits.status, waits.text("/approval/status")), (202, "pending".to_owned()), "{waits:?}");
        let third = fixture.calculated("direct_payout", "39.99").await;
        assert_eq!(fixture.act("third", &third, "submit").await.status, 200, "what waits does not count");
        let sums = "select 'offering', cast(amount as text) from unaided_days where action = 'payout' \
            union all select 'platform', cast(amount as text) from unaided_platform_days where action = 'payout' order by 1";
        assert_eq!(fixture.site.rows(sums).await, [["offering", "9999"], ["platform", "9999"]]);
    }

    async fn a_payout_whose_approval_lapsed_is_paid_when_it_needs_none(database: Database) {
        let fixture = PayoutFixture::with(database, 2, |site| site.config.payout_threshold("100.00")).await;
        let site = &fixture.site;
        let first = fixture.calculated("direct_payout", "60.00").await;
        assert_eq!(fixture.act("first", &first, "submit").await.status, 200);
        let ids = [fixture.calculated("direct_payout", "45.00").await, fixture.calculated("direct_payout", "50.00").await];
        let mut lapsed = Vec::new();
        for (id, verb, person) in [(&ids[0], "reject", fixture.colleague.client()), (&ids[1], "cancel", fixture.server.session().await)] {
            let requested = fixture.act(verb, id, "submit").await;
            assert_eq!(requested.text("/approval/status"), "pending", "{requested:?}");
            let path = format!("/v1/approvals/{}/{verb}", requested.text("/approval/id"));
            let ended = person.on_version(1).post(&path, &format!("{verb}-approval"), json!({ "comment": "not today" })).await.unwrap();
            assert_eq!(ended.status, 200, "{ended:?}");
            let shown = fixture.shown(id).await;
            assert_eq!((shown.text("/status"), &shown.body["approval"]), ("calculated".to_owned(), &json!(null)), "{shown:?}");
            lapsed.push(requested.text("/approval/id"));
        }
        // A row of an earlier release still names its cancelled approval.
        site.write(&format!("update distributions set approval_id = '{}' where id = '{}'", lapsed[1], ids[1])).await;
        // The sum of the next day begins at zero.
        site.write("update unaided_days set day = day - 1").await;
        site.write("update unaided_platform_days set day = day - 1").await;
        for id in &ids {
            let submitted = fixture.act(&format!("again-{id}"), id, "submit").await;
            assert_eq!((submitted.status, submitted.text("/status")), (200, "approved".to_owned()), "{submitted:?}");
            let executed = fixture.act(&format!("execute-{id}"), id, "execute").await;
            assert_eq!(executed.status, 202, "{executed:?}");
            fixture.reaches(id, "completed").await;
        }
        assert_eq!(fixture.sums_agree().await, 4);
    }

    async fn a_record_date_ends_at_the_utc_offset_of_the_offering(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        for (minutes, record, payment) in [
            (0, "2999-01-01T23:59:59.000Z", "2999-01-02T00:00:00.000Z"),
            (540, "2999-01-01T14:59:59.000Z", "2999-01-01T15:00:00.000Z"),
            (-210, "2999-01-02T03:29:59.000Z", "2999-01-02T03:30:00.000Z"),
        ] {
            fixture.site.write(&format!("update offerings set utc_offset_minutes = {minutes}")).await;
            let mut body = fixture.body("direct_payout", "10.00").await;
            body["record_date"] = json!("2999-01-01");
            body["payment_date"] = json!("2999-01-02");
            let drafted = fixture.server.post("/v1/distributions", &format!("draft{minutes}"), body.clone()).await;
            assert_eq!(drafted.status, 201, "{drafted:?}");
            assert_eq!((drafted.text("/record_date"), drafted.text("/payment_date")), (record.to_owned(), payment.to_owned()));
            for (field, date, code) in [
                ("payment_date", "2998-12-31", "below_minimum"),
                ("record_date", "9999-12-31", if minutes < 0 { "date_format" } else { "" }),
                ("payment_date", "0001-01-01", if minutes > 0 { "date_format" } else { "below_minimum" }),
            ] {
                let mut wrong = body.clone();
                wrong[field] = json!(date);
                if date == "9999-12-31" {
                    wrong["payment_date"] = json!(if minutes < 0 { "9999-12-30" } else { date });
                }
                let answer = fixture.server.post("/v1/distributions", &format!("{date}{minutes}"), wrong).await;
                assert_eq!((answer.status == 201, answer.text("/errors/0/code")), (code.is_empty(), code.to_owned()), "{answer:?}");
                assert!(code.is_empty() || answer.text("/errors/0/pointer") == format!("/{field}"), "{answer:?}");
            }
        }
    }

    async fn an_approval_holds_for_exactly_one_payout_list(database: Database) {
        let fixture = PayoutFixture::with(database, 4, |site| site.config.payout_threshold("100.00")).await;
        let id = fixture.calculated("direct_payout", "100.00").await;
        assert_eq!(fixture.act("too-early", &id, "execute").await.problem(), (409, "invalid_state".to_owned()));
        let requested = fixture.act("submit-1", &id, "submit").await;
        assert_eq!((requested.status, requested.text("/approval/status")), (202, "pending".to_owned()), "{requested:?}");
        assert_eq!(fixture.shown(&id).await.text("/status"), "awaiting_approval");
        assert_eq!(fixture.act("unapproved", &id, "execute").await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(fixture.act("submit-2", &id, "submit").await.problem(), (409, "operation_in_progress".to_owned()));
        // A holder is put on hold after the request: the list has changed, so the approval is void.
        let part = fixture.parts(&id).await[0].0.clone();
        fixture.decide("hold", &id, &part, "hold").await;
        let late = fixture.approve(&requested).await;
        assert_eq!(late.problem(), (409, "approval_not_pending".to_owned()), "{late:?}");
        assert_eq!(fixture.site.rows("select status from approvals").await, [["cancelled"]]);
        assert_eq!(fixture.shown(&id).await.text("/status"), "calculated");
        // An approval of a cancelled distribution is void as well.
        let other = fixture.calculated("direct_payout", "200.00").await;
        assert_eq!(fixture.act("submit-other", &other, "submit").await.status, 202);
        let over = fixture.server.post(&format!("/v1/distributions/{other}/cancel"), "off", json!({ "reason": "no" })).await;
        assert_eq!((over.status, over.text("/approval/status")), (200, String::new()), "{over:?}");
        assert_eq!(fixture.site.count("approvals where status = 'cancelled'").await, 2);
        // Requested and approved again; then a wallet redirection is noticed before any payment.
        let requested = fixture.act("submit-3", &id, "submit").await;
        assert_eq!(fixture.approve(&requested).await.text("/status"), "executed");
        assert_eq!(fixture.shown(&id).await.text("/status"), "approved");
        let other = fixture.parts(&id).await[1].0.clone();
        fixture.site.write(&format!("update entitlements set payee_address = '{:#x}' where id = '{other}'", wallet(99))).await;
        assert_eq!(fixture.act("execute-1", &id, "execute").await.problem(), (409, "snapshot_mismatch".to_owned()));
        fixture.site.write(&format!("update entitlements set payee_address = wallet_address where id = '{other}'")).await;
        let executed = fixture.act("execute-2", &id, "execute").await;
        assert_eq!(executed.status, 202);
        let page = fixture.server.get(&format!("/blockchain/operations/{}", executed.text("/operations/1/id"))).await;
        assert_eq!(page.text("/approval_id"), requested.text("/approval/id"), "one approval, one execution");
        fixture.reaches(&id, "partially_completed").await;
        assert_eq!(fixture.sums_agree().await, 3);
        let events = format!("select type from events where subject_type = 'distribution' and subject_id = '{id}' order by sequence");
        let events = fixture.site.rows(&events).await;
        let expected = ["created", "snapshotting", "snapshotted", "calculated", "approval_requested", "revised", "approval_requested",
            "approved", "executing", "partially_completed"];
        assert_eq!(events.concat(), expected.map(|w| format!("distribution.{w}")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_code_and_changes_nothing() {
    let fixture = PayoutFixture::new(Database::fresh(Engine::Sqlite).await, 2).await;
    let sound = fixture.body("direct_payout", "10.00").await;
    let with = |change: serde_json::Value| {
        let mut body = sound.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    let coin = fixture.site.platform.registry.to_checksum(None);
    for (number, (body, problem)) in [
        (with(json!({ "total_amount": 10 })), (422, "validation_failed")),
        (with(json!({ "total_amount": "10" })), (422, "validation_failed")),
        (with(json!({ "total_amount": "0.00" })), (422, "validation_failed")),
        (with(json!({ "method": "cheque" })), (422, "validation_failed")),
        (with(json!({ "extra": 1 })), (422, "validation_failed")),
        (with(json!({ "payout_token": coin.to_uppercase() })), (422, "validation_failed")),
        (with(json!({ "payout_token": coin })), (409, "payout_token_unknown")),
        (with(json!({ "partition": "2" })), (422, "validation_failed")),
        (with(json!({ "offering_id": "off_01jc0000000000000000000000" })), (404, "not_found")),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = fixture.server.post("/v1/distributions", &format!("bad-{number}"), body.clone()).await;
        assert_eq!(refused.problem(), (problem.0, problem.1.to_owned()), "{body}");
    }
    assert_eq!(fixture.site.count("distributions").await, 0);
    let future = with(json!({ "record_date": "2999-01-01", "payment_date": "2999-01-01" }));
    let id = fixture.server.post("/v1/distributions", "future", future).await.text("/id");
    for (verb, problem) in [
        ("snapshot", (409, "invalid_state")),
        ("calculate", (409, "invalid_state")),
        ("submit", (409, "invalid_state")),
        ("execute", (409, "invalid_state")),
    ] {
        let refused = fixture.act(verb, &id, verb).await;
        assert_eq!(refused.problem(), (problem.0, problem.1.to_owned()), "{verb}");
        assert_eq!(
            (refused.text("/current_status"), &refused.body["allowed_transitions"]),
            ("draft".into(), &json!(["snapshot", "cancel"]))
        );
        assert!(!refused.text("/detail").contains(": ."), "{refused:?}");
        // Only time is missing for a snapshot, and the answer says how much.
        let early = verb == "snapshot";
        assert_eq!(
            (refused.body["retryable"] == json!(true), refused.text("/retry_at").starts_with("299")),
            (early, early),
            "{refused:?}"
        );
    }
    assert_eq!(fixture.act("bare", &id, "cancel").await.problem(), (422, "validation_failed".to_owned()));
    let missing = "dist_01jc0000000000000000000000";
    assert_eq!(fixture.act("missing", missing, "calculate").await.problem(), (404, "not_found".to_owned()));
    let cancelled =
        fixture.server.post(&format!("/v1/distributions/{id}/cancel"), "over", json!({ "reason": "never" })).await;
    assert_eq!((cancelled.status, cancelled.text("/status")), (200, "cancelled".to_owned()));
    assert_eq!(fixture.site.count("operations where kind = 'payout'").await, 0);
    let listed = fixture.server.get("/v1/distributions?type=dividend").await;
    assert_eq!((listed.status, listed.text("/data/0/id")), (200, id.clone()), "{listed:?}");
    assert_eq!(fixture.server.get("/v1/distributions?type=interest").await.body["data"], json!([]));
    let after = fixture.server.get(&format!("/v1/distributions?after={id}")).await;
    assert_eq!((&after.body["data"], &after.body["pagination"]["next_after"]), (&json!([]), &serde_json::Value::Null));
    let report = fixture.calculated("direct_payout", "20.00").await;
    let csv = fixture.server.get(&format!("/v1/distributions/{report}/report?format=csv")).await;
    assert_eq!(csv.body.as_str().unwrap().lines().count(), 3, "{csv:?}");
    let xml = fixture.server.get(&format!("/v1/distributions/{report}/report?format=xml")).await;
    assert_eq!(xml.problem(), (400, "invalid_parameter".to_owned()));
}
