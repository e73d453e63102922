//! Distributions: the list, and one with its pages and holders.

mod acts;
mod one;
mod pages;
mod totals;

pub use one::{act, page as one, report, sheet};

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Duration, Utc};
use futures::future::join_all;
use serde::Deserialize;

use self::acts::CREATE;
use self::totals::Totals;
use crate::console::act::{self, Thing};
use crate::console::desk::Desk;
use crate::console::form::Form;
use crate::console::list::{self, Asked, List, Listed};
use crate::console::table::{Cell, Row, Table, age, amount, cell, state};
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

/// What the day of a record date depends on.
#[derive(Deserialize)]
struct Offering {
    utc_offset_minutes: i64,
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
    let (offsets, now) = (offsets(&desk, &listed.data).await, desk.now());
    let list = List {
        title: "Distributions",
        tabs: asked.tabs("status", TABS),
        table: Table {
            columns: COLUMNS,
            rows: listed.data.iter().map(|facts| row(facts, offsets.get(&facts.offering_id).copied(), now)).collect(),
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

/// The time zones of the offerings of these distributions. A list with a whole moment instead of a day is better than none.
async fn offsets(desk: &Desk, listed: &[Facts]) -> BTreeMap<OfferingId, i64> {
    let offerings: BTreeSet<_> = listed.iter().map(|facts| facts.offering_id.clone()).collect();
    let read = async |id: OfferingId| {
        let offering = desk.read::<Offering>(&format!("/v1/offerings/{id}")).await.ok()?;
        Some((id, offering.utc_offset_minutes))
    };
    join_all(offerings.into_iter().map(read)).await.into_iter().flatten().collect()
}

/// A record date: the day of the offering, which ends at another moment in UTC.
fn record_date(at: DateTime<Utc>, offset_minutes: Option<i64>) -> Cell {
    let whole = wording::moment(at);
    let day = offset_minutes.map(|minutes| (at + Duration::minutes(minutes)).format("%Y-%m-%d").to_string());
    Cell { title: whole.clone(), ..cell(day.unwrap_or(whole)) }
}

fn row(facts: &Facts, offset_minutes: Option<i64>, now: DateTime<Utc>) -> Row {
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
            record_date(facts.record_date, offset_minutes),
            age(now, facts.created_at),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_date_is_the_day_of_its_offering() {
        let at = "2027-01-01T03:29:59Z".parse().unwrap_or_default();
        let shown = |minutes| {
            let cell = record_date(at, minutes);
            (cell.text, cell.title)
        };
        let whole = "2027-01-01 03:29:59 UTC".to_owned();
        assert_eq!(shown(Some(-210)), ("2026-12-31".to_owned(), whole.clone()));
        assert_eq!(shown(Some(0)), ("2027-01-01".to_owned(), whole.clone()));
        assert_eq!(shown(None), (whole.clone(), whole));
    }
}
