//! Events by long poll and as a stream: each once and in one order, over reconnects and late commits, and only those of the caller.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{SecondsFormat, Utc};
use muniment_domain::id::{Ids, of};
use muniment_domain::user::Role;
use reqwest::Response;
use serde_json::{Value, json};
use world::{http_client, on_both_databases};

use crate::installation::{ApiFixture, PATIENCE, Person, Server};
use crate::webhook_delivery::{happen, operation_event, staff};

/// A message of a stream. An opening has no data.
#[derive(Debug)]
struct Message {
    id: String,
    data: Option<Value>,
}

/// An open stream.
struct Stream {
    response: Response,
    text: String,
}

async fn request(server: &Server, person: &Person, query: &str, last: Option<&str>) -> Response {
    let request = http_client().get(format!("{}/v1/events{query}", server.url)).bearer_auth(&person.access_token);
    let request = request.header("accept", "text/event-stream");
    let request = last.iter().fold(request, |request, id| request.header("last-event-id", *id));
    request.send().await.unwrap()
}

impl Stream {
    async fn open(server: &Server, person: &Person, query: &str, last: Option<&str>) -> Self {
        let response = request(server, person, query, last).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = Self { response, text: String::new() };
        let opening = stream.next().await.unwrap();
        assert!(opening.data.is_none() && opening.id.starts_with("evt_"), "{opening:?}");
        stream
    }

    /// The next message that is no mere comment; none at the end of the stream.
    async fn next(&mut self) -> Option<Message> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let (id, data) = (field("id: "), field("data: ").map(|data| serde_json::from_str(&data).unwrap()));
                self.text = rest.to_owned();
                if let Some(id) = id {
                    return Some(Message { id, data });
                }
            }
            let piece = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("a message in time");
            self.text += std::str::from_utf8(&piece.unwrap()?).unwrap();
        }
    }

    async fn event(&mut self) -> String {
        let message = self.next().await.expect("the stream goes on");
        assert_eq!(message.data.unwrap()["id"], *message.id);
        message.id
    }
}

/// An event whose id is some seconds old, as that of a commit that took long.
async fn late_event(api: &ApiFixture, seconds: i64) -> String {
    let at = Utc::now() - chrono::Duration::seconds(seconds);
    let id = Ids::Random.new_id::<of::Event>(at);
    api.write(&format!(
        "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) \
         values ('{id}', 'operation.failed', 'operation', 'op_1', 1, '{{}}', '{}')",
        at.to_rfc3339_opts(SecondsFormat::Millis, false)
    ))
    .await;
    id.into()
}

async fn wallet(api: &ApiFixture, person: &Person, number: usize) -> String {
    let investor = person.get("/v1/auth/me").await.text("/investor_id");
    let id = format!("wal_01jc000000000000000000000{number}");
    let row = format!("('{id}', '{investor}', '0x0{number}', '2026-01-01T00:00:00+00:00')");
    api.write(&format!("insert into wallets (id, investor_id, address, created_at) values {row}")).await;
    id
}

async fn has_waiters(server: &Server, person: &Person, count: usize) -> Vec<Response> {
    let mut open = Vec::new();
    for _ in 0..count {
        let response = request(server, person, "", None).await;
        assert_eq!(response.status(), 200);
        open.push(response);
    }
    open
}

on_both_databases! {
    async fn a_long_poll_answers_with_the_first_event_or_empty_at_its_end(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (operator, ada, bruno) = (staff(&api, &server).await, api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let (hers, his) = (wallet(&api, &ada, 1).await, wallet(&api, &bruno, 2).await);
        let began = Instant::now();
        let empty = ada.get("/v1/events?type=wallet.frozen&wait=1").await;
        assert_eq!((empty.status, &empty.body["data"]), (200, &json!([])), "{empty:?}");
        assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
        // Longer than the limit of other requests would allow, and ended by her own event alone.
        let began = Instant::now();
        let poll = ada.get("/v1/events?type=wallet.frozen&wait=25");
        let write = async {
            happen(&api, 1, "wallet.frozen", ("wallet", &his)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            happen(&api, 2, "wallet.frozen", ("wallet", &hers)).await
        };
        let (polled, event) = tokio::join!(poll, write);
        assert_eq!((polled.text("/data/0/id"), polled.text("/pagination/next_after")), (event.clone(), event.clone()), "{polled:?}");
        assert_eq!((polled.body["data"].as_array().unwrap().len(), polled.text("/data/0/data/wallet_id")), (1, hers));
        assert!((Duration::from_secs(1)..Duration::from_secs(10)).contains(&began.elapsed()), "{:?}", began.elapsed());
        let rest = ada.get(&format!("/v1/events?wait=1&after={event}")).await;
        assert_eq!((&rest.body["data"], rest.text("/pagination/next_after")), (&json!([]), event), "{rest:?}");
        for query in ["wait=26", "wait=-1", "wait=x", "wait=1&wait=1"] {
            assert_eq!(operator.get(&format!("/v1/events?{query}")).await.problem(), (400, "invalid_parameter".to_owned()), "{query}");
        }
    }

    async fn an_unknown_type_is_refused_and_not_answered_with_nothing(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let operator = staff(&api, &server).await;
        for kind in ["wallet.thawed", "wallet.*", "*", "wallet", ""] {
            let query = format!("?type={kind}");
            let refused = operator.get(&format!("/v1/events{query}")).await;
            assert_eq!(refused.problem(), (400, "invalid_parameter".to_owned()), "{kind}");
            assert!(refused.text("/detail").contains("wallet.frozen"), "it names what is allowed: {refused:?}");
            assert_eq!(request(&server, &operator, &query, None).await.status(), 400, "{kind}");
        }
        // A type that only others receive is a type all the same.
        let ada = api.person(&server, "ada", Role::Investor).await;
        assert_eq!(ada.get("/v1/events?type=operation.failed").await.body["data"], json!([]));
    }

    async fn a_wait_lasts_longer_than_other_requests_may(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "request_timeout_seconds", "1");
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let answer = ada.get("/v1/events?type=wallet.frozen&wait=3").await;
        assert_eq!((answer.status, &answer.body["data"]), (200, &json!([])), "{answer:?}");
    }

    async fn pages_show_each_event_once_whatever_order_their_commits_take(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let operator = staff(&api, &server).await;
        let (mut written, mut read, mut after) = (Vec::new(), Vec::new(), String::new());
        for number in 1..=12 {
            written.push(operation_event(&api, number).await);
            written.push(late_event(&api, 50).await);
            let page = operator.get(&format!("/v1/events?type=operation.failed&limit=3&wait=5{after}")).await;
            let ids = page.body["data"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned());
            read.extend(ids);
            after = format!("&after={}", page.text("/pagination/next_after"));
        }
        while read.len() < written.len() {
            let page = operator.get(&format!("/v1/events?type=operation.failed&wait=5{after}")).await;
            let ids: Vec<_> = page.body["data"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
            assert!(!ids.is_empty(), "{read:?} of {written:?}");
            read.extend(ids);
            after = format!("&after={}", page.text("/pagination/next_after"));
        }
        assert_eq!((read.len(), read.iter().collect::<BTreeSet<_>>()), (24, written.iter().collect()));
    }

    async fn a_stream_continues_after_its_last_event_and_loses_and_doubles_none(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let operator = staff(&api, &server).await;
        let old = operation_event(&api, 1).await;
        api.fanned_out().await;
        let query = "?type=operation.failed";
        // It begins with the next event, and knows its place before there is one.
        let mut stream = Stream::open(&server, &operator, query, None).await;
        drop(stream);
        let first = operation_event(&api, 2).await;
        stream = Stream::open(&server, &operator, query, Some(&old)).await;
        assert_eq!(stream.event().await, first);
        let (mut written, mut read) = (vec![first.clone()], vec![first]);
        for number in 3..=14 {
            written.push(if number % 3 == 0 { late_event(&api, 40).await } else { operation_event(&api, number).await });
            if number % 2 == 0 {
                read.push(stream.event().await);
            }
            if number % 4 == 0 {
                drop(stream);
                stream = Stream::open(&server, &operator, query, read.last().map(String::as_str)).await;
            }
        }
        while read.len() < written.len() {
            read.push(stream.event().await);
        }
        assert_eq!((read.len(), read.iter().collect::<BTreeSet<_>>()), (13, written.iter().collect()));
        let wrong = request(&server, &operator, "", Some("evt_1")).await;
        assert_eq!(wrong.status(), 400);
        assert_eq!(wrong.json::<Value>().await.unwrap()["code"], "invalid_header");
        assert_eq!(request(&server, &operator, "?limit=3", None).await.status(), 400);
    }

    async fn a_stream_shows_only_the_callers_events_and_ends_with_the_session(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, bruno) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        let (hers, his) = (wallet(&api, &ada, 1).await, wallet(&api, &bruno, 2).await);
        let (mut to_ada, mut to_issuer) = (Stream::open(&server, &ada, "", None).await, Stream::open(&server, &issuer, "", None).await);
        happen(&api, 1, "wallet.frozen", ("wallet", &his)).await;
        operation_event(&api, 2).await;
        let frozen = happen(&api, 3, "wallet.frozen", ("wallet", &hers)).await;
        assert_eq!(to_ada.event().await, frozen, "the events of others are not shown");
        // Her session ends: the stream ends before anything that happens later.
        assert_eq!(ada.change("DELETE", &format!("/v1/auth/sessions/{}", ada.session_id), None).await.status, 204);
        happen(&api, 4, "wallet.unfrozen", ("wallet", &hers)).await;
        assert!(to_ada.next().await.is_none());
        // An issuer sees none of all these, and the end of the process ends the stream.
        let mut server = server;
        let status = server.process.terminate(Duration::from_secs(20));
        assert_eq!(status.code(), Some(0), "{}", server.process.log());
        assert!(to_issuer.next().await.is_none());
        assert!(!to_issuer.text.contains("evt_"), "{}", to_issuer.text);
    }

    async fn waits_of_a_caller_are_bounded_and_a_stop_ends_them(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "event_waits_per_caller_max", "3");
        let mut server = api.start().await;
        let (ada, bruno) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let open = has_waiters(&server, &ada, 3).await;
        for answer in [request(&server, &ada, "", None).await, http_client().get(format!("{}/v1/events?wait=1", server.url))
            .bearer_auth(&ada.access_token).send().await.unwrap()] {
            assert_eq!((answer.status().as_u16(), answer.headers().contains_key("retry-after")), (429, true));
            assert_eq!(answer.json::<Value>().await.unwrap()["code"], "rate_limited");
        }
        assert_eq!(ada.get("/v1/events").await.status, 200, "a request that does not wait needs no place");
        drop(has_waiters(&server, &bruno, 1).await);
        drop(open);
        api.until("the places are free again", async || request(&server, &ada, "", None).await.status() == 200).await;
        let poll = bruno.get("/v1/events?type=wallet.frozen&wait=25");
        let began = Instant::now();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            tokio::task::block_in_place(|| server.process.terminate(Duration::from_secs(20)))
        };
        let (polled, status) = tokio::join!(poll, stop);
        assert_eq!((polled.status, &polled.body["data"], status.code()), (200, &json!([]), Some(0)));
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}
