//! Every route for every kind of caller: accepted, or refused with the status in the table; and an audit entry for every change. A route
//! that is missing in the table fails.

mod objects;
mod organisation;
mod ownership;
mod reading;
mod spelling;
mod table;

use std::collections::BTreeSet;

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, Person, Remote, Server, ledger_rows};
use crate::source::{must_be_clean, rust};
use table::{Line, lines, missing};

/// The caller: a letter of the table for a person, or the name of an API key.
struct Caller {
    name: &'static str,
    letter: Option<char>,
    scopes: Option<BTreeSet<String>>,
    /// Whether this person has stepped up.
    fresh: bool,
    client: Remote,
}

/// The outcome of a call before its handler.
fn verdict(answer: &Answer) -> &'static str {
    let (status, code) = answer.problem();
    match (status, code.as_str()) {
        (401, "token_missing" | "token_invalid" | "token_expired" | "session_revoked") => "unknown",
        (403, "role_forbidden") => "role",
        (403, "scope_insufficient") => "scope",
        (403, "step_up_required") => "step-up",
        (403, "csrf_token_missing" | "csrf_token_invalid") => "csrf",
        (405, _) => "method",
        (500.., code) if code != "chain_unavailable" => "broken",
        _ => "in",
    }
}

fn expected(line: &Line, caller: &Caller) -> &'static str {
    match (&caller.letter, &caller.scopes) {
        _ if line.is_free() => "in",
        (None, _) => "unknown",
        (Some(letter), _) if !line.admits(*letter) => "role",
        (Some(_), None) if line.needs_step_up() && !caller.fresh => "step-up",
        (Some(_), None) => "in",
        (Some(_), Some(_)) if line.scope == "-" => "role",
        (Some(_), Some(scopes)) if scopes.contains(line.scope) => "in",
        _ => "scope",
    }
}

async fn key(owner: &Person, second: &Person, server: &Server, scopes: &[&str]) -> Remote {
    let made = owner.key(second, json!({ "name": "matrix", "scopes": scopes })).await;
    assert_eq!(made.status, 201, "{made:?}");
    server.client().with_key(&made.text("/key"))
}

const PEOPLE: [(char, &str, Role); 5] = [
    ('I', "investor", Role::Investor),
    ('S', "issuer", Role::Issuer),
    ('O', "operator", Role::Operator),
    ('A', "admin", Role::Admin),
    ('U', "auditor", Role::Auditor),
];

async fn callers(api: &ApiFixture, server: &Server) -> Vec<Caller> {
    let nobody = server.anonymous();
    let second = api.person(server, "second", Role::Admin).await;
    let mut callers = vec![Caller { name: "nobody", letter: None, scopes: None, fresh: false, client: nobody }];
    for (letter, name, role) in PEOPLE {
        let person = api.person(server, name, role).await;
        if matches!(role, Role::Issuer | Role::Admin) {
            callers.extend(keys(&person, &second, server, letter).await);
        }
        let letter = Some(letter);
        callers.push(Caller { name, letter, scopes: None, fresh: true, client: person.client() });
        // Another person, because a session can end the others of its user.
        let other = api.person(server, &format!("tired-{name}"), role).await;
        let client = Person::log_in(server, &other.email).await.client();
        callers.push(Caller {
            name: "somebody who has not shown again who he is",
            letter,
            scopes: None,
            fresh: false,
            client,
        });
    }
    callers
}

/// A key with every scope that its owner may give, and a key with each single scope.
async fn keys(owner: &Person, second: &Person, server: &Server, letter: char) -> Vec<Caller> {
    let all = scopes_that_are_given_by(letter);
    let words: Vec<_> = all.iter().map(String::as_str).collect();
    let mut keys = Vec::new();
    for given in std::iter::once(words.as_slice()).chain(words.chunks(1)) {
        let name = if given.len() == 1 { "a key with one scope" } else { "a key with every scope" };
        let scopes = Some(given.iter().map(|scope| (*scope).to_owned()).collect());
        let client = key(owner, second, server, given).await;
        keys.push(Caller { name, letter: Some(letter), scopes, fresh: true, client });
    }
    keys
}

fn scopes_that_are_given_by(letter: char) -> BTreeSet<String> {
    lines().iter().filter(|line| line.scope != "-" && line.admits(letter)).map(|line| line.scope.to_owned()).collect()
}

/// Only for an address that is not proved does this route send a mail. Nearly every other change needs a proved one.
const RESEND: &str = "/v1/auth/verify-email/resend";

/// Routes that change the calling session come last.
fn ordered() -> Vec<Line> {
    let mut lines = lines();
    lines.sort_by_key(|line| ["/v1/auth/step-up", "/v1/auth/logout"].iter().position(|path| *path == line.path));
    lines
}

async fn call(client: &Remote, line: &Line, path: &str, request_id: &str) -> Answer {
    let headers = [("x-request-id", request_id), ("idempotency-key", request_id)];
    let body = (!line.is_read()).then(|| line.body.to_owned());
    client.send(line.method, path, &headers, body).await.unwrap()
}

on_both_databases! {
    async fn every_route_admits_the_callers_of_the_table_and_audits_changes(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (mut wrong, mut acts) = (Vec::new(), Vec::new());
        for caller in callers(&api, &server).await {
            for (number, line) in ordered().iter().enumerate() {
                let request_id = format!("{}-{number}-{}", acts.len(), wrong.len());
                if line.path == RESEND {
                    api.write("update users set email_verified_at = null").await;
                }
                let answer = call(&caller.client, line, &line.at(missing), &request_id).await;
                if line.path == RESEND {
                    api.write("update users set email_verified_at = created_at").await;
                }
                let (found, wanted) = (verdict(&answer), expected(line, &caller));
                if found != wanted {
                    wrong.push(format!("{} {} for {}: {found} ({:?}), not {wanted}", line.method, line.path, caller.name, answer.problem()));
                }
                if answer.status < 300 && !line.is_read() && line.who != "door" {
                    acts.push((request_id, format!("{} {}", line.method, line.path)));
                }
            }
        }
        must_be_clean("wrong verdicts", &wrong);
        let told = ledger_rows(&api.database, "select request_id, action from audit_log where request_id is not null").await;
        let told: BTreeSet<_> = told.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
        let untold = acts.iter().filter(|act| !told.contains(*act)).map(|(_, action)| action.clone());
        must_be_clean("acts without a line in the audit log", &untold.collect::<Vec<_>>());
        let done: BTreeSet<_> = acts.iter().map(|(_, action)| action).collect();
        assert!(done.len() >= 8, "too few changes succeed here for a proof: {done:?}");
    }
}

/// Method and path of every endpoint in the committed OpenAPI document. A test of the API crate compares the document with the
/// rows of the router.
fn served() -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../api/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut served = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            served.insert((method.to_uppercase(), path.clone()));
        }
    }
    served
}

#[test]
fn the_table_and_the_routes_agree() {
    let written: BTreeSet<_> = lines().iter().map(|line| (line.method.to_owned(), line.path.to_owned())).collect();
    let served = served();
    assert!(served.len() > 80, "the document has too few endpoints");
    let unwritten: Vec<_> = served.difference(&written).map(|(method, path)| format!("{method} {path}")).collect();
    must_be_clean("routes that tests/permissions/table.rs does not know", &unwritten);
    let gone: Vec<_> = written.difference(&served).map(|(method, path)| format!("{method} {path}")).collect();
    must_be_clean("lines of routes that there are not", &gone);
}

/// An audit entry is written where its transaction commits, from the task's context: nothing may bypass that.
#[test]
fn no_request_commits_past_the_audit_log() {
    let mut findings = Vec::new();
    for source in
        rust().iter().filter(|source| source.path.starts_with("api/src/") || source.path.starts_with("domain/src/"))
    {
        for (at, line) in source.code() {
            let starts = ["api/src/server/serve.rs", "api/src/cli/", "api/src/mail/", "api/src/pulse.rs"]
                .iter()
                .any(|path| source.path.starts_with(path));
            let leaves_its_task = line.contains("spawn(") && source.path.starts_with("api/") && !starts;
            let commits_by_itself = line.contains(".commit().await") && source.path != "domain/src/db.rs";
            let is_no_act =
                ["api/src/account/throttle.rs", "api/src/secrets/sample.rs"].contains(&source.path.as_str());
            let sets_aside = line.contains("tx.exclude_from_audit()") && !is_no_act;
            if leaves_its_task || commits_by_itself || sets_aside {
                findings.push(format!("{}:{at}: {}", source.path, line.trim()));
            }
        }
    }
    must_be_clean("ways round the audit log", &findings);
}
