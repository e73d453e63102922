//! The promises to a caller who repeats a request.

use std::sync::atomic::{AtomicU32, Ordering};

use axum::body::to_bytes;
use chrono::{DateTime, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::db::{Db, Tx};
use muniment_domain::id::Ids;
use muniment_domain::idempotency::{Answer, Key};
use muniment_domain::{Error, migrate};
use muniment_workflows::requester::Requester;
use serde::Deserialize;

use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::once;
use crate::change::submission::{Form, Sent, Submission};
use crate::code::Code;
use crate::config::Config;
use crate::http::error::{Problem, Result};

/// An intent that counts how often it is accepted, or is refused.
#[derive(Deserialize, utoipa::ToSchema)]
struct Counted {
    #[serde(skip)]
    accepted: AtomicU32,
    refused: Option<String>,
}

impl Form for Counted {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Counted {
    async fn accept(&self, _: &App, _: &mut Tx, _: Requester) -> muniment_domain::Result<Answer> {
        let number = self.accepted.fetch_add(1, Ordering::SeqCst);
        match &self.refused {
            Some(code) => Err(Error::refused(code.parse().unwrap(), "no")),
            None => Ok(Answer {
                status: 202,
                location: Some("/there".to_owned()),
                body: format!("{{\"number\":{number}}}"),
            }),
        }
    }
}

fn submission(key: &str, fingerprint: &str, refused: Option<&str>) -> Submission<Counted> {
    let (method, path) = ("POST".to_owned(), "/blockchain/deploy-token".to_owned());
    let key = Key {
        principal: "usr_1".to_owned(),
        method,
        path,
        key: key.to_owned(),
        fingerprint: fingerprint.to_owned(),
        earlier: Vec::new(),
    };
    let body = Counted { accepted: AtomicU32::new(0), refused: refused.map(str::to_owned) };
    Submission { body, sent: Sent { key, request_id: "req_1".to_owned(), answers_secret: false } }
}

async fn app() -> App {
    let db = Db::open("sqlite::memory:", 1, Clock::System, Ids::Random).await.unwrap();
    migrate::run(&db).await.unwrap();
    let mut config = Config::default();
    config.auth.key_file = std::env::temp_dir().join(format!("muniment-idempotency.{}/auth.json", std::process::id()));
    config.auth.password_memory_kib = 64;
    App::new(db, &config).await.unwrap()
}

/// Status, whether it was a replay, and the body.
async fn ask(app: &App, submission: &Submission<Counted>) -> Result<(u16, bool, String), Problem> {
    let response = once(app, submission).await?;
    let replayed = response.headers().contains_key("idempotent-replayed");
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    Ok((status, replayed, String::from_utf8(body.to_vec()).unwrap()))
}

#[tokio::test]
async fn repeated_request_has_one_effect_and_one_answer() {
    let (app, request) = (app().await, submission("a", "f", None));
    assert_eq!(ask(&app, &request).await.unwrap(), (202, false, "{\"number\":0}".to_owned()));
    assert_eq!(ask(&app, &request).await.unwrap(), (202, true, "{\"number\":0}".to_owned()));
    assert_eq!(request.body.accepted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn different_request_with_the_same_key_is_refused() {
    let app = app().await;
    ask(&app, &submission("a", "f", None)).await.unwrap();
    let other = submission("a", "g", None);
    assert_eq!(ask(&app, &other).await.unwrap_err().code, Code::IdempotencyKeyReuse);
    assert_eq!(other.body.accepted.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn refusal_by_a_rule_is_repeated() {
    let (app, request) = (app().await, submission("a", "f", Some("invalid_state")));
    let (status, replayed, first) = ask(&app, &request).await.unwrap();
    assert_eq!((status, replayed), (409, false));
    assert!(first.contains("invalid_state"), "{first}");
    assert_eq!(ask(&app, &request).await.unwrap(), (409, true, first));
    assert_eq!(request.body.accepted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn retryable_refusal_is_not_stored() {
    let app = app().await;
    let early = submission("a", "f", Some("operation_in_progress"));
    assert_eq!(ask(&app, &early).await.unwrap_err().code, Code::OperationInProgress);
    assert_eq!(ask(&app, &submission("a", "f", None)).await.unwrap().0, 202);
}

#[tokio::test]
async fn key_in_use_is_refused() {
    let app = app().await;
    app.keys_in_use.lock().unwrap().insert("usr_1 POST /blockchain/deploy-token a".to_owned());
    assert_eq!(ask(&app, &submission("a", "f", None)).await.unwrap_err().code, Code::IdempotencyInProgress);
    assert_eq!(ask(&app, &submission("b", "f", None)).await.unwrap().0, 202);
    assert_eq!(app.keys_in_use.lock().unwrap().len(), 1);
}
