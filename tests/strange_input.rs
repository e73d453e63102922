//! Strange input: every route gets values that break parsers and databases, in path, query, headers and body. Each request is
//! accepted or refused with its code; none causes a server error or a partial write. The seed is fixed, so that failures repeat.

use std::fmt::Write;

use muniment_domain::user::Role;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use world::{Seed, on_both_databases};

use crate::installation::{Answer, Person, Remote, SubscriptionFixture};

/// Requests to each route by each permitted caller.
const TRIES: u64 = 4;

const TEXTS: &[&str] = &[
    "",
    " ",
    "\u{0}",
    "a\u{0}b",
    "\n",
    "'",
    "\"; drop table users; --",
    "%00",
    "..",
    "../../etc/passwd",
    "é\u{301}",
    "\u{202e}abc",
    "\u{fffd}\u{10ffff}",
    "0x",
    "-1",
    "1e9",
    "NaN",
    "9223372036854775808",
    "99999999999999999999.99",
    "9999999999999.99",
    "0000-00-00T00:00:00Z",
    "-0001-01-01T00:00:00Z",
    "+262142-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999999+23:59",
    "0001-01-01T00:00:00-23:59",
    "2026-11-20T23:59:60Z",
    "usr_7zzzzzzzzzzzzzzzzzzzzzzzzz",
    "off_00000000000000000000000000",
    "*",
    "null",
];

/// Bodies that are not a valid JSON object.
const NO_OBJECTS: &[&str] = &["{", "[]", "\"", "{}", "1e999", "{\"a\":1,\"a\":2}", "\u{feff}{}"];

/// Paths as in the first line of a request.
const PATHS: &[&str] = &[
    "%00",
    "%FF",
    "%C0%80",
    "%2e%2e%2f",
    "%",
    "%2",
    "a%0Ab",
    "%F0%9F%92%A9",
    "off_01jc8yq3k5e9v8w2m4n6p7r9st%00",
    "~",
    "'",
];

fn text(chance: &mut Seed) -> String {
    match chance.below(12) {
        0 => "x".repeat(3_000),
        1 => "🔥".repeat(200),
        _ => (*chance.pick(TEXTS)).to_owned(),
    }
}

/// A value that is valid nowhere, or only for other fields.
fn value(chance: &mut Seed) -> Value {
    match chance.below(16) {
        0 => Value::Null,
        1 => json!(i64::MIN),
        2 => json!(i64::MAX),
        3 => json!(u64::MAX),
        4 => json!(1e308),
        5 => json!(-0.5),
        6 => json!(0),
        7 => json!(true),
        8 => json!([]),
        9 => json!({}),
        10 => (0..40).fold(json!(1), |inner, _| json!([inner])),
        11 => json!(vec![text(chance).chars().take(40).collect::<String>(); 2_000]),
        12 => json!({ text(chance): text(chance) }),
        _ => json!(text(chance)),
    }
}

/// Changes one place of a valid body: a field, a nested field, or an unknown field.
fn corrupt(chance: &mut Seed, valid: &Value) -> Value {
    let mut body = valid.clone();
    let mut place = &mut body;
    for _ in 0..3 {
        let inside: Vec<String> = match &*place {
            Value::Object(fields) => fields.keys().map(|name| name.replace('~', "~0").replace('/', "~1")).collect(),
            Value::Array(items) => (0..items.len()).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        };
        if inside.is_empty() {
            break;
        }
        place = place.pointer_mut(&format!("/{}", chance.pick(&inside))).unwrap();
        if chance.below(3) > 0 {
            break;
        }
    }
    *place = value(chance);
    if let (0, Value::Object(fields)) = (chance.below(10), &mut body) {
        fields.insert(text(chance), value(chance));
    }
    body
}

/// A route of the OpenAPI document: method, path, a valid body and query parameters.
struct Route {
    method: String,
    path: String,
    body: Option<Value>,
    queries: Vec<String>,
    roles: Vec<String>,
}

fn routes() -> Vec<Route> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../api/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let body = operation.pointer("/requestBody/content/application~1json/example").cloned();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let queries = parameters.iter().filter(|p| p["in"] == "query").filter_map(|p| p["name"].as_str());
            let roles = operation["x-access"]["roles"].as_array().into_iter().flatten().filter_map(Value::as_str);
            routes.push(Route {
                method: method.to_uppercase(),
                path: path.clone(),
                body,
                queries: queries.map(str::to_owned).collect(),
                roles: roles.map(str::to_owned).collect(),
            });
        }
    }
    // Routes that end the caller's session or remove roles are tested elsewhere.
    routes.retain(|route| {
        !["/v1/auth/logout", "/v1/auth/sessions", "/v1/users/{id}/disable"].contains(&route.path.as_str())
    });
    routes
}

/// Ids of existing objects, by the path segment before the id.
async fn ids(fixture: &SubscriptionFixture) -> Map<String, Value> {
    let subscription = fixture.committed("1500.00").await;
    let endpoint = fixture
        .investor
        .post("/v1/webhooks/endpoints", json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] }))
        .await;
    let wallet = fixture
        .investor
        .post("/v1/investor/wallets", json!({ "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }))
        .await;
    let investor = fixture.investor.get("/v1/auth/me").await.text("/investor_id");
    assert_eq!((endpoint.status, wallet.status), (201, 201), "{endpoint:?} {wallet:?}");
    let ids = json!({ "offerings": fixture.offering, "subscriptions": subscription, "investors": investor, "users": fixture.investor.id,
        "endpoints": endpoint.text("/id"), "wallets": wallet.text("/id") });
    ids.as_object().unwrap().clone()
}

/// Sends a request and returns what is wrong with the response.
async fn ask(
    client: &Remote,
    route: &Route,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<String>,
) -> Option<String> {
    let send = || client.send(&route.method, path, headers, body.clone());
    let answer: Answer = match send().await {
        Some(answer) => answer,
        // Refused by its length; the server closed the connection during the upload.
        None if body.as_ref().is_some_and(|body| body.len() > 256 * 1024) => return None,
        // The server closes an idle connection; a new one is answered.
        None => send().await.expect("no response"),
    };
    let problem = answer.headers.get("content-type").is_some_and(|kind| kind == "application/problem+json");
    let explained = problem && !answer.text("/code").is_empty();
    let valid = match answer.status {
        200..400 => true,
        // Some chains do not exist; every other 5xx status is an error.
        500.. => matches!(answer.text("/code").as_str(), "chain_unavailable" | "chain_timeout"),
        // The pointer names a field; an empty pointer means the body.
        422 if answer.text("/code") == "validation_failed" => {
            explained && answer.body["errors"][0]["pointer"].is_string()
        }
        _ => explained,
    };
    let mut shown = body.unwrap_or_default();
    shown.truncate(shown.char_indices().nth(400).map_or(shown.len(), |(at, _)| at));
    (!valid).then(|| format!("{} {path} {headers:?} {shown}\n    {} {}", route.method, answer.status, answer.body))
}

async fn strange(
    fixture: &SubscriptionFixture,
    person: &Person,
    role: &str,
    ids: &Map<String, Value>,
    chance: &mut Seed,
) -> String {
    let mut wrong = String::new();
    for route in routes() {
        if !route.roles.is_empty() && !route.roles.iter().any(|admitted| admitted == role) {
            continue;
        }
        for number in 0..TRIES {
            let mut path = String::new();
            let mut before = "";
            for word in route.path.split('/').skip(1) {
                let known = ids.get(before).and_then(Value::as_str).filter(|_| number > 1 || chance.below(2) == 0);
                let shown = match (word.starts_with('{'), known) {
                    (false, _) => word,
                    (true, Some(id)) => id,
                    (true, None) => *chance.pick(PATHS),
                };
                _ = write!(path, "/{shown}");
                before = word;
            }
            if !route.queries.is_empty() && chance.below(2) == 0 {
                let name = chance.pick(&route.queries);
                let value: String = text(chance).bytes().take(900).fold(String::new(), |mut text, byte| {
                    _ = write!(text, "%{byte:02x}");
                    text
                });
                _ = write!(path, "?{name}={value}");
            }
            let body = match (&route.body, chance.below(8)) {
                (Some(_), 0) => Some((*chance.pick(NO_OBJECTS)).to_owned()),
                (Some(valid), _) => Some(corrupt(chance, valid).to_string()),
                (None, _) => None,
            };
            let key = format!("{role}-{}-{number}", chance.draw());
            let odd = [
                ("if-match", "\"v1\", \"v2\""),
                ("if-none-match", "*"),
                ("cookie", "session=a; =; ;;"),
                ("x-forwarded-for", "::ffff:999"),
            ];
            let mut headers = vec![("idempotency-key", key.as_str())];
            if chance.below(4) == 0 {
                headers.push(*chance.pick(&odd));
            }
            if let Some(line) = ask(&person.client(), &route, &path, &headers, body).await {
                _ = writeln!(wrong, "{line}");
            }
        }
    }
    assert_eq!(fixture.server.get("/readyz").await.status, 200);
    wrong
}

on_both_databases! {
    async fn strange_input_never_causes_a_server_error(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let ids = ids(&fixture).await;
        let admin = fixture.api.person(&fixture.server, "adam", Role::Admin).await;
        let mut wrong = String::new();
        let people = [(&fixture.investor, "investor"), (&fixture.issuer, "issuer"), (&fixture.operator, "operator"), (&admin, "admin")];
        for (seed, (person, role)) in (1..).zip(people) {
            wrong += &strange(&fixture, person, role, &ids, &mut Seed::new(seed)).await;
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert!(fixture.reserved().await.ends_with(".00"), "the database is consistent");
    }
}

/// Sends raw bytes and returns the first line of the response; empty if the connection was closed without one.
async fn raw(fixture: &SubscriptionFixture, request: &[u8]) -> String {
    let address = fixture.server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answer = Vec::new();
    // A server that refuses may close before it has read everything.
    _ = stream.write_all(request).await;
    _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_and_tokens_are_refused() {
    let fixture = SubscriptionFixture::new(world::Database::fresh(world::Engine::Sqlite).await, |_| {}).await;
    let line = |path: &str, header: &[u8]| {
        let mut request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n").into_bytes();
        request.extend(header);
        request.extend(b"\r\n\r\n");
        request
    };
    let token = fixture.investor.access_token.as_bytes();
    let with = |before: &[u8], after: &[u8]| [b"authorization: Bearer ".as_slice(), before, token, after].concat();
    for (header, status) in [
        (with(b"", b""), "200"),
        (with(b"\xff", b""), "401"),
        (with(b"", b"\xe9"), "401"),
        (with(b"", b"A"), "401"),
        (with(b"", &b"A".repeat(8_000)), "401"),
        (with(b"", &b"A".repeat(80_000)), "431"),
        (with(b"", &with(b"", b"")), "401"),
        (b"authorization: \xff\xfe".to_vec(), "401"),
        (b"authorization:".to_vec(), "401"),
        (b"cookie: access_token=\xff; session=1".to_vec(), "401"),
        ([with(b"", b""), b"\r\nx-request-id: \xff\xff\r\nuser-agent: \xf0".to_vec()].concat(), "200"),
        (b"a b: c".to_vec(), "400"),
    ] {
        let answer = raw(&fixture, &line("/v1/auth/me", &header)).await;
        assert!(
            answer.split(' ').nth(1) == Some(status),
            "{answer} {}",
            String::from_utf8_lossy(&header[..header.len().min(80)])
        );
    }
    for path in [
        "/v1/offerings/%ff",
        "/v1/offerings/%00",
        "/v1/%6fffers",
        "//v1/auth/me",
        "/v1/auth/me/",
        "/v1/auth/../auth/me",
        "*",
    ] {
        let answer = raw(&fixture, &line(path, &with(b"", b""))).await;
        assert!(["404", "400"].contains(&answer.split(' ').nth(1).unwrap_or_default()), "{path}: {answer}");
    }
    assert_eq!(fixture.investor.get("/v1/auth/me").await.status, 200);
}
