//! Every example of a request in the OpenAPI document has a form that the server accepts: "Try it" in `/docs` begins with it.

use muniment_domain::user::Role;
use serde_json::Value;
use world::{Database, Engine};

use crate::installation::{ApiFixture, Person, Remote, Server};

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
}

/// The examples of all requests, with their path parameters filled in.
fn examples() -> Vec<Example> {
    let text = std::fs::read_to_string(world::repository().join("api/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            if body.is_null() {
                continue;
            }
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
            let key = ("idempotency-key".to_owned(), format!("example-{number}-{of}"));
            let headers: Vec<_> = example.headers.iter().chain([&key]).collect();
            let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let body = Some(example.body.to_string());
            let answer = client.send(&example.method, &example.path, &headers, body).await.unwrap();
            sent += 1;
            let is_not_there = NOT_THERE.contains(&answer.text("/errors/0/code").as_str());
            let is_form = matches!(answer.status, 400 | 415 | 422) && !is_not_there;
            let is_broken = answer.status >= 500 && answer.status != 503;
            if !is_form && !is_broken {
                answers.clear();
                break;
            }
            answers.push(format!("{} as {role:?}: {} {}", example.name, answer.status, answer.body));
        }
        refused.extend(answers);
    }
    assert!(sent > 80, "{sent}");
    assert!(refused.is_empty(), "{} are refused:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn every_exception_is_an_operation() {
    let known: Vec<_> = examples().into_iter().map(|example| example.name).collect();
    let unknown: Vec<_> = NEED_A_STATE.iter().filter(|(name, _)| !known.iter().any(|one| one == name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
