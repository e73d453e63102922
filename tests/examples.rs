//! Every example of a request in the OpenAPI document has a form that the server accepts: "Try it" in `/docs` begins with it. The same with an
//! empty text, where the document gives a least length, is refused at its field.

use std::collections::BTreeSet;

use muniment_domain::user::Role;
use serde_json::Value;
use world::{Database, Engine};

use crate::demo::Demo;
use crate::installation::{Answer, ApiFixture, Person, Remote, Server};

/// Examples that only a certain state accepts: the operation, and why the server must refuse it elsewhere.
const NEED_A_STATE: &[(&str, &str)] = &[
    ("auth.login", "nobody has this password"),
    ("auth.mfa.verify", "the token is that of a login with a second factor"),
    ("auth.password.change", "the present password is another one"),
    ("auth.password.reset", "the token is that of a mail"),
    ("auth.verifyEmail", "the token is that of a mail"),
    ("auth.refresh", "the token is that of a session"),
    ("auth.stepUp", "the password is another one"),
];

/// Codes of fields that say that something named by the request is not there.
const NOT_THERE: [&str; 3] = ["not_found", "unknown_chain", "wallet_unknown"];

struct Example {
    name: String,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    roles: Vec<Role>,
    body: Value,
    /// The fields that must hold a text.
    texts: Vec<String>,
}

/// The examples of all requests, with their path parameters filled in.
fn examples() -> Vec<Example> {
    let text = std::fs::read_to_string(world::repository().join("api/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let content = &operation["requestBody"]["content"]["application/json"];
            let body = &content["example"];
            if body.is_null() {
                continue;
            }
            let schema = content["schema"]["$ref"].as_str().unwrap_or_default().trim_start_matches('#');
            let fields = document.pointer(schema).and_then(|schema| schema["properties"].as_object());
            let texts = fields.into_iter().flatten().filter(|(_, field)| field["minLength"].as_u64() > Some(0));
            let texts = texts.map(|(name, _)| name.clone()).filter(|name| body[name].is_string()).collect();
            let (mut path, mut headers) = (path.clone(), Vec::new());
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let (name, example) = (parameter["name"].as_str().unwrap_or_default(), parameter["example"].as_str());
                match (parameter["in"].as_str(), example) {
                    (Some("path"), Some(example)) => path = path.replace(&format!("{{{name}}}"), example),
                    (Some("header"), example) if name == "If-Match" => {
                        headers.push((name.to_owned(), example.unwrap_or("\"v1\"").to_owned()));
                    }
                    _ => {}
                }
            }
            let roles = operation["x-access"]["roles"].as_array().into_iter().flatten();
            found.push(Example {
                name: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path,
                headers,
                roles: roles.map(|role| role.as_str().unwrap().parse().unwrap()).collect(),
                body: body.clone(),
                texts,
            });
        }
    }
    // A clock that moves ends the tokens of everybody, so it is moved last.
    found.sort_by_key(|example| example.name == "testClock.advance");
    found
}

async fn caller(api: &ApiFixture, server: &Server, example: &Example, number: usize, role: Option<Role>) -> Remote {
    match role {
        None => server.anonymous(),
        Some(role) => {
            let name = format!("{role}-{number}");
            let person: Person = api.person(server, &name, role).await;
            if role == Role::Issuer {
                let id = format!("iss_01jc0000000000000000{number:06}");
                let now = format!("select created_at from users where id = '{}'", person.id);
                api.write(&format!(
                    "insert into issuers (id, name, status, version, created_at, updated_at) select '{id}', '{}', 'active', 1, ({now}), ({now})",
                    example.name
                ))
                .await;
                api.write(&format!("update users set issuer_id = '{id}' where id = '{}'", person.id)).await;
            }
            person.client()
        }
    }
}

async fn send(client: &Remote, example: &Example, key: &str, body: &Value) -> Answer {
    let key = ("idempotency-key".to_owned(), key.to_owned());
    let headers = example.headers.iter().chain([&key]).map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<_> = headers.collect();
    client.send(&example.method, &example.path, &headers, Some(body.to_string())).await.unwrap()
}

/// The texts of an example that the server takes empty, although the document says that they have a least length.
async fn accepted_empty(client: &Remote, example: &Example, number: usize) -> Vec<String> {
    let mut accepted = Vec::new();
    for (of, field) in example.texts.iter().enumerate() {
        let mut body = example.body.clone();
        body[field] = "".into();
        let answer = send(client, example, &format!("empty-{number}-{of}"), &body).await;
        let errors = answer.body["errors"].as_array().cloned().unwrap_or_default();
        // What the request names is looked for first.
        let is_elsewhere = matches!(answer.status, 404 | 409);
        if !is_elsewhere
            && (answer.status != 422 || !errors.iter().any(|error| error["pointer"] == format!("/{field}")))
        {
            accepted.push(format!("{} with an empty {field}: {} {}", example.name, answer.status, answer.body));
        }
    }
    accepted
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_of_every_example_is_accepted() {
    let mut api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    for (key, value) in [("key", "\"dev\""), ("chain_id", "31337"), ("endpoints", "[\"http://127.0.0.1:9\"]")] {
        api.set("[chains]", key, value);
    }
    let server = api.start().await;
    let (mut refused, mut sent) = (Vec::new(), 0);
    for (number, example) in examples().iter().enumerate() {
        if NEED_A_STATE.iter().any(|(name, _)| *name == example.name) {
            continue;
        }
        // As each kind of caller that may send it, until one of them may send it just so.
        let roles =
            if example.roles.is_empty() { vec![None] } else { example.roles.iter().copied().map(Some).collect() };
        let mut answers = Vec::new();
        for (of, role) in roles.into_iter().enumerate() {
            let client = caller(&api, &server, example, number * 10 + of, role).await;
            let answer = send(&client, example, &format!("example-{number}-{of}"), &example.body).await;
            sent += 1;
            let is_not_there = NOT_THERE.contains(&answer.text("/errors/0/code").as_str());
            let is_form = matches!(answer.status, 400 | 415 | 422) && !is_not_there;
            let is_broken = answer.status >= 500 && answer.status != 503;
            if !is_form && !is_broken {
                answers = accepted_empty(&client, example, number).await;
                break;
            }
            answers.push(format!("{} as {role:?}: {} {}", example.name, answer.status, answer.body));
        }
        refused.extend(answers);
    }
    assert!(sent > 80, "{sent}");
    assert!(refused.is_empty(), "{} differ from the document:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn every_exception_is_an_operation() {
    let known: Vec<_> = examples().into_iter().map(|example| example.name).collect();
    let unknown: Vec<_> = NEED_A_STATE.iter().filter(|(name, _)| !known.iter().any(|one| one == name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Fields that name objects of several kinds.
const OF_SEVERAL_KINDS: [&str; 5] = ["/actor", "/next_after", "/object_id", "/subject/id", "/subject_id"];

/// The kind that a typed id begins with.
fn kind(id: &str) -> Option<&str> {
    let (kind, rest) = id.rsplit_once('_')?;
    let is_typed = rest.len() == 26 && rest.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase());
    is_typed.then_some(kind)
}

/// Compares the kinds of ids of an answer with those of its example. Returns how many ids both have.
fn compare(example: &Value, answer: &Value, at: &str, wrong: &mut BTreeSet<String>) -> usize {
    match (example, answer) {
        (Value::Object(fields), Value::Object(answered)) => {
            let both = fields.iter().filter_map(|(name, field)| Some((name, field, answered.get(name)?)));
            both.map(|(name, field, value)| compare(field, value, &format!("{at}/{name}"), wrong)).sum()
        }
        (Value::Array(items), Value::Array(answered)) => {
            answered.iter().zip(items.iter().cycle()).map(|(value, item)| compare(item, value, at, wrong)).sum()
        }
        (Value::String(shown), Value::String(real)) => {
            let (Some(shown), Some(real)) = (kind(shown), kind(real)) else { return 0 };
            if shown != real && !OF_SEVERAL_KINDS.iter().any(|end| at.ends_with(end)) {
                wrong.insert(format!("{at} shows {shown}_ and is {real}_"));
            }
            1
        }
        _ => 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_has_the_ids_that_the_demo_answers_with() {
    let demo = Demo::start();
    let document = demo.get("/openapi.json").await;
    let paths = document["paths"].as_object().unwrap();
    let example = |path: &str| {
        paths.get(path).map(|path| path["get"]["responses"]["200"]["content"]["application/json"]["example"].clone())
    };
    let (mut wrong, mut compared) = (BTreeSet::new(), 0);
    for path in paths.keys().filter(|path| !path.contains('{') && !path.starts_with("/v1/reports")) {
        let Some(shown) = example(path).filter(|shown| !shown.is_null()) else { continue };
        let answer = demo.get(path).await;
        compared += compare(&shown, &answer, path, &mut wrong);
        let one = format!("{path}/{{id}}");
        if let (Some(shown), Some(id)) = (example(&one), answer["data"][0]["id"].as_str()) {
            compared += compare(&shown, &demo.get(&format!("{path}/{id}")).await, &one, &mut wrong);
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
