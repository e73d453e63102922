use axum::http::HeaderValue;

use super::*;

fn takes_json(lines: &[&'static str]) -> bool {
    let line = |line: &&'static str| (header::ACCEPT, HeaderValue::from_static(line));
    takes(&lines.iter().map(line).collect(), &["application/json"])
}

#[test]
fn most_specific_media_range_decides() {
    for taken in [
        "*/*",
        "application/*",
        "Application/JSON; charset=utf-8",
        "text/html, */*;q=0.1",
        "*/*;q=0, application/json",
        "application/*;q=0.0, application/json;q=0.001",
        "text/html;q=0, */*",
        "",
        "json",
    ] {
        assert!(takes_json(&[taken]), "{taken}");
    }
    for refused in [
        "text/html",
        "application/problem+json",
        "application/json;q=0",
        "application/json; Q=0.000, */*",
        "application/*;q=0, */*",
        "*/*;q=0",
    ] {
        assert!(!takes_json(&[refused]), "{refused}");
    }
    assert!(takes_json(&[]) && takes_json(&["text/html", "application/json"]));
}
