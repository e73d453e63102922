//! One delivery with every attempt.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::PATH;
use super::acts::DELIVERY;
use super::endpoint::Delivery;
use crate::console::act::{self, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Row, Table, cell, short, state};
use crate::console::wording;
use crate::http::error::Result;

#[derive(Deserialize)]
struct Full {
    #[serde(flatten)]
    delivery: Delivery,
    tried: Vec<Attempt>,
}

#[derive(Deserialize)]
struct Attempt {
    number: i64,
    sent_at: DateTime<Utc>,
    status_code: Option<i64>,
    fault: Option<String>,
    latency_milliseconds: i64,
    response: String,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/webhooks/deliveries/{id}")).await?;
    let one = &full.delivery;
    let next = one.next_attempt_at.map_or_else(|| "none is planned".to_owned(), wording::moment);
    let rows = vec![
        fact("Endpoint", short(&one.endpoint_id).to(format!("{PATH}/{}", one.endpoint_id))),
        fact("Event", short(&one.event_id)),
        fact("Made", cell(wording::moment(one.created_at))),
        fact("Next attempt", cell(next)),
    ];
    let record = Record {
        above: ("Endpoint", format!("{PATH}/{}", one.endpoint_id)),
        name: one.event_type.clone(),
        rest: format!("sent {}", wording::count(one.attempts, "time", "times")),
        state: Some(state(&one.status)),
        facts: vec![Facts { title: "Delivery", right: wording::short_id(&one.id), rows }],
        offers: act::offers(&desk, DELIVERY, &thing(&full)),
        sections: vec![attempts(&full)],
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}

fn attempts(full: &Full) -> Section {
    let row = |one: &Attempt| {
        let code = one.status_code.map_or_else(|| "no answer".to_owned(), |code| code.to_string());
        let taken = one.status_code.is_some_and(|code| (200..300).contains(&code));
        let (tone, icon) = if taken { ("done", "done") } else { ("failed", "failed") };
        Row {
            id: format!("attempt-{}", one.number),
            cells: vec![
                cell(one.number.to_string()),
                cell(wording::moment(one.sent_at)),
                cell(code).toned(tone, icon).two(one.fault.clone().unwrap_or_default()),
                cell(format!("{} ms", one.latency_milliseconds)),
                cell(&one.response),
            ],
        }
    };
    Section {
        id: "attempts",
        title: "Attempts",
        small: "with what the endpoint answered".to_owned(),
        table: Table {
            columns: &[("No.", "num"), ("When", ""), ("Answer", ""), ("Took", "num hide-s"), ("Text", "hide-s")],
            rows: full.tried.iter().map(row).collect(),
            empty: ("It was not sent yet.", "Each attempt stands here with its answer."),
        },
        pages: (None, None),
        ..Section::default()
    }
}

/// The page before an act.
pub async fn sheet(
    desk: Desk,
    Path((id, word)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/webhooks/deliveries/{id}")).await?;
    act::sheet(&desk, &thing(&full), act::find(DELIVERY, &word)?, query.as_deref()).await
}

/// The act.
pub async fn act(desk: Desk, Path((id, word)): Path<(String, String)>, form: Form) -> Result<Response> {
    let full: Full = desk.read(&format!("/v1/webhooks/deliveries/{id}")).await?;
    act::carry_out(&desk, &form, &thing(&full), act::find(DELIVERY, &word)?).await
}

fn thing(full: &Full) -> Thing {
    Thing {
        nav: PATH,
        above: "Webhooks",
        id: full.delivery.id.clone(),
        at: format!("{PATH}/deliveries/{}", full.delivery.id),
        name: full.delivery.event_type.clone(),
        status: full.delivery.status.clone(),
        ..Thing::default()
    }
}
