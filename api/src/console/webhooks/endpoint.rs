//! One endpoint with its deliveries.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::{EndpointId, EventId};
use serde::Deserialize;

use super::acts::ENDPOINT;
use super::{Endpoint, PATH};
use crate::console::act::{self, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::list::{Asked, Listed};
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Row, Table, age, cell, short, state};
use crate::console::wording;
use crate::http::error::Result;

/// A delivery, as the API lists it.
#[derive(Deserialize)]
pub struct Delivery {
    /// Its id.
    pub id: String,
    /// The endpoint.
    pub endpoint_id: EndpointId,
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// Its status.
    pub status: String,
    /// How often it was sent.
    pub attempts: i64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it is sent next.
    pub next_attempt_at: Option<DateTime<Utc>>,
}

const STATUSES: &[(&str, &str)] =
    &[("", "All"), ("failed", "Failed"), ("retrying,pending", "Waiting"), ("delivered", "Delivered")];

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let endpoint: Endpoint = desk.read(&format!("/v1/webhooks/endpoints/{id}")).await?;
    let asked = Asked::at(format!("{PATH}/{}", endpoint.id), query.as_deref());
    let status = asked.one_of("status", STATUSES);
    let path = asked.api(&format!("/v1/webhooks/endpoints/{id}/deliveries"), &[("status", status)]);
    let listed: Listed<Delivery> = desk.read(&path).await?;
    let thing = thing(&endpoint);
    let failure = &endpoint.failure;
    let since = failure.first_failed_at.map_or_else(String::new, |at| format!("since {}", wording::moment(at)));
    let backlog = &endpoint.backlog;
    let pause = backlog.paused_until.map(|at| format!("paused by the endpoint until {}", wording::moment(at)));
    let oldest = backlog.oldest_at.map(|at| format!("the oldest since {}", wording::moment(at)));
    let waiting = pause.or(oldest).unwrap_or_default();
    let limit = endpoint.rate_limit_per_minute.map_or_else(|| "none".to_owned(), wording::number);
    let rows = vec![
        fact("Events", cell(endpoint.events())),
        fact("Offerings", cell(endpoint.offering_ids.as_ref().map_or_else(|| "all".to_owned(), |ids| ids.join(", ")))),
        fact("Failures in a row", cell(wording::number(failure.consecutive_failures)).two(since)),
        fact("Waiting", cell(wording::number(backlog.deliveries)).two(waiting)),
        fact("Requests a minute", cell(limit)),
        fact("Version of the API", cell(&endpoint.api_version)),
        fact("Id", short(&endpoint.id)),
    ];
    let record = Record {
        above: ("Webhooks", PATH.to_owned()),
        name: endpoint.url.clone(),
        rest: endpoint.description.clone(),
        state: Some(state(&endpoint.status)),
        sub: endpoint.disabled_reason.as_deref().map(wording::word).unwrap_or_default(),
        facts: vec![Facts { title: "Endpoint", right: String::new(), rows }],
        offers: act::offers(&desk, ENDPOINT, &thing),
        sections: vec![deliveries(&desk, &asked, &listed)],
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}

fn deliveries(desk: &Desk, asked: &Asked, listed: &Listed<Delivery>) -> Section {
    let now = desk.now();
    let row = |one: &Delivery| {
        let next = one.next_attempt_at.map_or_else(String::new, |at| format!("next {}", wording::moment(at)));
        Row {
            id: one.id.clone(),
            cells: vec![
                cell(&one.event_type).two(wording::short_id(&one.id)).to(format!("{PATH}/deliveries/{}", one.id)),
                state(&one.status).two(next),
                cell(wording::number(one.attempts)),
                age(now, one.created_at),
            ],
        }
    };
    let rows: Vec<Row> = listed.data.iter().map(row).collect();
    Section {
        id: "deliveries",
        title: "Deliveries",
        tabs: asked.tabs_of("status", STATUSES, "deliveries"),
        small: wording::count(listed.pagination.total.unwrap_or_default(), "delivery", "deliveries"),
        pages: asked.around(rows.len()),
        table: Table {
            columns: &[("Event", ""), ("Status", ""), ("Attempts", "num"), ("Age", "num")],
            rows,
            empty: ("Nothing was sent.", "Deliveries stand here with each attempt."),
        },
    }
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let endpoint: Endpoint = desk.read(&format!("/v1/webhooks/endpoints/{id}")).await?;
    act::sheet(&desk, &thing(&endpoint), act::find(ENDPOINT, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    let endpoint: Endpoint = desk.read(&format!("/v1/webhooks/endpoints/{id}")).await?;
    let response = act::carry_out(&desk, &form, &thing(&endpoint), act::find(ENDPOINT, &word)?).await?;
    // A removed endpoint has no page to return to.
    let removed = word == "remove" && response.status().is_redirection();
    Ok(if removed { desk.done(PATH, "The endpoint is removed.") } else { response })
}

fn thing(endpoint: &Endpoint) -> Thing {
    Thing {
        nav: PATH,
        above: "Webhooks",
        id: endpoint.id.clone(),
        at: format!("{PATH}/{}", endpoint.id),
        name: endpoint.url.clone(),
        status: endpoint.status.clone(),
        version: Some(endpoint.version),
        ..Thing::default()
    }
}
