//! Latency on an idle system: from the 202 to the wire, and from the head that makes it final to `confirmed`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::ground::Ground;
use crate::node::Kind;
use crate::sample::{median, milliseconds, quantile};
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};
use crate::tap::Tap;
use crate::view::View;

const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(1);

/// One line each, on every pair of database and chain.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for kind in &arguments.kinds {
        let ground = Ground::new(*kind, Mining::Mixed).await;
        for engine in &arguments.engines {
            for line in one(*engine, &ground, arguments.either(150, 40)).await {
                table.add(line);
            }
        }
    }
}

async fn one(engine: Engine, ground: &Ground, count: usize) -> [Line; 2] {
    let tap = Tap::before(&ground.node.url).await;
    let stand = Stand::new(engine, count as u64, ground.platform).await;
    let (url, platform, keys) = (tap.url.as_str(), ground.platform, &ground.keys[..1]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (_binary, port) = stand.start("run", Some(&link)).await;
    let mut client = stand.client(port).await;
    let stand = Arc::new(stand);
    let done = Arc::new(AtomicBool::new(false));
    let watch = tokio::spawn(watch(stand.clone(), done.clone()));
    let (mut wire, mut answer) = (Vec::new(), Vec::new());
    for number in 0..count {
        let asked = Instant::now();
        client.deploy(&stand.series.offering(number as u64)).await;
        let accepted = Instant::now();
        answer.push(milliseconds(accepted - asked));
        wire.push(milliseconds(sent(&tap, number).await.saturating_duration_since(accepted)));
        // Idle again before the next one, and out of step with every timer of the engine.
        if ground.node.kind == Kind::Devchain {
            let confirmed = number as i64 + 1;
            let sql = "select count(*) from operations where status = 'confirmed'";
            stand.view.reached(sql, confirmed, PATIENCE).await.expect("an operation is confirmed");
        }
        sleep(Duration::from_millis(20 + (number as u64 * 37) % 60)).await;
    }
    let sql = "select count(*) from operations where status = 'confirmed'";
    stand.view.reached(sql, count as i64, PATIENCE).await.expect("all operations are confirmed");
    done.store(true, Ordering::Relaxed);
    let confirmed = watch.await.expect("the watch ends");
    let settled = settled(&stand.view, &tap, &confirmed).await;
    [wire_line(engine, ground.node.kind, &wire, &answer), settled_line(engine, ground.node.kind, &settled)]
}

async fn sent(tap: &Tap, number: usize) -> Instant {
    let start = Instant::now();
    loop {
        if let Some(at) = tap.send(number) {
            return at;
        }
        assert!(start.elapsed() < PATIENCE, "operation {number} was not sent");
        sleep(LOOK).await;
    }
}

/// When each count of confirmed operations was first seen by a reader of the database.
async fn watch(stand: Arc<Stand>, done: Arc<AtomicBool>) -> Vec<(i64, Instant)> {
    let mut seen: Vec<(i64, Instant)> = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let count = stand.view.confirmed().await;
        if seen.last().is_none_or(|(last, _)| *last < count) {
            seen.push((count, Instant::now()));
        }
        sleep(LOOK).await;
    }
    seen
}

/// Milliseconds from when the engine could know that a block is final until its operations read `confirmed`.
async fn settled(view: &View, tap: &Tap, confirmed: &[(i64, Instant)]) -> Vec<f64> {
    let (blocks, seen) =
        (view.numbers("select block_number from operation_steps order by operation_id").await, tap.seen());
    let mut waits = Vec::new();
    for (number, block) in (1..).zip(blocks) {
        let at = confirmed.iter().find(|(count, _)| *count >= number).map(|(_, at)| *at);
        let (Some(at), Some(last)) = (at, seen.final_at(block.cast_unsigned())) else { continue };
        waits.push(milliseconds(at.saturating_duration_since(last)));
    }
    waits
}

fn wire_line(engine: Engine, kind: Kind, wire: &[f64], answer: &[f64]) -> Line {
    let (p50, p99) = (median(wire), quantile(wire, 0.99));
    Line {
        row: "202 → wire",
        on: pair(engine, kind),
        goal: "p50 ≤ 15 ms, p99 ≤ 50 ms",
        ours: format!("p50 {p50:.1} ms, p99 {p99:.1} ms (the 202 itself took {:.1} ms)", median(answer)),
        bare: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(p50 <= 15.0 && p99 <= 50.0),
    }
}

fn settled_line(engine: Engine, kind: Kind, settled: &[f64]) -> Line {
    let (p50, p99) = (median(settled), quantile(settled, 0.99));
    Line {
        row: "final → confirmed",
        on: pair(engine, kind),
        goal: "p99 ≤ 100 ms",
        ours: format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        bare: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(p99 <= 100.0),
    }
}
