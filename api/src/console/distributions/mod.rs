//! Distributions: the list, and one with its pages and holders.

mod acts;
mod one;
mod totals;

pub use one::{act, page as one, report, sheet};

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use self::acts::CREATE;
use self::totals::Totals;
use crate::console::act::{self, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::list::{self, Asked, List, Listed};
use crate::console::table::{Row, Table, age, amount, cell, state};
use crate::console::wording;
use crate::http::error::Result;
use muniment_domain::id::{DistributionId, OfferingId};

/// The address of this page.
pub const PATH: &str = "/console/distributions";
const TABS: &[(&str, &str)] = &[
    ("", "All"),
    ("draft,snapshotting,snapshotted,calculated", "In preparation"),
    ("awaiting_approval,approved", "To decide or to pay"),
    ("executing", "Executing"),
    ("partially_completed", "Partly paid"),
    ("completed", "Completed"),
    ("cancelled", "Cancelled"),
];
const COLUMNS: &[(&str, &str)] = &[
    ("Distribution", ""),
    ("Status", ""),
    ("Gross", "num"),
    ("Paid", "num hide-s"),
    ("Holders", "num hide-s"),
    ("Record date", "hide-s"),
    ("Age", "num hide-s"),
];

/// The facts of a distribution that both pages show.
#[derive(Deserialize)]
struct Facts {
    id: String,
    offering_id: OfferingId,
    offering_name: String,
    #[serde(rename = "type")]
    kind: String,
    status: String,
    currency: String,
    record_date: DateTime<Utc>,
    payment_date: DateTime<Utc>,
    created_at: DateTime<Utc>,
    total_amount: Option<String>,
    holder_count: Option<i64>,
    totals: Totals,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let status = asked.one_of("status", TABS);
    let (offering, after) = (OfferingId::from(asked.text("offering_id")), DistributionId::from(asked.text("after")));
    let offering = if offering.is_sound() { offering.as_str() } else { "" };
    let after = if after.is_sound() { after.as_str() } else { "" };
    let parameters = [("status", status), ("offering_id", offering), ("after", after)];
    let listed: Listed<Facts> = desk.read(&asked.api("/v1/distributions", &parameters).replace("&page=1", "")).await?;
    let now = desk.now();
    let list = List {
        title: "Distributions",
        tabs: asked.tabs("status", TABS),
        table: Table {
            columns: COLUMNS,
            rows: listed.data.iter().map(|facts| row(facts, now)).collect(),
            empty: ("No distribution is here.", "A distribution pays the holders of a token at a record date."),
        },
        offers: act::offers(&desk, &[CREATE], &everything()),
        pages: (None, listed.pagination.next_after.as_ref().map(|after| asked.with("after", after))),
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

/// The page on which a distribution is made.
pub async fn new(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    act::sheet(&desk, &everything(), act::find(&[CREATE], &word)?, query.as_deref()).await
}

/// Makes one.
pub async fn create(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &everything(), act::find(&[CREATE], &word)?).await
}

fn everything() -> Thing {
    Thing { nav: PATH, above: "Distributions", at: PATH.to_owned(), name: "New".to_owned(), ..Thing::default() }
}

fn row(facts: &Facts, now: DateTime<Utc>) -> Row {
    let gross = facts.total_amount.as_deref().unwrap_or(&facts.totals.gross);
    Row {
        id: facts.id.clone(),
        cells: vec![
            cell(format!("{} of {}", wording::word(&facts.kind), facts.offering_name))
                .two(wording::short_id(&facts.id))
                .to(format!("{PATH}/{}", facts.id)),
            state(&facts.status),
            amount(gross).two(facts.currency.clone()),
            amount(&facts.totals.paid),
            cell(facts.holder_count.map_or_else(|| "not read".to_owned(), wording::number)),
            cell(facts.record_date.format("%Y-%m-%d").to_string()),
            age(now, facts.created_at),
        ],
    }
}
