//! A comparison of chain and database over ten thousand holders: how long it takes and how many calls it makes.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::installation::Installation;
use crate::network::Network;
use crate::node::NodeKind;
use crate::seed;
use crate::table::{Line, Table, pair};

const PATH: &str = "/blockchain/reconciliation-runs";
const PATIENCE: Duration = Duration::from_secs(180);
/// Calls in one batch.
const BATCH: i64 = 100;

/// One line for each database, each with another chain.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for (engine, kind) in arguments.pairs() {
        table.add(one(engine, kind, arguments.either(10_000, 2_000)).await);
    }
}

async fn one(engine: Engine, kind: NodeKind, holders: usize) -> Line {
    let network = Network::new(kind, Mining::Mixed).await;
    let site = Installation::new(engine, 1, network.platform).await;
    let offering = site.series.offering(0);
    seed::subscriptions(&site.view, site.series, &offering, holders as u64).await;
    let (_binary, port) = site.start("run", Some(&network.link(1))).await;
    let mut client = site.client(port).await;
    site.deploy_token(&mut client, &offering).await;
    site.mint_all(&mut client, &offering, holders).await;
    let body = format!("{{\"offering_id\":\"{offering}\"}}");
    let start = Instant::now();
    let (status, answer) = client.post(PATH, "reconcile", &body).await;
    assert_eq!(status, 202, "{answer}");
    let run: Value = serde_json::from_str(&answer).expect("an answer is JSON");
    let path = format!("{PATH}/{}", run["id"].as_str().unwrap_or_default());
    let report = loop {
        let (_, answer) = client.get(&path).await;
        let report: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        if report["status"] != "running" {
            break report;
        }
        assert!(start.elapsed() < PATIENCE, "{report}");
        sleep(Duration::from_millis(20)).await;
    };
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((&report["status"], &report["finding_count"]), (&"completed".into(), &0.into()), "{report}");
    let calls = report["parts"][0]["calls"].as_i64().unwrap_or_default();
    Line {
        row: "reconcile",
        on: format!("{}, {holders} holders", pair(engine, kind)),
        goal: "no difference; few bodies",
        result: format!(
            "{seconds:.1} s; {calls} calls in about {} bodies, {:.3} calls a holder, all at one block by its hash",
            calls / BATCH + 5,
            calls as f64 / holders as f64
        ),
        baseline: "–".to_owned(),
        ratio: "–".to_owned(),
        met: None,
    }
}
