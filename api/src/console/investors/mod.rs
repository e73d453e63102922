//! Investors: the queue of identity checks first, then everybody.

mod acts;
mod one;

pub use one::{act, page as one, review, sheet};

use axum::extract::RawQuery;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::investor::Status;
use serde::Deserialize;

use crate::console::act::OPERATORS;
use crate::console::desk::Desk;
use crate::console::list::{self, Asked, List, Listed, Search};
use crate::console::table::{Row, Table, age, cell, state};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/investors";
/// What waits for a reviewer, or for the investor to complete it.
const QUEUE: &str = "pending,in_review,needs_information";
const TABS: &[(&str, &str)] = &[
    ("", "Waiting for review"),
    ("all", "All"),
    ("approved", "Approved"),
    ("rejected", "Rejected"),
    ("expired", "Expired"),
    ("suspended", "Suspended"),
    ("not_started", "Not started"),
];
const COLUMNS: &[(&str, &str)] =
    &[("Investor", ""), ("Identity", ""), ("Sanctions", "hide-s"), ("Accreditation", "hide-s"), ("Waits", "num")];

/// An investor, as the API lists them.
#[derive(Deserialize)]
struct Facts {
    id: String,
    legal_name: String,
    country: String,
    #[serde(rename = "type")]
    kind: String,
    kyc: Identity,
    sanctions: Sanctions,
    accreditation: Accreditation,
    created_at: DateTime<Utc>,
    erased_at: Option<DateTime<Utc>>,
    version: i64,
}

#[derive(Deserialize)]
struct Identity {
    status: Status,
    level: Option<String>,
    reason_code: Option<String>,
    submitted_at: Option<DateTime<Utc>>,
    decided_at: Option<DateTime<Utc>>,
    expires_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Sanctions {
    status: String,
    last_screened_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Accreditation {
    status: String,
    basis: Option<String>,
    expires_at: Option<DateTime<Utc>>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let status = match asked.one_of("status", TABS) {
        "" => QUEUE,
        "all" => "",
        other => other,
    };
    // Auditors see masked names, and the API searches none of them.
    let searches = desk.is_one_of(OPERATORS);
    let words: String = asked.text("q").chars().take(if searches { 100 } else { 0 }).collect();
    let listed: Listed<Facts> = desk.read(&asked.api("/v1/investors", &[("status", status), ("q", &words)])).await?;
    let now = desk.now();
    let rows: Vec<Row> = listed.data.iter().map(|facts| row(facts, now)).collect();
    let total = listed.pagination.total.unwrap_or_default();
    let list = List {
        title: "Investors",
        sub: "An investor who waits for a review cannot invest yet. Papers are shown only to a reviewer, and each look is in the audit log."
            .to_owned(),
        tabs: asked.tabs("status", TABS),
        search: searches.then(|| Search {
            path: PATH,
            name: "q",
            hint: "Name",
            value: words,
            hidden: vec![("status", asked.text("status").to_owned())],
        }),
        pages: asked.around(rows.len()),
        count: wording::count(total, "investor", "investors"),
        table: Table {
            columns: COLUMNS,
            rows,
            empty: ("Nobody is here.", "Nobody waits for a review, or no investor fits the search."),
        },
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

fn row(facts: &Facts, now: DateTime<Utc>) -> Row {
    let since = facts.kyc.submitted_at.unwrap_or(facts.created_at);
    let name = if facts.erased_at.is_some() { "Erased" } else { &facts.legal_name };
    let named = cell(name).two(format!(
        "{} · {} · {}",
        wording::word(&facts.kind),
        facts.country,
        wording::short_id(&facts.id)
    ));
    let identity = state(facts.kyc.status.as_str());
    Row {
        id: facts.id.clone(),
        cells: vec![
            named.to(format!("{PATH}/{}", facts.id)),
            match &facts.kyc.reason_code {
                Some(code) => identity.two(wording::word(code)),
                None => identity,
            },
            state(&facts.sanctions.status),
            state(&facts.accreditation.status),
            age(now, since),
        ],
    }
}
