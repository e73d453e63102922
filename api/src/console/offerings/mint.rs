//! The mint of an offering: who gets units, who is skipped and why; then the mint itself.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use muniment_domain::id::SubscriptionId;
use serde::Deserialize;
use serde_json::json;

use super::PATH;
use super::one::Full;
use crate::console::act::OPERATORS;
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::table::{Row, Table, amount, cell, short};
use crate::console::{html, wording};
use crate::http::error::Result;

#[derive(Template)]
#[template(path = "mint.html")]
struct Page {
    frame: Frame,
    offering: Full,
    preview: Option<Preview>,
    /// Why nothing can be minted.
    refused: Option<String>,
    lines: Table,
    skipped: Table,
    /// The amount in a day from which a second person must approve.
    threshold: String,
    acts: bool,
    key: String,
}

#[derive(Deserialize)]
struct Preview {
    lines: Vec<Line>,
    amount: String,
    skipped: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Line {
    subscription_id: SubscriptionId,
    wallet_address: String,
    base_units: String,
    amount: String,
}

#[derive(Deserialize)]
struct Skipped {
    subscription_id: SubscriptionId,
    code: String,
}

#[derive(Deserialize)]
struct Policies {
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    mint_dual_control_threshold: String,
}

/// What a mint would do now. Nothing is changed.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    let offering: Full = desk.read(&format!("/v1/offerings/{id}")).await?;
    let policies: Policies = desk.read("/v1/policies").await?;
    let found: Result<Preview> = desk.read(&format!("/v1/offerings/{id}/mint-preview")).await;
    let (preview, refused) = match found {
        Ok(preview) => (Some(preview), None),
        Err(problem) if problem.code.status() == 409 => {
            (None, Some(problem.detail().unwrap_or(problem.code.title()).to_owned()))
        }
        Err(problem) => return Err(problem),
    };
    let frame = Frame::of(&desk, PATH, "Mint").await?;
    let page = Page {
        lines: lines(preview.as_ref()),
        skipped: skipped(preview.as_ref()),
        threshold: wording::digits(&policies.limits.mint_dual_control_threshold),
        acts: desk.is_one_of(OPERATORS),
        key: desk.key(),
        frame,
        offering,
        preview,
        refused,
    };
    Ok(html::page(StatusCode::OK, &page))
}

/// The mint of every subscription that can be minted now.
pub async fn mint(desk: Desk, Path(id): Path<String>, form: Form) -> Result<Response> {
    let reply = desk.post("/blockchain/trigger-mint", &form, &json!({ "offering_id": id })).await?;
    let pages = reply.body["operations"].as_array().map_or(0, Vec::len);
    let said = match pages {
        0 => "Asked for. A second person has to decide.".to_owned(),
        1 => "Accepted, as one operation.".to_owned(),
        many => format!("Accepted, as {many} operations."),
    };
    let batch = reply.body["batch_id"].as_str().filter(|_| pages > 0);
    let to =
        batch.map_or_else(|| format!("{PATH}/{id}"), |_| format!("/console/operations?offering_id={id}&type=mint"));
    Ok(desk.done(&to, &said))
}

fn lines(preview: Option<&Preview>) -> Table {
    let row = |line: &Line| Row {
        id: line.subscription_id.to_string(),
        cells: vec![
            short(&line.subscription_id),
            short(&line.wallet_address),
            amount(&line.base_units),
            amount(&line.amount),
        ],
    };
    Table {
        columns: &[("Subscription", ""), ("Wallet", ""), ("Base units", "num"), ("Amount", "num")],
        rows: preview.iter().flat_map(|preview| &preview.lines).map(row).collect(),
        empty: ("Nobody.", "No subscription can be minted now."),
    }
}

fn skipped(preview: Option<&Preview>) -> Table {
    let row = |one: &Skipped| Row {
        id: format!("skipped-{}", one.subscription_id),
        cells: vec![short(&one.subscription_id), cell(&one.code)],
    };
    Table {
        columns: &[("Subscription", ""), ("Why", "")],
        rows: preview.iter().flat_map(|preview| &preview.skipped).map(row).collect(),
        empty: ("Nobody is skipped.", "Every accepted subscription is part of the mint."),
    }
}
