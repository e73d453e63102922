//! What the owner of an endpoint asks for: a test, an event once more, everything that was missed, a slower pace, other headers.

use std::collections::BTreeSet;

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{ApiFixture, Receiver, Reply};
use crate::webhook_delivery::{endpoint, fixture, hurry, operation_event, staff};

const ENDPOINTS: &str = "/v1/webhooks/endpoints";

/// Puts every endpoint at the beginning of a recovery that does not go on before the pause ends.
async fn begin_a_recovery_that_waits(api: &ApiFixture) {
    let end = "'2100-01-01T00:00:00.000+00:00'";
    api.write(&format!(
        "update webhook_endpoints set recover_after = 'evt_00000000000000000000000000', recover_until = {end}, throttled_until = {end}"
    ))
    .await;
}

on_both_databases! {
    async fn a_test_goes_to_that_endpoint_alone(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, one, other) = (staff(&api, &server).await, Receiver::start().await, Receiver::start().await);
        let made = endpoint(&operator, &one, json!(["operation.*"])).await;
        endpoint(&operator, &other, json!(["*"])).await;
        let path = format!("{ENDPOINTS}/{}", made.text("/id"));
        let sent = operator.post(&format!("{path}/test"), json!({})).await;
        assert_eq!((sent.status, sent.text("/event_type")), (202, "endpoint.test".to_owned()), "{sent:?}");
        api.until("it arrives", async || one.count("endpoint.test") == 1).await;
        assert_eq!(one.received()[0].text("/data/webhook_endpoint_id"), made.text("/id"));
        operation_event(&api, 1).await;
        api.until("a later event arrives at both", async || one.count("operation.failed") + other.count("operation.failed") == 2).await;
        assert_eq!(other.count("endpoint.test"), 0);
        let ada = api.person(&server, "ada", Role::Investor).await;
        assert_eq!(ada.post(&format!("{path}/test"), json!({})).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(ada.get(&format!("/v1/webhooks/deliveries/{}", sent.text("/id"))).await.status, 404);
        operator.change("PATCH", &path, Some(json!({ "status": "disabled" }))).await;
        assert_eq!(operator.post(&format!("{path}/test"), json!({})).await.problem(), (409, "invalid_state".to_owned()));
    }

    async fn what_failed_is_sent_once_more_with_the_same_id(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        receiver.reply(Reply::Status(500, ""));
        let path = format!("{ENDPOINTS}/{}", endpoint(&operator, &receiver, json!(["operation.*"])).await.text("/id"));
        let events = [operation_event(&api, 1).await, operation_event(&api, 2).await, operation_event(&api, 3).await];
        api.until("all have failed once", async || api.count("webhook_deliveries where status = 'retrying'").await == 3).await;
        api.write("update webhook_deliveries set status = 'failed', next_attempt_at = null").await;
        let failed = operator.get(&format!("{path}/deliveries?status=failed")).await;
        assert_eq!((failed.status, failed.body["pagination"]["total"].clone()), (200, json!(3)), "{failed:?}");
        receiver.reply(Reply::Status(200, ""));
        let id = failed.text("/data/0/id");
        let again = operator.post(&format!("/v1/webhooks/deliveries/{id}/redeliver"), json!({})).await;
        assert_eq!((again.status, again.text("/status")), (202, "pending".to_owned()), "{again:?}");
        api.until("it is delivered", async || api.count("webhook_deliveries where status = 'delivered'").await == 1).await;
        let detail = operator.get(&format!("/v1/webhooks/deliveries/{id}")).await;
        let codes: Vec<&Value> = detail.body["tried"].as_array().unwrap().iter().map(|attempt| &attempt["status_code"]).collect();
        assert_eq!((codes, detail.text("/tried/1/response"), detail.text("/status")), (vec![&json!(500), &json!(200)], "answer".to_owned(), "delivered".to_owned()));
        let rest = operator.post(&format!("{path}/redeliver-failed"), json!({})).await;
        assert_eq!((rest.status, &rest.body["redelivered"]), (202, &json!(2)), "{rest:?}");
        api.until("all are delivered", async || api.count("webhook_deliveries where status = 'delivered'").await == 3).await;
        for event in events {
            let bodies: Vec<_> = receiver.received().into_iter().filter(|request| request.header("webhook-id") == event).collect();
            assert!(bodies.len() == 2 && bodies[0].body == bodies[1].body, "{bodies:?}");
        }
    }

    async fn what_an_endpoint_missed_is_recovered_and_nothing_is_sent_twice(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let path = format!("{ENDPOINTS}/{}", endpoint(&operator, &receiver, json!(["operation.*"])).await.text("/id"));
        operation_event(&api, 1).await;
        // What arrived and is not recorded yet when the endpoint is disabled counts as missed, and is sent once more.
        api.until("the first is delivered", async || api.count("webhook_deliveries where status = 'delivered'").await == 1).await;
        operator.change("PATCH", &path, Some(json!({ "status": "disabled" }))).await;
        operation_event(&api, 2).await;
        operation_event(&api, 3).await;
        api.fanned_out().await;
        operator.change("PATCH", &path, Some(json!({ "status": "enabled" }))).await;
        let wrong = operator.post(&format!("{path}/recover"), json!({ "since": "2026-11-02T00:00:00Z", "until": "2026-11-01T00:00:00Z" })).await;
        assert_eq!(wrong.field(), (422, "/until".to_owned(), "out_of_range".to_owned()));
        let asked = operator.post(&format!("{path}/recover"), json!({ "since": "2026-01-01T00:00:00Z" })).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        api.until("what was missed arrives", async || receiver.received().len() == 3).await;
        api.until("the recovery ends", async || api.count("webhook_endpoints where recover_after is not null").await == 0).await;
        operation_event(&api, 4).await;
        api.until("the next arrives", async || receiver.received().len() == 4).await;
        let ids: BTreeSet<_> = receiver.received().iter().map(|request| request.header("webhook-id").to_owned()).collect();
        assert_eq!(ids.len(), 4);
    }

    async fn a_second_recovery_is_refused_and_the_first_sends_all(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let path = format!("{ENDPOINTS}/{}", endpoint(&operator, &receiver, json!(["operation.*"])).await.text("/id"));
        operator.change("PATCH", &path, Some(json!({ "status": "disabled" }))).await;
        let mut missed = BTreeSet::new();
        for number in 1..=3 {
            missed.insert(operation_event(&api, number).await);
        }
        api.fanned_out().await;
        operator.change("PATCH", &path, Some(json!({ "status": "enabled" }))).await;
        begin_a_recovery_that_waits(&api).await;
        // Its range holds none of the missed events, so they would be lost with the place of the first recovery.
        let second = operator.post(&format!("{path}/recover"), json!({ "since": "2099-01-01T00:00:00Z", "until": "2099-01-02T00:00:00Z" })).await;
        assert_eq!(second.problem(), (409, "invalid_state".to_owned()), "{second:?}");
        assert_eq!(second.text("/detail"), "Events are still being sent again. Recover again when they have been.");
        hurry(&api).await;
        api.until("all that was missed is delivered", async || api.count("webhook_deliveries where status = 'delivered'").await == 3).await;
        assert_eq!(receiver.received().iter().map(|request| request.header("webhook-id").to_owned()).collect::<BTreeSet<_>>(), missed);
        api.until("the recovery ends", async || api.count("webhook_endpoints where recover_after is not null").await == 0).await;
        let third = operator.post(&format!("{path}/recover"), json!({ "since": "2026-01-01T00:00:00Z" })).await;
        assert_eq!(third.status, 202, "{third:?}");
    }

    async fn a_recovery_ends_when_the_owner_disables_the_endpoint(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let path = format!("{ENDPOINTS}/{}", endpoint(&operator, &receiver, json!(["operation.*"])).await.text("/id"));
        begin_a_recovery_that_waits(&api).await;
        let disabled = operator.change("PATCH", &path, Some(json!({ "status": "disabled" }))).await;
        assert_eq!(disabled.status, 200, "{disabled:?}");
        assert_eq!(api.count("webhook_endpoints where recover_after is not null or recover_until is not null").await, 0);
    }

    async fn null_clears_what_an_endpoint_can_be_without_and_is_refused_for_the_rest(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let wanted = json!({ "url": receiver.url(), "event_types": ["operation.*"], "description": "portal", "headers": { "x-portal": "own" } });
        let path = format!("{ENDPOINTS}/{}", operator.post(ENDPOINTS, wanted).await.text("/id"));
        for field in ["url", "event_types", "status"] {
            let refused = operator.change("PATCH", &path, Some(json!({ field: null, "description": "other" }))).await;
            assert_eq!(refused.field(), (422, format!("/{field}"), "type_mismatch".to_owned()), "{refused:?}");
        }
        let kept = operator.change("PATCH", &path, Some(json!({ "rate_limit_per_minute": 60 }))).await;
        assert_eq!((kept.text("/description"), &kept.body["headers"]), ("portal".to_owned(), &json!({ "x-portal": "•••" })), "{kept:?}");
        let cleared = operator.change("PATCH", &path, Some(json!({ "description": null, "headers": null }))).await;
        assert_eq!((cleared.status, cleared.text("/description"), &cleared.body["headers"]), (200, String::new(), &json!({})), "{cleared:?}");
        assert_eq!(api.count("webhook_endpoints where headers_sealed is not null").await, 0);
    }

    async fn an_endpoint_gets_no_more_requests_than_it_allows(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let wanted = json!({ "url": receiver.url(), "event_types": ["operation.*"], "rate_limit_per_minute": 2 });
        assert_eq!(operator.post(ENDPOINTS, wanted).await.status, 201);
        for number in 1..=5 {
            operation_event(&api, number).await;
        }
        let delivered = async |count: i64| api.count("webhook_deliveries where status = 'delivered'").await == count;
        api.until("two arrive", async || delivered(2).await).await;
        hurry(&api).await;
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        assert_eq!(receiver.received().len(), 2);
        api.write("update webhook_attempts set created_at = '2026-01-01T00:00:00+00:00'").await;
        api.until("two more arrive", async || delivered(4).await).await;
    }

    async fn a_deleted_endpoint_gets_nothing_that_waited(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        receiver.reply(Reply::Status(500, ""));
        let path = format!("{ENDPOINTS}/{}", endpoint(&operator, &receiver, json!(["operation.*"])).await.text("/id"));
        operation_event(&api, 1).await;
        api.until("it has failed once", async || api.count("webhook_deliveries where status = 'retrying'").await == 1).await;
        assert_eq!(operator.change("DELETE", &path, None).await.status, 204);
        assert_eq!(api.count("webhook_deliveries where status = 'skipped'").await, 1);
    }
}
