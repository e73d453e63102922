//! The queue, to read: what waits to be woken, who works, and whether the loops of the engine turn.

use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::record::{self, Record, Section};
use crate::console::table::{Row, Table, age, cell, state};
use crate::console::wording;
use crate::http::error::Result;

/// The address of this page.
pub const PATH: &str = "/console/queue";

#[derive(Deserialize)]
struct Queue {
    waiting: Vec<Waiting>,
    workers: Vec<Worker>,
    as_of: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Waiting {
    queue: String,
    status: String,
    jobs: i64,
    first_due_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Worker {
    id: String,
    queue: String,
    seen_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Ready {
    loops: Vec<Loop>,
}

#[derive(Deserialize)]
struct Loop {
    name: String,
    status: String,
}

/// The page.
pub async fn page(desk: Desk) -> Result<Response> {
    let queue: Queue = desk.read("/blockchain/queue").await?;
    // While something is not ready this is a refusal, and the page of the overview says so.
    let ready: Option<Ready> = desk.read("/readyz").await.ok();
    let late = |first: Option<DateTime<Utc>>| match first {
        Some(at) if at <= queue.as_of => cell(format!("{} late", wording::age(queue.as_of, at))),
        Some(at) => cell(format!("in {}", wording::age(at, queue.as_of))),
        None => cell("none"),
    };
    let waiting = |one: &Waiting| Row {
        id: format!("queue-{}-{}", one.queue, one.status),
        cells: vec![cell(&one.queue), cell(&one.status), cell(wording::number(one.jobs)), late(one.first_due_at)],
    };
    let worker = |one: &Worker| Row {
        id: format!("worker-{}", one.id),
        cells: vec![
            cell(&one.id),
            cell(&one.queue),
            one.seen_at.map_or_else(|| cell("never"), |at| age(queue.as_of, at)),
        ],
    };
    let turn = |one: &Loop| Row { id: format!("loop-{}", one.name), cells: vec![cell(&one.name), state(&one.status)] };
    let loops = ready.map(|ready| ready.loops).unwrap_or_default();
    let section = |id, title, small: &str, columns, rows, empty| {
        let (small, table) = (small.to_owned(), Table { columns, rows, empty });
        Section { id, title, small, table, pages: (None, None), ..Section::default() }
    };
    let record = Record {
        above: ("Overview", "/console".to_owned()),
        name: "Queue".to_owned(),
        sub: "It only wakes operations: what it loses, the sweep wakes again.".to_owned(),
        sections: vec![
            section(
                "waiting",
                "Waiting",
                "at most 10,000 jobs are counted",
                &[("Queue", ""), ("Status", ""), ("Jobs", "num"), ("First is due", "num")],
                queue.waiting.iter().map(waiting).collect(),
                ("Nothing waits.", "Operations are woken by the second."),
            ),
            section(
                "workers",
                "Workers",
                "seen last first",
                &[("Worker", ""), ("Queue", ""), ("Seen", "num")],
                queue.workers.iter().map(worker).collect(),
                ("No worker has begun.", "Start a process with the role worker."),
            ),
            section(
                "loops",
                "Loops of this process",
                "as its readiness tells them",
                &[("Loop", ""), ("Status", "")],
                loops.iter().map(turn).collect(),
                ("No loop runs here.", "The engine runs in another process, or is not ready."),
            ),
        ],
        ..Record::default()
    };
    record::page(&desk, PATH, record).await
}
