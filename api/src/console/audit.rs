//! The audit log, newest first, and the proof that nobody changed it.

use axum::extract::RawQuery;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::console::desk::Desk;
use crate::console::list::{self, Asked, List, Listed, Search};
use crate::console::names::Names;
use crate::console::record::{self, Facts, Record, Section, fact};
use crate::console::table::{Row, Table, cell, short};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/audit";

#[derive(Deserialize)]
struct Line {
    id: String,
    created_at: DateTime<Utc>,
    action: String,
    actor: Option<String>,
    actor_kind: String,
    object_type: Option<String>,
    object_id: Option<String>,
    ip: Option<String>,
    detail: Option<Value>,
}

#[derive(Deserialize)]
struct Verdict {
    ok: bool,
    from: i64,
    to: i64,
    hash: String,
    head_position: Option<i64>,
    unsealed: i64,
    unaccounted: i64,
    anchors: Vec<Anchor>,
}

#[derive(Deserialize)]
struct Anchor {
    day: String,
    from_position: i64,
    to_position: i64,
    root: String,
    flaw: Option<Value>,
}

/// The list.
pub async fn page(desk: Desk, RawQuery(query): RawQuery) -> Result<Response> {
    let asked = Asked::read(PATH, query.as_deref());
    let typed: String = asked.text("typed").chars().take(100).collect();
    let kept = |name: &str| asked.text(name).to_owned();
    // What is typed is an actor, an object or an action, as it looks.
    let (mut actor, mut object, mut action) = (kept("actor"), kept("object"), kept("action"));
    match typed.as_str() {
        "" => {}
        id if id.starts_with("usr_") || id.starts_with("key_") => actor = id.to_owned(),
        id if id.contains('_') && !id.contains('.') => object = id.to_owned(),
        word => action = word.to_owned(),
    }
    let after = kept("after");
    let parameters = [("actor", actor.as_str()), ("object", &object), ("action", &action), ("after", &after)];
    let path = asked.api("/v1/audit-log", &parameters).replace("&page=1", "");
    let (listed, refused) = match desk.read::<Listed<Line>>(&path).await {
        Ok(listed) => (listed, None),
        Err(problem) if problem.code.status() == 400 => {
            let told = problem.detail().unwrap_or(problem.code.title());
            (desk.read("/v1/audit-log?limit=50").await?, Some(format!("The log cannot be searched by {typed}. {told}")))
        }
        Err(problem) => return Err(problem),
    };
    let names = Names::of(&desk, listed.data.iter().filter_map(|line| line.actor.as_deref())).await?;
    let list = List {
        title: "Audit log",
        sub: "Each line is sealed by the hash of the one before, and each day by a signature.".to_owned(),
        tabs: Vec::new(),
        search: Some(Search {
            path: PATH,
            name: "typed",
            hint: "action, such as offering.approved; or the id of a person or a thing",
            value: if typed.is_empty() { [actor, object, action].concat() } else { typed },
            hidden: Vec::new(),
        }),
        refused,
        table: Table {
            columns: &[("When", ""), ("Action", ""), ("Of", ""), ("By", ""), ("From", "hide-s")],
            rows: listed.data.iter().map(|line| row(line, &names)).collect(),
            empty: ("No line fits.", "Search for another action, person or thing."),
        },
        links: vec![("Verify the chain", format!("{PATH}/verify"))],
        pages: (None, listed.pagination.next_after.as_ref().map(|after| asked.with("after", after))),
        ..List::default()
    };
    list::page(&desk, PATH, list).await
}

fn row(line: &Line, names: &Names) -> Row {
    let detail = line.detail.as_ref().filter(|detail| !detail.is_null()).map(Value::to_string).unwrap_or_default();
    let detail: String = detail.chars().take(160).collect();
    let object = line.object_id.as_deref().map_or_else(|| cell("none"), short);
    let actor = line.actor.as_deref().map_or_else(|| cell("nobody"), |id| names.cell(id));
    Row {
        id: line.id.clone(),
        cells: vec![
            cell(wording::moment(line.created_at)),
            cell(&line.action).two(detail),
            object.two(line.object_type.as_deref().map(wording::word).unwrap_or_default()),
            actor.two(wording::word(&line.actor_kind)),
            cell(line.ip.clone().unwrap_or_default()),
        ],
    }
}

/// What the chain of hashes and the signed anchors prove now.
pub async fn verify(desk: Desk) -> Result<Response> {
    let verdict: Verdict = desk.read("/v1/audit-log/verify").await?;
    let rows = vec![
        fact("Lines read", cell(format!("{} to {}", wording::number(verdict.from), wording::number(verdict.to)))),
        fact("Head", cell(verdict.head_position.map_or_else(|| "none".to_owned(), wording::number))),
        fact("Hash at the end", cell(&verdict.hash)),
        fact("Not sealed yet", cell(wording::number(verdict.unsealed))),
        fact("Not accounted for", cell(wording::number(verdict.unaccounted))),
    ];
    let anchor = |one: &Anchor| Row {
        id: format!("anchor-{}", one.day),
        cells: vec![
            cell(&one.day),
            cell(format!("{} to {}", wording::number(one.from_position), wording::number(one.to_position))),
            short(&format!("0x{}", one.root)),
            match one.flaw.as_ref().filter(|flaw| !flaw.is_null()) {
                None => cell("Holds").toned("done", "done"),
                Some(flaw) => cell(flaw.to_string()).toned("failed", "failed"),
            },
        ],
    };
    let (word, tone, icon) = if verdict.ok { ("Whole", "done", "done") } else { ("Broken", "failed", "failed") };
    let record = Record {
        above: ("Audit log", PATH.to_owned()),
        name: if verdict.ok { "The log is whole".to_owned() } else { "The log was changed".to_owned() },
        rest: "as far as it was read".to_owned(),
        state: Some(cell(word).toned(tone, icon)),
        facts: vec![Facts { title: "Chain of hashes", right: String::new(), rows }],
        sections: vec![Section {
            id: "anchors",
            title: "Signed days",
            small: String::new(),
            table: Table {
                columns: &[("Day", ""), ("Lines", ""), ("Root", "hide-s"), ("State", "")],
                rows: verdict.anchors.iter().map(anchor).collect(),
                empty: ("No day is signed yet.", "A day is signed when it is over."),
            },
            pages: (None, None),
            ..Section::default()
        }],
        is_quiet: true,
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}
