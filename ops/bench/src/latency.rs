//! Latency on an idle system: from the 202 to the send, and from the final head to `confirmed`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::installation::{Installation, Link};
use crate::network::Network;
use crate::node::NodeKind;
use crate::recording_proxy::RecordingProxy;
use crate::sample::{median, milliseconds, quantile};
use crate::table::{Line, Table, pair};
use crate::view::{CONFIRMED, View};

const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(1);

/// Two lines for each pair of database and chain.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for kind in &arguments.kinds {
        let network = Network::new(*kind, Mining::Mixed).await;
        for engine in &arguments.engines {
            for line in one(*engine, &network, arguments.either(150, 40)).await {
                table.add(line);
            }
        }
    }
}

async fn one(engine: Engine, network: &Network, count: usize) -> [Line; 2] {
    let proxy = RecordingProxy::start(&network.node.url).await;
    let site = Installation::new(engine, count as u64, network.platform).await;
    let link = Link { url: &proxy.url, ..network.link(1) };
    let (_binary, port) = site.start("run", Some(&link)).await;
    let mut client = site.client(port).await;
    let site = Arc::new(site);
    let done = Arc::new(AtomicBool::new(false));
    let watch = tokio::spawn(watch(site.clone(), done.clone()));
    let (mut wire, mut answer) = (Vec::new(), Vec::new());
    for number in 0..count {
        let requested = Instant::now();
        client.deploy(&site.series.offering(number as u64)).await;
        let accepted = Instant::now();
        answer.push(milliseconds(accepted - requested));
        wire.push(milliseconds(sent(&proxy, number).await.saturating_duration_since(accepted)));
        // Wait until the engine is idle, and do not run in step with its timers.
        if network.node.kind == NodeKind::Devchain {
            let confirmed = number as i64 + 1;
            site.view.reached(CONFIRMED, confirmed, PATIENCE).await.expect("an operation is confirmed");
        }
        sleep(Duration::from_millis(20 + (number as u64 * 37) % 60)).await;
    }
    site.view.reached(CONFIRMED, count as i64, PATIENCE).await.expect("all operations are confirmed");
    done.store(true, Ordering::Relaxed);
    let confirmed = watch.await.expect("the watch ends");
    let settled = settled(&site.view, &proxy, &confirmed).await;
    [wire_line(engine, network.node.kind, &wire, &answer), settled_line(engine, network.node.kind, &settled)]
}

async fn sent(proxy: &RecordingProxy, number: usize) -> Instant {
    let start = Instant::now();
    loop {
        if let Some(at) = proxy.sent_at(number) {
            return at;
        }
        assert!(start.elapsed() < PATIENCE, "operation {number} was not sent");
        sleep(POLL).await;
    }
}

/// The times when a reader of the database first saw each count of confirmed operations.
async fn watch(site: Arc<Installation>, done: Arc<AtomicBool>) -> Vec<(i64, Instant)> {
    let mut seen: Vec<(i64, Instant)> = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let count = site.view.confirmed().await;
        if seen.last().is_none_or(|(last, _)| *last < count) {
            seen.push((count, Instant::now()));
        }
        sleep(POLL).await;
    }
    seen
}

/// Milliseconds from the time when the engine could know that a block is final until its operations are `confirmed`.
async fn settled(view: &View, proxy: &RecordingProxy, confirmed: &[(i64, Instant)]) -> Vec<f64> {
    let (blocks, seen) =
        (view.numbers("select block_number from operation_steps order by operation_id").await, proxy.traffic());
    let mut waits = Vec::new();
    for (number, block) in (1..).zip(blocks) {
        let at = confirmed.iter().find(|(count, _)| *count >= number).map(|(_, at)| *at);
        let (Some(at), Some(last)) = (at, seen.final_at(block.cast_unsigned())) else { continue };
        waits.push(milliseconds(at.saturating_duration_since(last)));
    }
    waits
}

fn wire_line(engine: Engine, kind: NodeKind, wire: &[f64], answer: &[f64]) -> Line {
    let (p50, p99) = (median(wire), quantile(wire, 0.99));
    Line {
        row: "202 → wire",
        on: pair(engine, kind),
        goal: "p50 ≤ 15 ms, p99 ≤ 50 ms",
        result: format!("p50 {p50:.1} ms, p99 {p99:.1} ms (the 202 itself took {:.1} ms)", median(answer)),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(p50 <= 15.0 && p99 <= 50.0),
    }
}

fn settled_line(engine: Engine, kind: NodeKind, settled: &[f64]) -> Line {
    let (p50, p99) = (median(settled), quantile(settled, 0.99));
    Line {
        row: "final → confirmed",
        on: pair(engine, kind),
        goal: "p99 ≤ 100 ms",
        result: format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(p99 <= 100.0),
    }
}
