//! Webhooks: endpoints, their deliveries with each attempt, and sending again.

mod acts;
mod delivery;
mod endpoint;

pub use delivery::{act as deliver, page as delivery, sheet as delivery_sheet};
pub use endpoint::{act, page as endpoint, sheet};

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use self::acts::CREATE;
use crate::console::act::{self, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::list::{self, Asked, List, Listed};
use crate::console::table::{Row, Table, age, cell, state};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/webhooks";
const TABS: &[(&str, &str)] = &[("", "All"), ("enabled", "Enabled"), ("disabled", "Disabled")];
const COLUMNS: &[(&str, &str)] = &[
    ("Endpoint", ""),
    ("Status", ""),
    ("Events", "hide-s"),
    ("Failures in a row", "num hide-s"),
    ("Age", "num hide-s"),
];

/// An endpoint, as the API lists it.
#[derive(Deserialize)]
struct Endpoint {
    id: String,
    url: String,
    description: String,
    status: String,
    disabled_reason: Option<String>,
    event_types: Vec<String>,
    offering_ids: Option<Vec<String>>,
    rate_limit_per_minute: Option<i64>,
    api_version: String,
    failure: Failure,
    backlog: Backlog,
    created_at: DateTime<Utc>,
    version: i64,
}

impl Endpoint {
    fn events(&self) -> String {
        if self.event_types.iter().any(|one| one == "*") { "all".to_owned() } else { self.event_types.join(", ") }
    }
}

#[derive(Deserialize)]
struct Failure {
    consecutive_failures: i64,
    first_failed_at: Option<DateTime<Utc>>,
}

/// What waits to be sent.
#[derive(Deserialize)]
struct Backlog {
    deliveries: i64,
    oldest_at: Option<DateTime<Utc>>,
    paused_until: Option<DateTime<Utc>>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let status = asked.one_of("status", TABS);
    let listed: Listed<Endpoint> = desk.read(&asked.api("/v1/webhooks/endpoints", &[("status", status)])).await?;
    let now = desk.now();
    let rows: Vec<Row> = listed.data.iter().map(|endpoint| row(endpoint, now)).collect();
    let list = List {
        title: "Webhooks",
        sub: "Each event is sent once to each endpoint that wants it, and again until it is taken.".to_owned(),
        tabs: asked.tabs("status", TABS),
        pages: asked.around(rows.len()),
        table: Table {
            columns: COLUMNS,
            rows,
            empty: ("No endpoint is here.", "Staff see their own endpoints, and those of the platform's keys."),
        },
        offers: act::offers(&desk, &[CREATE], &everything()),
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

fn row(endpoint: &Endpoint, now: DateTime<Utc>) -> Row {
    let status =
        state(&endpoint.status).two(endpoint.disabled_reason.as_deref().map(wording::word).unwrap_or_default());
    Row {
        id: endpoint.id.clone(),
        cells: vec![
            cell(&endpoint.url).two(endpoint.description.clone()).to(format!("{PATH}/{}", endpoint.id)),
            status,
            cell(endpoint.events()),
            cell(wording::number(endpoint.failure.consecutive_failures)),
            age(now, endpoint.created_at),
        ],
    }
}

/// The page on which an endpoint is made.
pub async fn new(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    act::sheet(&desk, &everything(), act::find(&[CREATE], &word)?, query.as_deref()).await
}

/// Makes one.
pub async fn create(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &everything(), act::find(&[CREATE], &word)?).await
}

fn everything() -> Thing {
    Thing { nav: PATH, above: "Webhooks", at: PATH.to_owned(), name: "New".to_owned(), ..Thing::default() }
}
