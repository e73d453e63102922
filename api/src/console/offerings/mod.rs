//! Offerings: the list, and what is done with one of them.

mod acts;
mod compliance;
mod mint;
mod one;

pub use mint::{mint, page as mint_preview};
pub use one::{act, page as one, sheet};

use axum::extract::RawQuery;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::list::{self, Asked, List, Listed, Search};
use crate::console::table::{Row, Table, age, amount, cell, state};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/offerings";
const TABS: &[(&str, &str)] = &[
    ("", "All"),
    ("in_review", "In review"),
    ("open", "Open"),
    ("paused", "Paused"),
    ("closed", "Closed"),
    ("settled", "Settled"),
    ("draft", "Drafts"),
    ("cancelled,failed,archived", "Ended"),
];
const COLUMNS: &[(&str, &str)] = &[
    ("Offering", ""),
    ("Status", ""),
    ("Raised", "num"),
    ("Hard cap", "num hide-s"),
    ("Closes", "hide-s"),
    ("Age", "num hide-s"),
];

/// An offering, as the API lists it.
#[derive(Deserialize)]
struct Item {
    id: String,
    name: String,
    issuer_name: String,
    token_symbol: String,
    status: String,
    currency: String,
    raised_amount: String,
    hard_cap: String,
    closes_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let status = asked.one_of("status", TABS);
    let searches = desk.person.is_staff();
    let words: String = asked.text("q").chars().take(if searches { 100 } else { 0 }).collect();
    let listed: Listed<Item> = desk.read(&asked.api("/v1/offerings", &[("status", status), ("q", &words)])).await?;
    let now = desk.now();
    let rows: Vec<Row> = listed.data.iter().map(|item| row(item, now)).collect();
    let list = List {
        title: "Offerings",
        tabs: asked.tabs("status", TABS),
        search: searches.then(|| Search {
            path: PATH,
            name: "q",
            hint: "name, symbol or issuer",
            value: words,
            hidden: vec![("status", status.to_owned())],
        }),
        pages: asked.around(rows.len()),
        count: listed.pagination.total.map(|total| wording::count(total, "offering", "offerings")).unwrap_or_default(),
        table: Table {
            columns: COLUMNS,
            rows,
            empty: ("No offering is here.", "Choose another tab, or search for less."),
        },
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

fn row(item: &Item, now: DateTime<Utc>) -> Row {
    let money = |text: &str| amount(text).two(item.currency.clone());
    let closes = item.closes_at.map_or_else(|| cell("no date"), |at| cell(at.format("%Y-%m-%d").to_string()));
    Row {
        id: item.id.clone(),
        cells: vec![
            cell(&item.name)
                .two(format!("{} · {}", item.token_symbol, item.issuer_name))
                .to(format!("{PATH}/{}", item.id)),
            state(&item.status),
            money(&item.raised_amount),
            money(&item.hard_cap),
            closes,
            age(now, item.created_at),
        ],
    }
}
