//! The cost of a request, a wake and a list with a million finished operations, compared with a thousand.

use std::ops::Range;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::finished::finished;
use crate::installation::{Installation, Link};
use crate::network::Network;
use crate::node::NodeKind;
use crate::recording_proxy::RecordingProxy;
use crate::sample::{median, milliseconds};
use crate::seed::Series;
use crate::table::{self, Line, Table};

const FEW: u64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// A line for each database.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let many = arguments.either(1_000_000, 50_000) as u64;
    for engine in &arguments.engines {
        table.add(one(*engine, many, arguments.either(150, 50) as u64).await);
    }
}

async fn one(engine: Engine, many: u64, requests: u64) -> Line {
    let network = Network::new(NodeKind::Devchain, Mining::Instant).await;
    let site = Installation::new(engine, 10 * requests, network.platform).await;
    let older = Series::fresh();
    finished(&site.view, older, FEW).await;
    let before = costs(&site, &network, (older, FEW), 0..requests).await;
    let (start, more) = (Instant::now(), Series::fresh());
    finished(&site.view, more, many - FEW).await;
    eprintln!("   {} rows in {:.0} s", many - FEW, start.elapsed().as_secs_f64());
    let after = costs(&site, &network, (more, many - FEW), 2 * requests..3 * requests).await;
    let ratio = |i: usize| after[i].1 / before[i].1;
    let worst = (0..before.len()).map(ratio).fold(0.0, f64::max);
    let words = |costs: &[(&str, f64)]| {
        costs.iter().map(|(name, cost)| format!("{name} {cost:.2}")).collect::<Vec<_>>().join(", ") + " ms"
    };
    let ratios = (0..before.len()).map(|i| format!("{} × {:.2}", before[i].0, ratio(i))).collect::<Vec<_>>().join(", ");
    Line {
        row: "finished operations",
        on: format!("{}, {many}", table::engine(engine)),
        goal: "≤ 1.5 × the cost at a thousand",
        result: words(&after),
        baseline: format!("at {FEW}: {}", words(&before)),
        ratio: ratios,
        met: Some(worst <= 1.5),
    }
}

/// Medians in milliseconds, by name.
async fn costs(
    site: &Installation,
    network: &Network,
    past: (Series, u64),
    offerings: Range<u64>,
) -> Vec<(&'static str, f64)> {
    let (older, rows) = past;
    let proxy = RecordingProxy::start(&network.node.url).await;
    let link = Link { url: &proxy.url, ..network.link(1) };
    let (mut binary, port) = site.start("run", Some(&link)).await;
    let mut client = site.client(port).await;
    sleep(Duration::from_secs(1)).await;
    let (mut accept, mut wake) = (Vec::new(), Vec::new());
    for (number, offering) in (0u64..).zip(offerings) {
        let requested = Instant::now();
        client.deploy(&site.series.offering(offering)).await;
        accept.push(milliseconds(requested.elapsed()));
        let accepted = Instant::now();
        while proxy.sent_at(number as usize).is_none() {
            assert!(accepted.elapsed() < PATIENCE, "an operation was not sent");
            sleep(Duration::from_micros(500)).await;
        }
        wake.push(milliseconds(proxy.sent_at(number as usize).unwrap_or(accepted).saturating_duration_since(accepted)));
        sleep(Duration::from_millis(15)).await;
    }
    // This reads the index of unfinished operations. A count of the finished ones would disturb the measurement.
    let none =
        "1 - (case when exists (select 1 from operations where status in ('pending', 'submitted')) then 1 else 0 end)";
    let sql = format!("select cast({none} as bigint)");
    site.view.reached(&sql, 1, PATIENCE).await.expect("all are confirmed");
    let mut costs = vec![("accept", median(&accept)), ("wake", median(&wake))];
    let half = older.operation(rows / 2);
    for (name, path) in [
        ("list", "/blockchain/operations?limit=50".to_owned()),
        ("by status", "/blockchain/operations?limit=50&status=confirmed".to_owned()),
        ("by type", "/blockchain/operations?limit=50&type=deploy_token".to_owned()),
        ("attention", "/blockchain/operations?limit=50&needs_attention=true".to_owned()),
        ("deep page", format!("/blockchain/operations?limit=50&after={half}")),
        ("stats", "/blockchain/operations/stats".to_owned()),
        ("one", format!("/blockchain/operations/{half}")),
    ] {
        let mut times = Vec::new();
        for _ in 0..40 {
            let requested = Instant::now();
            let (status, answer) = client.get(&path).await;
            assert_eq!(status, 200, "{answer}");
            times.push(milliseconds(requested.elapsed()));
        }
        costs.push((name, median(&times)));
    }
    binary.terminate(PATIENCE);
    costs
}
