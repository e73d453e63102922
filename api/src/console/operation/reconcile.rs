//! Confirm by proof: a transaction is shown, six questions are answered, and a person confirms with a reason.

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::Full;
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::html;
use crate::console::operations::PATH;
use crate::http::error::Result;

/// The questions, in the order of the groups of the API's checks.
const QUESTIONS: [&str; 6] = [
    "It is on the right chain, final and successful",
    "It called the contract that the operation meant",
    "A signer of this platform sent it, and its nonce is closed",
    "Its logs show the complete effect",
    "No other operation has this hash as its proof",
    "Nothing contradicts it today",
];

#[derive(Template)]
#[template(path = "reconcile.html")]
struct Page {
    frame: Frame,
    op: Full,
    proposed: Option<String>,
    given: String,
    proof: Option<Proof>,
    refused: Option<String>,
    key: String,
}

/// The hash to look at.
#[derive(Deserialize)]
pub struct Shown {
    #[serde(default)]
    tx_hash: String,
}

#[derive(Deserialize)]
struct Proof {
    tx_hash: String,
    proves: bool,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    group: usize,
    passed: bool,
    detail: String,
}

/// A question with its answer.
struct Answer {
    number: usize,
    question: &'static str,
    /// passed, failed, or waiting where an earlier one failed.
    state: &'static str,
    found: String,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>, Query(shown): Query<Shown>) -> Result<Response> {
    let op: Full = desk.read(&format!("/blockchain/operations/{id}")).await?;
    let mined = op.candidates.iter().find(|candidate| candidate.state == "mined");
    let suggested = op.suggested_action.as_ref().and_then(|suggested| suggested.tx_hash.clone());
    let proposed = suggested.or_else(|| mined.map(|candidate| candidate.tx_hash.clone()));
    let given = shown.tx_hash.trim().to_owned();
    let (proof, refused) = match given.as_str() {
        "" => (None, None),
        hash => {
            let hash: String = form_urlencoded::byte_serialize(hash.as_bytes()).collect();
            match desk.read(&format!("/blockchain/operations/{id}/proof?tx_hash={hash}")).await {
                Ok(proof) => (Some(proof), None),
                Err(problem) => (None, Some(problem.detail().unwrap_or(problem.code.title()).to_owned())),
            }
        }
    };
    let frame = Frame::of(&desk, PATH, "Reconcile").await?;
    Ok(html::page(StatusCode::OK, &Page { frame, op, proposed, given, proof, refused, key: desk.key() }))
}

/// The confirmation. The checks run once more before anything is written.
pub async fn confirm(desk: Desk, Path(id): Path<String>, form: Form) -> Result<Response> {
    let body =
        json!({ "resolution": "mark_confirmed", "tx_hash": form.text("tx_hash"), "reason": form.text("reason") });
    desk.post(&format!("/blockchain/operations/{id}/reconcile"), &form, &body).await?;
    Ok(desk.done(&format!("{PATH}/{id}"), "Confirmed by proof. Our books and the chain agree."))
}

impl Proof {
    fn answers(&self) -> Vec<Answer> {
        let answer = |(index, question): (usize, &&'static str)| {
            let of: Vec<_> = self.checks.iter().filter(|check| check.group == index + 1).collect();
            let state = match of.iter().all(|check| check.passed) {
                _ if of.is_empty() => "waiting",
                true => "passed",
                false => "failed",
            };
            let told = of.iter().filter(|check| state == "passed" || !check.passed).map(|check| check.detail.as_str());
            Answer { number: index + 1, question, state, found: told.collect::<Vec<_>>().join("; ") }
        };
        QUESTIONS.iter().enumerate().map(answer).collect()
    }
}

impl Answer {
    fn look(&self) -> (&'static str, &'static str, &'static str) {
        match self.state {
            "passed" => ("", "done", "done"),
            "failed" => ("bad", "failed", "failed"),
            _ => ("wait", "none", "none"),
        }
    }
}
