//! The moves of an operator, each behind a page that says what it will do and asks why.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::Full;
use crate::code::Code;
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::html;
use crate::console::operations::PATH;
use crate::http::error::{Problem, Result};

#[derive(Template)]
#[template(path = "operation_act.html")]
struct Page {
    frame: Frame,
    op: Full,
    name: &'static str,
    /// The act, as the address names it.
    act: String,
    consequence: String,
    allowed: bool,
    /// The words of the button.
    does: String,
    key: String,
}

/// The page before the act.
pub async fn page(desk: Desk, Path((id, act)): Path<(String, String)>) -> Result<Response> {
    let op: Full = desk.read(&format!("/blockchain/operations/{id}")).await?;
    let found = op.actions.iter().find(|action| action.action == act).ok_or_else(unknown)?;
    let (name, consequence, allowed) = (found.name(), found.consequence.clone(), found.allowed);
    let does = match (act.as_str(), op.nonce) {
        ("cancel", Some(nonce)) if op.states.status != "pending" => format!("Cancel nonce {nonce}"),
        ("cancel", _) => "Cancel this operation".to_owned(),
        ("retry", _) => "Retry this operation".to_owned(),
        ("speed_up", _) => "Speed it up".to_owned(),
        ("close_nonce", Some(nonce)) => format!("Ask to close nonce {nonce}"),
        _ => "Abandon this operation".to_owned(),
    };
    let frame = Frame::of(&desk, PATH, name).await?;
    Ok(html::page(StatusCode::OK, &Page { frame, op, name, act, consequence, allowed, does, key: desk.key() }))
}

/// The act.
pub async fn act(desk: Desk, Path((id, act)): Path<(String, String)>, form: Form) -> Result<Response> {
    let (path, reason) = (format!("/blockchain/operations/{id}"), form.text("reason"));
    let (verb, body) = match act.as_str() {
        "retry" => ("retry", json!({ "reason": reason })),
        "speed_up" => ("speed-up", json!({ "reason": reason })),
        "abandon" => ("reconcile", json!({ "resolution": "abandon", "reason": reason })),
        "close_nonce" => ("reconcile", json!({ "resolution": "close_nonce", "reason": reason })),
        "cancel" => {
            let mode = if form.text("mode") == "noop" { "noop" } else { "unsent" };
            ("cancel", json!({ "mode": mode, "reason": reason }))
        }
        _ => return Err(unknown()),
    };
    let reply = desk.post(&format!("{path}/{verb}"), &form, &body).await?;
    let said = match (act.as_str(), reply.status, reply.body.get("approval")) {
        (_, _, Some(_)) => "Asked for. A second person has to decide.",
        ("retry", StatusCode::OK, _) => "The chain had executed it already. It is confirmed, and nothing was sent.",
        ("retry", ..) => "The retry is accepted. The engine takes it from here.",
        ("speed_up", ..) => "Accepted. A worker signs the same nonce with a higher fee.",
        ("cancel", ..) if body["mode"] == "noop" => {
            "Accepted. A worker sends a transfer of nothing with the same nonce."
        }
        ("cancel", ..) => "It was cancelled before anything was signed.",
        _ => "It was abandoned.",
    };
    Ok(desk.done(&format!("{PATH}/{id}"), said))
}

fn unknown() -> Problem {
    Problem::new(Code::NotFound, "There is no such action on an operation.")
}
