//! The list of operations: ours and the chain side by side, newest first.

pub mod bulk_retry;
mod filter;

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use self::filter::Filter;
use crate::console::desk::{Desk, away};
use crate::console::frame::Frame;
use crate::console::names::Names;
use crate::console::nav::OPERATORS;
use crate::console::pair::{Pair, States};
use crate::console::{html, wording};
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/operations";
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "operations.html")]
struct Page {
    frame: Frame,
    filter: Filter,
    stats: Stats,
    rows: Vec<Row>,
    older: Option<String>,
    /// Whether this person acts on operations.
    acts: bool,
    /// The address that retries all that match.
    retry_all: Option<String>,
    now: DateTime<Utc>,
    names: Names,
}

#[derive(Deserialize)]
struct Stats {
    unfinished: BTreeMap<String, i64>,
    needs_attention: i64,
    as_of: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<Row>,
    pagination: Place,
}

#[derive(Deserialize)]
struct Place {
    next_after: Option<String>,
}

/// A row of the list.
#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(flatten)]
    states: States,
    about: About,
    offering_name: Option<String>,
    needs_attention: bool,
    error: Option<Trouble>,
    blocked_reason: Option<String>,
    blocked_detail: Option<String>,
    tx_hash: Option<String>,
    signer_address: Option<String>,
    nonce: Option<i64>,
    signed: i64,
    faults: i64,
    faults_max: i64,
    confirmations: Option<i64>,
    network: String,
    requested_by: String,
    created_at: DateTime<Utc>,
}

/// What an operation does.
#[derive(Deserialize)]
pub struct About {
    /// The verb with its object.
    pub verb: String,
    quantity: Option<String>,
    symbol: Option<String>,
    /// The rest of the sentence.
    pub rest: String,
}

#[derive(Deserialize)]
struct Trouble {
    code: String,
    message: Option<String>,
}

/// The page.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let filter = Filter::read(query.as_deref().unwrap_or_default(), desk.now());
    // The typed filter becomes part of the address, so that it can be saved or sent to a colleague.
    if let Some(path) = filter.typed_path() {
        return Ok(away(&path));
    }
    let listed: Listed = desk.read(&format!("/blockchain/operations?limit={ROWS}{}", filter.api_query())).await?;
    let stats = desk.read("/blockchain/operations/stats").await?;
    let older = listed.pagination.next_after.map(|after| filter.with("after", &after));
    let (rows, now, acts) = (listed.data, desk.now(), desk.is_one_of(OPERATORS));
    let retry_all = bulk_retry::all_path(&filter).filter(|_| acts && !rows.is_empty());
    let names = Names::of(&desk, rows.iter().map(|row| row.requested_by.as_str())).await?;
    let frame = Frame::of(&desk, PATH, "Operations").await?;
    Ok(html::page(StatusCode::OK, &Page { frame, filter, stats, rows, older, acts, retry_all, now, names }))
}

impl Page {
    /// The tabs: name, address, whether it is this one, how many there are.
    fn tabs(&self) -> Vec<(&'static str, String, bool, Option<i64>)> {
        let here = self.filter.status();
        let named = |word: &'static str, name| {
            let path = if word.is_empty() { self.filter.without("status") } else { self.filter.with("status", word) };
            let count = match word {
                "attention" => Some(self.stats.needs_attention),
                _ => self.stats.unfinished.get(word).copied(),
            };
            (name, path, here == word, count)
        };
        vec![
            named("", "All"),
            named("attention", "Needs a person"),
            named("pending", "Pending"),
            named("submitted", "Submitted"),
            named("confirmed", "Confirmed"),
            named("failed", "Failed"),
            named("dead_letter", "Dead letter"),
        ]
    }
}

impl About {
    /// The quantity with its symbol, whole.
    pub fn amount(&self) -> Option<String> {
        let quantity = wording::long_digits(self.quantity.as_ref()?);
        Some(format!("{quantity} {}", self.symbol.as_deref().unwrap_or_default()).trim().to_owned())
    }

    /// The whole sentence.
    pub fn sentence(&self) -> String {
        [Some(self.verb.clone()), self.amount(), Some(self.rest.clone())]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The end of the sentence, with addresses by their ends.
    pub fn short_rest(&self) -> String {
        self.rest.split(' ').map(wording::short_hex_word).collect::<Vec<_>>().join(" ")
    }
}

impl Row {
    fn pair(&self) -> Pair {
        Pair::of(&self.states)
    }

    fn aside(&self) -> String {
        let symbol = self.offering_name.clone().unwrap_or_else(|| self.network.clone());
        format!("{} · {symbol}", wording::short_id(&self.id))
    }

    /// The second line of the pair: the error, or what it waits for.
    fn why(&self) -> Option<(String, String)> {
        if let Some(error) = self.error.as_ref().filter(|_| self.states.status != "confirmed") {
            return Some((error.code.clone(), error.message.clone().unwrap_or_default()));
        }
        Some((self.blocked_reason.clone()?, self.blocked_detail.clone().unwrap_or_default()))
    }

    fn attempts(&self) -> String {
        match self.signed {
            0 if self.faults > 0 => format!("{} of {}", self.faults, self.faults_max),
            0 => "none".to_owned(),
            signed => format!("{signed} signed"),
        }
    }

    fn depth(&self) -> Option<String> {
        let confirmations = self.confirmations.filter(|_| self.states.status != "confirmed")?;
        Some(wording::count(confirmations, "confirmation", "confirmations"))
    }
}
