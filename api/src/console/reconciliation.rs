//! Reconciliation runs: our books against the chain, with every finding and what to do about it.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::id::OfferingId;
use serde::Deserialize;

use crate::console::act::{self, Act, Thing};
use crate::console::desk::Desk;
use crate::console::field::{Kind, optional};
use crate::console::form::Form;
use crate::console::list::{self, Asked, List, Listed};
use crate::console::names::Names;
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Row, Table, age, cell, short, state};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/reconciliation";
const API: &str = "/blockchain/reconciliation-runs";
const TABS: &[(&str, &str)] = &[("", "All"), ("running", "Running"), ("completed", "Completed"), ("failed", "Failed")];

const START: Act = Act::post(
    "start",
    "Compare now",
    API,
    "Reads the chain at a final block and compares it with our books. Nothing is changed.",
)
.fields(&[
    optional("offering_id", "Only this offering", Kind::Line).hint("off_"),
    optional("at_block", "At this block", Kind::Number),
])
.opens()
.said("The comparison has begun.");

#[derive(Deserialize)]
struct Run {
    id: String,
    status: String,
    offering_id: Option<OfferingId>,
    at_block: Option<i64>,
    finding_count: i64,
    error: Option<String>,
    requested_by: String,
    created_at: DateTime<Utc>,
    completed_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(flatten)]
    run: Run,
    findings: Listed<Finding>,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Finding {
    kind: String,
    severity: String,
    subject: String,
    expected: Option<String>,
    actual: Option<String>,
    suggested_action: String,
    of: Option<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

#[derive(Deserialize)]
struct Part {
    subject: Subject,
    chain_id: i64,
    block_number: Option<i64>,
    compared: i64,
    done_at: Option<DateTime<Utc>>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let listed: Listed<Run> = desk.read(&asked.api(API, &[("status", asked.one_of("status", TABS))])).await?;
    let names = Names::of(&desk, listed.data.iter().map(|run| run.requested_by.as_str())).await?;
    let now = desk.now();
    let row = |run: &Run| Row {
        id: run.id.clone(),
        cells: vec![
            cell(run.offering_id.as_deref().map_or_else(|| "Everything".to_owned(), wording::short_id))
                .two(wording::short_id(&run.id))
                .to(format!("{PATH}/{}", run.id)),
            state(&run.status).two(run.error.clone().unwrap_or_default()),
            match run.finding_count {
                0 => cell("none"),
                count => cell(wording::number(count)).toned("person", "person"),
            },
            names.cell(&run.requested_by),
            age(now, run.created_at),
        ],
    };
    let rows: Vec<Row> = listed.data.iter().map(row).collect();
    let list = List {
        title: "Reconciliation",
        sub: "Our books against the chain, at a final block. A run changes nothing.".to_owned(),
        tabs: asked.tabs("status", TABS),
        pages: asked.around(rows.len()),
        count: listed.pagination.total.map(|total| wording::count(total, "run", "runs")).unwrap_or_default(),
        table: Table {
            columns: &[("Of", ""), ("Status", ""), ("Findings", ""), ("By", "hide-s"), ("Age", "num")],
            rows,
            empty: ("Nothing was compared yet.", "A run reads the chain and shows each difference."),
        },
        offers: act::offers(&desk, &[START], &everything()),
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

/// One run.
pub async fn one(desk: Desk, Path(id): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::at(format!("{PATH}/{id}"), query.as_deref());
    let report: Report = desk.read(&asked.api(&format!("{API}/{id}"), &[])).await?;
    let run = &report.run;
    let names = Names::of(&desk, [run.requested_by.as_str()]).await?;
    let when = |at: Option<DateTime<Utc>>| cell(at.map_or_else(|| "not yet".to_owned(), wording::moment));
    let rows = vec![
        fact("Offering", run.offering_id.as_deref().map_or_else(|| cell("all"), short)),
        fact("At block", cell(run.at_block.map_or_else(|| "the final block".to_owned(), wording::number))),
        fact("Begun", cell(wording::moment(run.created_at))),
        fact("Completed", when(run.completed_at)),
        fact("By", names.cell(&run.requested_by)),
    ];
    let record = Record {
        above: ("Reconciliation", PATH.to_owned()),
        name: wording::count(run.finding_count, "finding", "findings"),
        rest: run.offering_id.as_ref().map_or_else(|| "in everything".to_owned(), |_| "in one offering".to_owned()),
        state: Some(state(&run.status)),
        sub: run.error.clone().unwrap_or_default(),
        facts: vec![Facts { title: "Run", right: wording::short_id(&run.id), rows }],
        sections: vec![findings(&asked, &report.findings), parts(&report.parts)],
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}

fn findings(asked: &Asked, listed: &Listed<Finding>) -> Section {
    let row = |(index, one): (usize, &Finding)| {
        let text =
            |text: &Option<String>| cell(text.as_deref().map_or_else(|| "nothing".to_owned(), wording::long_digits));
        let kind = cell(wording::word(&one.kind)).two(one.subject.clone());
        let kind = match &one.of {
            Some(of) if of.kind == "operation" => kind.to(format!("/console/operations/{}", of.id)),
            Some(of) if of.kind == "offering" => kind.to(format!("/console/offerings/{}", of.id)),
            _ => kind,
        };
        let cells =
            vec![kind, state(&one.severity), text(&one.expected), text(&one.actual), cell(&one.suggested_action)];
        Row { id: format!("finding-{index}"), cells }
    };
    let rows: Vec<Row> = listed.data.iter().enumerate().map(row).collect();
    Section {
        id: "findings",
        title: "Findings",
        small: "what our books say, what the chain says, and what to do".to_owned(),
        pages: asked.around(rows.len()),
        table: Table {
            columns: &[
                ("Finding", ""),
                ("Severity", ""),
                ("Our books", "num"),
                ("The chain", "num"),
                ("What to do", ""),
            ],
            rows,
            empty: ("Nothing differs.", "Our books and the chain agree, as far as this run has read."),
        },
        ..Section::default()
    }
}

fn parts(parts: &[Part]) -> Section {
    let row = |part: &Part| Row {
        id: format!("part-{}-{}", part.subject.kind, part.subject.id),
        cells: vec![
            cell(wording::word(&part.subject.kind)).two(part.subject.id.clone()),
            cell(part.chain_id.to_string()),
            cell(part.block_number.map_or_else(|| "not read".to_owned(), wording::number)),
            cell(wording::number(part.compared)),
            cell(part.done_at.map_or_else(|| "running".to_owned(), wording::moment)),
        ],
    };
    Section {
        id: "parts",
        title: "Parts",
        small: "each at one block".to_owned(),
        table: Table {
            columns: &[("Of", ""), ("Chain", "hide-s"), ("Block", "num"), ("Compared", "num"), ("Done", "hide-s")],
            rows: parts.iter().map(row).collect(),
            empty: ("Nothing was read yet.", "Parts stand here as they are read."),
        },
        pages: (None, None),
        ..Section::default()
    }
}

/// The page on which a run is begun.
pub async fn new(desk: Desk, Path(word): Path<String>, RawQuery(query): RawQuery) -> Result<Response> {
    act::sheet(&desk, &everything(), act::find(&[START], &word)?, query.as_deref()).await
}

/// Begins one.
pub async fn start(desk: Desk, Path(word): Path<String>, form: Form) -> Result<Response> {
    act::carry_out(&desk, &form, &everything(), act::find(&[START], &word)?).await
}

fn everything() -> Thing {
    Thing { nav: PATH, above: "Reconciliation", at: PATH.to_owned(), name: "New run".to_owned(), ..Thing::default() }
}
