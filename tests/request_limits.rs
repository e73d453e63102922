//! Request limits: an overloaded server says when to retry, long requests are refused, and so are unacceptable media types.

use std::time::Duration;

use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{ApiFixture, PATIENCE};

const TYPES: &str = "/v1/webhooks/event-types";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

on_both_databases! {
    async fn excess_requests_are_told_to_retry_and_probes_are_answered(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "requests_max", "1");
        let server = api.start().await;
        let ask = async |path: &str| server.anonymous().get(path).await.unwrap();
        // This answer always takes a quarter of a second.
        let slow = async || server.anonymous().change("POST", "/v1/auth/password/forgot", Some(json!({ "email": "a@b.example" }))).await;
        let soon = async |path: &str| {
            tokio::time::sleep(Duration::from_millis(100)).await;
            ask(path).await
        };
        let (mut turned_away, mut probes) = (ask(TYPES).await, Vec::new());
        for _ in 0..20 {
            if turned_away.status != 503 {
                let (_, types, alive, ready) = tokio::join!(slow(), soon(TYPES), soon("/healthz"), soon("/readyz"));
                (turned_away, probes) = (types, vec![alive.status, ready.status]);
            }
        }
        assert_eq!(turned_away.problem(), (503, "service_unavailable".to_owned()));
        assert_eq!((turned_away.headers["retry-after"].to_str().unwrap(), turned_away.body["retryable"].clone()), ("1", Value::Bool(true)));
        assert_eq!(probes, [200, 200]);
        assert_eq!(ask(TYPES).await.status, 200, "the server accepts requests again");
    }

    async fn unacceptable_media_types_and_long_requests_are_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.serve(api.launch().env("MUNIMENT_API_URL", "https://api.example/")).await;
        let ask = async |path: &str, name: &str, value: &str| server.anonymous().send("GET", path, &[(name, value)], None).await.unwrap();
        let refused = (406, "not_acceptable".to_owned());
        for (path, accept, taken) in [
            (TYPES, "*/*", true), (TYPES, "application/*", true), (TYPES, "text/html", false), (TYPES, "application/json;q=0, */*", false),
            ("/docs", "text/html", true), ("/docs", "application/json", false), ("/docs/page.css", "text/css,*/*;q=0.1", true),
            ("/docs/page.js", "text/javascript", true), ("/errors", "text/html", true), ("/errors/reverts", "text/html", true), ("/healthz", "application/json", true),
        ] {
            let answer = ask(path, "accept", accept).await;
            assert_eq!((answer.status == 200, answer.status == 406), (taken, !taken), "{path} {accept}: {answer:?}");
            if !taken {
                assert_eq!((answer.problem(), answer.headers["content-type"].to_str().unwrap()), (refused.clone(), "application/problem+json"));
            }
        }
        let problem = ask("/v1/nothing", "accept", "*/*").await;
        // The type is a page of this installation, wherever its callers reach it.
        let kind = problem.text("/type");
        let page = ask(kind.strip_prefix("https://api.example").unwrap(), "accept", "text/html").await;
        assert!(page.body.as_str().is_some_and(|html| html.contains("<h1><code>not_found</code>")), "{page:?}");
        assert_eq!(ask("/errors/nothing", "accept", "text/html").await.problem(), (404, "not_found".to_owned()));
        // Checked before authentication; a problem document is sent even to a client that does not accept it.
        assert_eq!(ask("/v1/auth/me", "accept", "text/html").await.problem(), refused);
        assert_eq!(ask("/v1/nothing", "accept", "text/html").await.problem(), (404, "not_found".to_owned()));
        let long = |bytes: usize| "a".repeat(bytes);
        assert_eq!(ask(&format!("{TYPES}?a={}", long(9_000)), "x-a", "1").await.problem(), (414, "uri_too_long".to_owned()));
        assert_eq!(ask(TYPES, "x-a", &long(8_000)).await.status, 200);
        assert_eq!(ask(TYPES, "x-a", &long(20_000)).await.problem(), (431, "head_too_large".to_owned()));
        let bare = ask(TYPES, "x-a", &long(40_000)).await;
        // As its parts arrive: the HTTP server's own response, which has no body, or ours.
        let is_own = bare.body == "" || bare.problem().1 == "head_too_large";
        assert!(bare.status == 431 && is_own, "{bare:?}");
    }

    async fn the_trace_id_of_a_caller_is_logged(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.serve(api.launch().env("MUNIMENT_LOG", "info")).await;
        let ask = async |parent: &str, id: &str| {
            let headers = [("traceparent", parent), ("x-request-id", id)];
            server.anonymous().send("GET", TYPES, &headers, None).await.unwrap();
            server.process.line_with(&format!("request.id={id}"), PATIENCE).unwrap()
        };
        assert!(ask(&format!("00-{TRACE}-b7ad6b7169203331-01"), "sound").await.contains(&format!("trace.id={TRACE}")));
        assert!(!ask(&format!("00-{TRACE}-b7ad6b7169203331-01-more"), "unsound").await.contains("trace.id"));
    }
}
