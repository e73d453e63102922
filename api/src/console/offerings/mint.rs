//! The mint of an offering: who gets units, who is skipped and why; then the mint itself.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use muniment_domain::id::SubscriptionId;
use serde::Deserialize;
use serde_json::json;

use super::PATH;
use super::one::Full;
use crate::code::Code;
use crate::console::act::OPERATORS;
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::frame::Frame;
use crate::console::table::{Row, Table, amount, cell, short};
use crate::console::{html, problem, wording};
use crate::http::error::{Problem, Result};

/// As many subscriptions as one request names.
const NAMED_MAX: usize = 1_000;
/// The fields of the form: each subscription, or how many there are and their amount.
const SUBSCRIPTION: &str = "subscription";
const COUNT: &str = "count";
const AMOUNT: &str = "amount";
const CHANGED: &str =
    "What can be minted has changed since you read this page. This time nothing was minted. Below is the list of now.";

#[derive(Template)]
#[template(path = "mint.html")]
struct Page {
    frame: Frame,
    offering: Full,
    preview: Option<Preview>,
    /// What binds the mint to this preview: field and value.
    hidden: Vec<(&'static str, String)>,
    /// Why nothing can be minted, or nothing was.
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
    shown(&desk, &id, None).await
}

async fn shown(desk: &Desk, id: &str, changed: Option<&Problem>) -> Result<Response> {
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
    let (status, changed) = problem::refusal(changed);
    let frame = Frame::of(desk, PATH, "Mint").await?;
    let page = Page {
        hidden: preview.as_ref().map(Preview::bound).unwrap_or_default(),
        lines: lines(preview.as_ref()),
        skipped: skipped(preview.as_ref()),
        threshold: wording::digits(&policies.limits.mint_dual_control_threshold),
        acts: desk.is_one_of(OPERATORS),
        key: desk.key(),
        frame,
        offering,
        preview,
        refused: refused.or(changed),
    };
    Ok(html::page(status, &page))
}

/// The mint of the subscriptions that the page showed. One that cannot be minted any more is left out; no other one takes its place.
pub async fn mint(desk: Desk, Path(id): Path<String>, form: Form) -> Result<Response> {
    let named = form.all(SUBSCRIPTION);
    let body = if named.is_empty() {
        // Too many to name: the number and the amount must be those that the page showed.
        let now: Preview = desk.read(&format!("/v1/offerings/{id}/mint-preview")).await?;
        if !now.is_of(&form) {
            return shown(&desk, &id, Some(&Problem::new(Code::VersionConflict, CHANGED))).await;
        }
        json!({ "offering_id": id })
    } else {
        json!({ "offering_id": id, "subscription_ids": named })
    };
    let reply = desk.post("/blockchain/trigger-mint", &form, &body).await?;
    let count = |name: &str| reply.body[name].as_array().map_or(0, Vec::len);
    let pages = count("operations");
    let said = match pages {
        0 => "Asked for. A second person has to decide.".to_owned(),
        1 => "Accepted, as one operation.".to_owned(),
        many => format!("Accepted, as {many} operations."),
    };
    let said = match count("skipped") {
        left if left > 0 && !named.is_empty() => {
            format!("{said} Left out, because they have changed meanwhile: {left}.")
        }
        _ => said,
    };
    let batch = reply.body["batch_id"].as_str().filter(|_| pages > 0);
    let to =
        batch.map_or_else(|| format!("{PATH}/{id}"), |_| format!("/console/operations?offering_id={id}&type=mint"));
    Ok(desk.done(&to, &said))
}

impl Preview {
    /// What the form carries, so that it mints what the page shows.
    fn bound(&self) -> Vec<(&'static str, String)> {
        if self.lines.len() > NAMED_MAX {
            return vec![(COUNT, self.lines.len().to_string()), (AMOUNT, self.amount.clone())];
        }
        self.lines.iter().map(|line| (SUBSCRIPTION, line.subscription_id.to_string())).collect()
    }

    /// Whether the form was sent from a page that showed as many subscriptions with the same amount.
    fn is_of(&self, form: &Form) -> bool {
        form.text(COUNT) == self.lines.len().to_string() && form.text(AMOUNT) == self.amount
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(lines: usize, amount: &str) -> Preview {
        let line = |number: usize| Line {
            subscription_id: format!("sub_01jc{number:022}").into(),
            wallet_address: String::new(),
            base_units: String::new(),
            amount: String::new(),
        };
        Preview { lines: (0..lines).map(line).collect(), amount: amount.to_owned(), skipped: Vec::new() }
    }

    fn form(fields: Vec<(&str, String)>) -> Form {
        Form::of(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn a_mint_is_bound_to_each_subscription_or_to_their_number_and_amount() {
        let named = preview(NAMED_MAX, "10.00").bound();
        assert_eq!((named.len(), named[999].0), (NAMED_MAX, SUBSCRIPTION));
        let many = preview(NAMED_MAX + 1, "10.00");
        let sent = form(many.bound());
        assert!(many.is_of(&sent));
        assert!(!preview(NAMED_MAX + 2, "10.00").is_of(&sent), "one more");
        assert!(!preview(NAMED_MAX + 1, "10.01").is_of(&sent), "another amount");
        assert!(!many.is_of(&Form::default()), "a form without the preview mints nothing");
    }
}
