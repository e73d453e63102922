//! A comparison of chain and database over ten thousand holders: how long it takes and how many calls it makes.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::ground::Ground;
use crate::node::Kind;
use crate::seed;
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};

const PATH: &str = "/blockchain/reconciliation-runs";
const PATIENCE: Duration = Duration::from_secs(180);
/// How many calls one body holds.
const BATCH: i64 = 100;

/// One line for each database, each with another chain.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    for (engine, kind) in arguments.pairs() {
        table.add(one(engine, kind, arguments.either(10_000, 2_000)).await);
    }
}

async fn one(engine: Engine, kind: Kind, holders: usize) -> Line {
    let ground = Ground::new(kind, Mining::Mixed).await;
    let stand = Stand::new(engine, 1, ground.platform).await;
    let offering = stand.series.offering(0);
    seed::subscriptions(&stand.view, stand.series, &offering, holders as u64).await;
    let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..1]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (_binary, port) = stand.start("run", Some(&link)).await;
    let mut client = stand.client(port).await;
    client.deploy(&offering).await;
    let deployed = "select count(*) from offerings where token_status = 'deployed'";
    stand.view.reached(deployed, 1, PATIENCE).await.expect("the token is deployed");
    let body = format!("{{\"offering_id\":\"{offering}\"}}");
    let (status, answer) = client.post("/blockchain/trigger-mint", "mint-all", &body).await;
    assert_eq!(status, 202, "{answer}");
    let minted = "select count(*) from subscriptions where status = 'minted'";
    stand.view.reached(minted, holders as i64, PATIENCE).await.expect("all is minted");
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
        ours: format!(
            "{seconds:.1} s; {calls} calls in about {} bodies, {:.3} calls a holder, all at one block by its hash",
            calls / BATCH + 5,
            calls as f64 / holders as f64
        ),
        bare: "–".to_owned(),
        ratio: "–".to_owned(),
        met: None,
    }
}
