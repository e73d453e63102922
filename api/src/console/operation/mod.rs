//! One operation: what happened, what can be done, and all the evidence on one page.

pub mod act;
mod lanes;
pub mod reconcile;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use self::lanes::Lanes;
use crate::code::explanation::Explanation;
use crate::code::reason::REASONS;
use crate::console::desk::Desk;
use crate::console::frame::Frame;
use crate::console::names::Names;
use crate::console::nav::OPERATORS;
use crate::console::operations::{About, PATH};
use crate::console::pair::{Pair, States};
use crate::console::{html, wording};
use crate::http::error::Result;
use muniment_domain::id::{ApprovalId, BatchId};

#[derive(Template)]
#[template(path = "operation.html")]
struct Page {
    frame: Frame,
    op: Full,
    lanes: Lanes,
    raw: String,
    now: DateTime<Utc>,
    /// Whether this person acts on operations.
    acts: bool,
    names: Names,
}

/// The record of an operation.
#[derive(Deserialize)]
pub struct Full {
    id: String,
    #[serde(flatten)]
    states: States,
    about: About,
    offering_name: Option<String>,
    needs_attention: bool,
    error: Option<Trouble>,
    blocked_reason: Option<String>,
    blocked_detail: Option<String>,
    network: String,
    signer_address: Option<String>,
    contract_address: Option<String>,
    nonce: Option<i64>,
    signed: i64,
    confirmations: Option<i64>,
    batch_id: Option<BatchId>,
    approval_id: Option<ApprovalId>,
    request_id: Option<String>,
    idempotency_key: Option<String>,
    requested_by: String,
    created_at: DateTime<Utc>,
    suggested_action: Option<Suggested>,
    actions: Vec<Action>,
    steps: Vec<Step>,
    candidates: Vec<Candidate>,
    history: Vec<Transition>,
    version: i64,
}

#[derive(Deserialize)]
struct Trouble {
    code: String,
    message: Option<String>,
    revert_reason: Option<String>,
    revert_data: Option<String>,
}

#[derive(Deserialize)]
struct Suggested {
    why: String,
    tx_hash: Option<String>,
}

#[derive(Deserialize)]
struct Action {
    action: String,
    allowed: bool,
    consequence: String,
    touches: String,
}

#[derive(Deserialize)]
struct Step {
    index: i64,
    function: String,
    args_summary: Value,
    contract_address: String,
    status: String,
    outcome: Option<String>,
    nonce: Option<i64>,
    block_number: Option<i64>,
    gas_used: Option<Value>,
    final_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Candidate {
    tx_hash: String,
    kind: String,
    nonce: i64,
    max_fee_per_gas: String,
    max_priority_fee_per_gas: String,
    signed_at: DateTime<Utc>,
    sends: i64,
    last_answer: Option<String>,
    state: String,
}

#[derive(Deserialize)]
struct Transition {
    to: String,
    created_at: DateTime<Utc>,
    actor: String,
    reason: String,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    let raw: Value = desk.read(&format!("/blockchain/operations/{id}")).await?;
    let op: Full = serde_json::from_value(raw.clone()).map_err(crate::http::error::Problem::internal)?;
    let frame = Frame::of(&desk, PATH, &op.about.sentence()).await?;
    let actors = op.history.iter().map(|change| change.actor.as_str());
    let names = Names::of(&desk, actors.chain([op.requested_by.as_str()])).await?;
    let (now, acts) = (desk.now(), desk.is_one_of(OPERATORS));
    let lanes = Lanes::of(&op, now);
    Ok(html::page(StatusCode::OK, &Page { frame, op, lanes, raw: format!("{raw:#}"), now, acts, names }))
}

impl Page {
    /// Whether a change of the history has its day beside its time, which takes more room.
    fn has_days(&self) -> bool {
        self.op.history.iter().any(|change| change.created_at.date_naive() != self.now.date_naive())
    }
}

impl Full {
    fn pair(&self) -> Pair {
        Pair::of(&self.states)
    }

    /// What happened, what it means for the money, what to do.
    fn verdict(&self) -> Option<(String, String, String)> {
        let code = self.error.as_ref().filter(|_| self.needs_attention)?;
        let known = REASONS.iter().find(|reason| reason.code == code.code);
        let told = code.message.clone().unwrap_or_else(|| known.map_or(&*code.code, |reason| reason.title).to_owned());
        let money = match self.states.on_chain.as_str() {
            "nothing_signed" => "Nothing was signed, so no value moved and no gas was spent.".to_owned(),
            "reverted" => "The chain refused it: only gas was spent, no value moved.".to_owned(),
            "cancelled" => "Its nonce is burnt: no value moved.".to_owned(),
            "final" => "Its effect is final on the chain. Our books do not say so yet.".to_owned(),
            "partly_final" => "A part of its effect is final. The rest did not happen.".to_owned(),
            "taken" => "Another transaction used its nonce: this one had no effect.".to_owned(),
            _ => "A signed transaction may still be mined. Do not pay by another way.".to_owned(),
        };
        let action = match (&self.suggested_action, known.map(|reason| reason.explanation)) {
            (Some(suggested), _) => suggested.why.clone(),
            (None, Some(Explanation::Short { action, .. })) => action.to_owned(),
            _ => "Follow the runbook of this code.".to_owned(),
        };
        Some((told, money, action))
    }

    /// Since when a person is needed.
    fn since(&self) -> Option<DateTime<Utc>> {
        self.history.last().filter(|_| self.needs_attention).map(|last| last.created_at)
    }
}

impl Action {
    fn name(&self) -> &'static str {
        match self.action.as_str() {
            "mark_confirmed" => "Reconcile",
            "retry" => "Retry",
            "speed_up" => "Speed up",
            "cancel" => "Cancel",
            "close_nonce" => "Close nonce",
            _ => "Abandon",
        }
    }

    fn key(&self) -> char {
        match self.action.as_str() {
            "mark_confirmed" => 'c',
            "retry" => 'r',
            "speed_up" => 's',
            "cancel" => 'n',
            "close_nonce" => 'z',
            _ => 'a',
        }
    }

    fn path(&self, id: &str) -> String {
        match self.action.as_str() {
            "mark_confirmed" => format!("{PATH}/{id}/reconcile"),
            other => format!("{PATH}/{id}/act/{other}"),
        }
    }

    /// What it touches: class, symbol, words.
    fn tag(&self) -> (&'static str, &'static str, &'static str) {
        match self.touches.as_str() {
            "books" => ("", "book", "Books only"),
            "two_people" => ("two", "two", "Can take two people"),
            _ => ("chain", "net", "Can send a transaction"),
        }
    }
}

impl Candidate {
    fn fee(&self) -> String {
        gwei(&self.max_fee_per_gas)
    }

    fn tip(&self) -> String {
        gwei(&self.max_priority_fee_per_gas)
    }
}

/// Wei as gwei, whole: nothing is rounded.
fn gwei(wei: &str) -> String {
    let padded = format!("{wei:0>10}");
    let (whole, rest) = padded.split_at(padded.len() - 9);
    let rest = rest.trim_end_matches('0');
    let whole = wording::digits(whole);
    if rest.is_empty() { whole } else { format!("{whole}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gwei_is_never_rounded() {
        assert_eq!(
            ["1", "21300000000", "1000000001", "30000000000000"].map(gwei),
            ["0.000000001", "21.3", "1.000000001", "30,000"]
        );
    }
}
