//! Every event reaches every endpoint that wants it, at least once, with the same id and the same bytes, signed; whatever the receivers
//! answer, and wherever the process ends.

use std::collections::BTreeSet;

use chrono::{NaiveDate, SecondsFormat, Utc};
use muniment_domain::id::{Ids, of};
use muniment_domain::point::Point;
use muniment_domain::user::Role;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use world::{Database, on_both_databases};

use crate::crash::{SIDES, assert_crashed};
use crate::installation::{Answer, ApiFixture, Person, Received, Receiver, Reply, Server};

pub const ENDED_AT: &[Point] = &[Point::FanOut, Point::Claim, Point::Deliver];
const ENDPOINTS: &str = "/v1/webhooks/endpoints";

pub async fn fixture(database: Database) -> ApiFixture {
    let mut api = ApiFixture::new(database).await;
    api.set("webhooks", "allow_insecure", "true");
    api.set("webhooks", "timeout_seconds", "1");
    api
}

pub async fn endpoint(person: &Person, receiver: &Receiver, types: Value) -> Answer {
    let made = person.post(ENDPOINTS, json!({ "url": receiver.url(), "event_types": types })).await;
    assert_eq!(made.status, 201, "{made:?}");
    made
}

/// An event of the platform, committed as any other.
pub async fn happen(api: &ApiFixture, number: usize, kind: &str, subject: (&str, &str)) -> String {
    let now = Utc::now();
    let id = Ids::Random.new_id::<of::Event>(now);
    api.write(&format!(
        "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) \
         values ('{id}', '{kind}', '{}', '{}', {number}, '{{\"status\":\"x\"}}', '{}')",
        subject.0,
        subject.1,
        now.to_rfc3339_opts(SecondsFormat::Millis, false)
    ))
    .await;
    id.into()
}

pub async fn operation_event(api: &ApiFixture, number: usize) -> String {
    happen(api, number, "operation.failed", ("operation", "op_1")).await
}

/// Makes everything that waits due now.
pub async fn hurry(api: &ApiFixture) {
    // One commit, or an attempt that is due sets the next pause in between. The endpoints first, as the platform locks them, or two writers of
    // the same deliveries deadlock.
    api.write(
        "begin; update webhook_endpoints set throttled_until = null; \
         update webhook_deliveries set next_attempt_at = created_at where next_attempt_at is not null; commit",
    )
    .await;
}

/// Whether the official library accepts a request with this secret.
pub fn is_signed(request: &Received, secret: &str) -> bool {
    let mut headers = HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, request.header(name).parse().unwrap());
    }
    Webhook::new(secret).unwrap().verify(request.body.as_bytes(), &headers).is_ok()
}

pub async fn staff(api: &ApiFixture, server: &Server) -> Person {
    api.person(server, "operator", Role::Operator).await
}

on_both_databases! {
    async fn an_event_arrives_once_signed_with_its_exact_bytes(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let made = operator.post(ENDPOINTS, json!({ "url": receiver.url(), "event_types": ["operation.*"],
            "headers": { "x-portal": "own" } })).await;
        let event = operation_event(&api, 1).await;
        happen(&api, 2, "policy.changed", ("policy", "pol_1")).await;
        api.until("it arrives", async || api.count("webhook_deliveries where status = 'delivered'").await == 1).await;
        let received = receiver.received();
        assert_eq!(received.len(), 1, "{received:?}");
        let request = &received[0];
        assert!(is_signed(request, &made.text("/secret")), "{request:?}");
        let changed = Received { body: request.body.replace("op_1", "op_2"), ..request.clone() };
        assert!(!is_signed(&changed, &made.text("/secret")) && !is_signed(request, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDaa2fYpJhZHs="));
        assert_eq!((request.header("webhook-id"), request.header("webhook-attempt"), request.header("x-portal")), (event.as_str(), "1", "own"));
        let at = request.text("/timestamp");
        assert!(at.ends_with('Z') && at.len() == 24, "{at}");
        assert_eq!(request.body, format!(r#"{{"id":"{event}","type":"operation.failed","timestamp":"{at}","api_version":"2026-11-01","sequence":1,"data":{{"operation_id":"op_1","status":"x"}}}}"#));
        // During a rotation both secrets sign.
        let rotated = operator.post(&format!("{ENDPOINTS}/{}/rotate-secret", made.text("/id")), json!({})).await;
        operation_event(&api, 3).await;
        api.until("the second arrives", async || receiver.received().len() == 2).await;
        let second = &receiver.received()[1];
        assert!(is_signed(second, &made.text("/secret")) && is_signed(second, &rotated.text("/secret")), "{second:?}");
        assert_eq!(api.rows("select cast(status_code as text), response from webhook_attempts").await[0], ["200", "answer"]);
    }

    async fn an_event_reaches_only_the_owners_it_concerns(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (ada, bruno) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let (to_ada, to_bruno, to_staff) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        endpoint(&ada, &to_ada, json!(["*"])).await;
        endpoint(&bruno, &to_bruno, json!(["*"])).await;
        endpoint(&staff(&api, &server).await, &to_staff, json!(["wallet.frozen", "operation.*"])).await;
        let investor = ada.get("/v1/auth/me").await.text("/investor_id");
        api.write(&format!("insert into wallets (id, investor_id, address, created_at) \
            values ('wal_01jc0000000000000000000001', '{investor}', '0x01', '2026-01-01T00:00:00+00:00')")).await;
        let frozen = happen(&api, 1, "wallet.frozen", ("wallet", "wal_01jc0000000000000000000001")).await;
        operation_event(&api, 2).await;
        api.until("both arrive at staff", async || to_staff.received().len() == 2).await;
        api.until("one arrives at ada", async || to_ada.count("wallet.frozen") == 1).await;
        assert_eq!(to_ada.received()[0].header("webhook-id"), frozen);
        assert_eq!((to_ada.count("operation.failed"), to_bruno.received().len()), (0, 0));
        // What a caller may poll and what is delivered is the same.
        let polled = ada.get("/v1/events?type=wallet.frozen").await;
        assert_eq!(polled.text("/data/0/id"), frozen);
        assert_eq!(bruno.get("/v1/events?type=wallet.frozen").await.body["data"], json!([]));
    }

    async fn every_failure_is_retried_with_the_same_bytes_until_it_is_accepted(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        endpoint(&operator, &receiver, json!(["*"])).await;
        let replies = [Reply::Status(500, ""), Reply::Hang, Reply::Drop, Reply::Garbage,
            Reply::Status(302, "location: http://127.0.0.1:1/\r\n"), Reply::Status(429, "retry-after: 3600\r\n")];
        receiver.reply(replies[0].clone());
        operation_event(&api, 1).await;
        for (number, reply) in replies.iter().enumerate() {
            let attempts = async || api.count("webhook_attempts").await == number as i64 + 1;
            api.until("the attempt is recorded", attempts).await;
            receiver.reply(replies.get(number + 1).cloned().unwrap_or(Reply::Huge(1 << 20)));
            if matches!(reply, Reply::Status(429, _)) {
                let paused = "webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id where e.throttled_until > d.updated_at";
                assert_eq!(api.count(paused).await, 1);
            }
            hurry(&api).await;
        }
        api.until("it is accepted", async || api.count("webhook_deliveries where status = 'delivered'").await == 1).await;
        let seen = api.rows("select coalesce(cast(status_code as text), fault), cast(length(response) as text) from webhook_attempts order by number").await;
        assert_eq!(seen.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["500", "timeout", "protocol", "protocol", "302", "429", "200"]);
        assert_eq!(seen[6][1], "4096", "the beginning of a huge answer is kept");
        let received = receiver.received();
        let distinct: BTreeSet<_> = received.iter().map(|request| (request.header("webhook-id"), request.body.as_str())).collect();
        assert_eq!((received.len(), distinct.len()), (7, 1));
        assert_eq!(received.iter().map(|request| request.header("webhook-attempt")).collect::<Vec<_>>(), ["1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(api.count("webhook_endpoints where consecutive_failures = 0 and first_failed_at is null").await, 1);
    }

    async fn a_pause_until_a_time_is_kept(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        endpoint(&operator, &receiver, json!(["operation.*"])).await;
        // A pause has a limit of a day.
        receiver.reply(Reply::Status(503, "retry-after: Tue, 31 Dec 2199 23:59:59 GMT\r\n"));
        operation_event(&api, 1).await;
        api.until("the attempt is recorded", async || api.count("webhook_attempts").await == 1).await;
        let rows = api.rows("select cast(e.throttled_until as text), cast(d.next_attempt_at as text), cast(a.created_at as text) \
            from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id join webhook_attempts a on a.delivery_id = d.id").await;
        let day = |text: &str| text.split_once(['T', ' ']).unwrap().0.parse::<NaiveDate>().unwrap();
        assert_eq!((day(&rows[0][0]) - day(&rows[0][2])).num_days(), 1, "{rows:?}");
        assert_eq!((day(&rows[0][1]) - day(&rows[0][2])).num_days(), 1, "{rows:?}");
    }

    async fn an_endpoint_that_is_gone_or_fails_for_five_days_is_disabled_and_others_are_told(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let operator = staff(&api, &server).await;
        let (gone, dead, other) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        gone.reply(Reply::Status(410, ""));
        dead.reply(Reply::Status(500, ""));
        let (first, second) = (endpoint(&operator, &gone, json!(["operation.*"])).await, endpoint(&operator, &dead, json!(["operation.*"])).await);
        endpoint(&operator, &other, json!(["endpoint.disabled"])).await;
        operation_event(&api, 1).await;
        api.until("the other is told of the first", async || other.count("endpoint.disabled") == 1).await;
        let read = operator.get(&format!("{ENDPOINTS}/{}", first.text("/id"))).await;
        assert_eq!((read.text("/status"), read.text("/disabled_reason")), ("disabled".to_owned(), "the endpoint answered 410 Gone".to_owned()));
        api.until("the second has failed", async || api.count("webhook_endpoints where consecutive_failures > 0 and status = 'enabled'").await == 1).await;
        api.write("update webhook_endpoints set first_failed_at = '2020-01-01T00:00:00+00:00' where first_failed_at is not null").await;
        hurry(&api).await;
        api.until("the other is told of the second", async || other.count("endpoint.disabled") == 2).await;
        assert_eq!(operator.get(&format!("{ENDPOINTS}/{}", second.text("/id"))).await.text("/disabled_reason"), "every attempt failed for five days");
        let waiting = "webhook_deliveries where status in ('pending', 'delivering', 'retrying')";
        api.until("nothing waits", async || api.count(waiting).await == 0).await;
    }

    async fn a_delivery_fails_after_ten_attempts(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        receiver.reply(Reply::Status(500, ""));
        endpoint(&operator, &receiver, json!(["operation.*"])).await;
        operation_event(&api, 1).await;
        for number in 1..=10 {
            api.until("the attempt is recorded", async || api.count("webhook_attempts").await == number).await;
            hurry(&api).await;
        }
        api.until("it has failed", async || api.count("webhook_deliveries where status = 'failed' and attempts = 10").await == 1).await;
    }

    async fn hanging_endpoints_delay_no_other(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, healthy, hanging) = (staff(&api, &server).await, Receiver::start().await, Receiver::start().await);
        hanging.reply(Reply::Hang);
        for _ in 0..6 {
            endpoint(&operator, &hanging, json!(["operation.*"])).await;
        }
        endpoint(&operator, &healthy, json!(["operation.*"])).await;
        for number in 1..=60 {
            operation_event(&api, number).await;
        }
        api.until("all arrive at the healthy one", async || api.count("webhook_deliveries where status = 'delivered'").await == 60).await;
        assert_eq!(api.count("webhook_deliveries where status <> 'delivered'").await, 360);
        let ids: BTreeSet<_> = healthy.received().iter().map(|request| request.header("webhook-id").to_owned()).collect();
        assert_eq!(ids.len(), 60, "each once");
    }

    async fn crash_around_each_write_of_a_delivery(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        endpoint(&operator, &receiver, json!(["operation.*"])).await;
        drop(server);
        let mut number = 0;
        for point in ENDED_AT {
            for side in SIDES {
                number += 1;
                let event = operation_event(&api, number).await;
                // At its start a process with the database for itself passes the claim once.
                let passing = if *point == Point::Claim && api.database.url().starts_with("sqlite") { 2 } else { 1 };
                let plan = format!("{point}.{side}:{passing}");
                let mut process = api.launch().env("MUNIMENT_CRASH", &plan).spawn();
                assert_crashed(&mut process, &plan);
                // A claim expires after a minute; a process that has the database for itself need not wait.
                api.write("update webhook_deliveries set next_attempt_at = created_at where status = 'delivering'").await;
                let server = api.start().await;
                let delivered = format!("webhook_deliveries where status = 'delivered' and event_id = '{event}'");
                api.until("it is delivered", async || api.count(&delivered).await == 1).await;
                drop(server);
                let bodies: Vec<_> = receiver.received().into_iter().filter(|request| request.header("webhook-id") == event).collect();
                // Only the end between the send and the record sends twice, and then the same.
                let expected = if plan.starts_with("deliver.before") { 2 } else { 1 };
                assert_eq!(bodies.len(), expected, "{plan}");
                assert!(bodies.iter().all(|request| request.body == bodies[0].body));
            }
        }
    }

    async fn an_address_is_vetted_again_at_each_attempt(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("webhooks", "timeout_seconds", "1");
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        let made = operator.post(ENDPOINTS, json!({ "url": "https://hooks.portal.example/in", "event_types": ["operation.*"] })).await;
        assert_eq!(made.status, 201);
        // A row from a time with other rules.
        api.write(&format!("update webhook_endpoints set url = '{}'", receiver.url())).await;
        operation_event(&api, 1).await;
        api.until("it is refused", async || api.count("webhook_attempts where fault = 'forbidden_url'").await > 0).await;
        assert_eq!(receiver.received().len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_deliver_each_event_once() {
    let api = fixture(Database::fresh(world::Engine::Postgres).await).await;
    let (one, _two) = (api.start().await, api.start().await);
    let (operator, receiver) = (staff(&api, &one).await, Receiver::start().await);
    for _ in 0..3 {
        endpoint(&operator, &receiver, json!(["operation.*"])).await;
    }
    for number in 1..=40 {
        operation_event(&api, number).await;
    }
    api.until("all arrive", async || api.count("webhook_deliveries where status = 'delivered'").await == 120).await;
    assert_eq!((receiver.received().len(), api.count("webhook_attempts").await), (120, 120));
    // The events of a subject are numbered in the order in which they happened, whichever process fanned them out.
    let read = operator.get("/v1/events?type=operation.failed&limit=100").await;
    let sequences: Vec<_> =
        read.body["data"].as_array().unwrap().iter().map(|event| event["sequence"].as_i64()).collect();
    assert_eq!(sequences, (1..=40).map(Some).collect::<Vec<_>>());
    let body = |request: &Received| serde_json::from_str::<Value>(&request.body).unwrap()["sequence"].as_i64().unwrap();
    let mut sent: Vec<_> = receiver.received().iter().map(body).collect();
    sent.sort_unstable();
    assert_eq!(sent, (1..=40).flat_map(|number| [number; 3]).collect::<Vec<_>>());
}
