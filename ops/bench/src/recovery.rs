//! `kill -9` in the middle of a thousand operations: how soon it goes on, and whether anything is lost or doubled.

use std::time::{Duration, Instant};

use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolEvent;
use muniment_activities::contract::bindings::factory::TokenFactory::TokenDeployed;
use serde_json::json;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::ground::Ground;
use crate::node::Kind;
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};

const PATIENCE: Duration = Duration::from_secs(90);
const CONFIRMED: &str = "select count(*) from operations where status = 'confirmed'";
/// Everything that the engine does leaves a line in one of these.
const PROGRESS: &str =
    "select (select count(*) from operation_history) + (select count(*) from attempts where block_number is not null)";

/// Restarts on each database, and a second worker where there can be one.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let count = arguments.either(1_000, 200);
    for (engine, kind) in arguments.pairs() {
        table.add(one(engine, kind, count, false).await);
        if engine == Engine::Postgres {
            table.add(one(engine, kind, count, true).await);
        }
    }
}

async fn one(engine: Engine, kind: Kind, count: usize, with_second: bool) -> Line {
    let ground = Ground::new(kind, Mining::Mixed).await;
    let stand = Stand::new(engine, count as u64, ground.platform).await;
    stand.accept_deployments(0..count as u64).await;
    let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..1]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (mut first, _) = stand.start("worker", Some(&link)).await;
    let under_way = count as i64 / 20;
    stand.view.reached(CONFIRMED, under_way, PATIENCE).await.expect("the first worker makes progress");
    // The first one has the leases; the second one helps with what needs none.
    let second = if with_second { Some(stand.start("worker", Some(&link)).await) } else { None };
    if second.is_some() {
        stand.view.reached(CONFIRMED, under_way * 3, PATIENCE).await.expect("both make progress");
    }
    first.kill();
    let killed = Instant::now();
    let (sql, open) = if with_second {
        (CONFIRMED, stand.view.confirmed().await)
    } else {
        (PROGRESS, stand.view.number(PROGRESS).await)
    };
    let left = count as i64 - stand.view.confirmed().await;
    let (start, _successor) = match second {
        Some(second) => (killed, second),
        None => (Instant::now(), stand.start("worker", Some(&link)).await),
    };
    let progress = stand.view.reached(sql, open + 1, PATIENCE).await.expect("it goes on");
    let all = stand.view.reached(CONFIRMED, count as i64, PATIENCE).await;
    let (lost, doubled, nonces) = compare(&stand, &ground, count).await;
    let progress = (progress - start).as_secs_f64();
    let all = all.map_or("not all".to_owned(), |all| format!("{:.1} s", (all - start).as_secs_f64()));
    let limit = if with_second { 15.0 } else { 1.0 };
    Line {
        row: "recovery",
        on: format!(
            "{}, {}",
            pair(engine, kind),
            if with_second { "another worker takes over" } else { "own restart" }
        ),
        goal: if with_second {
            "progress ≤ 15 s; none lost, none doubled"
        } else {
            "progress ≤ 1 s; none lost, none doubled"
        },
        ours: format!(
            "{left} of {count} unfinished; progress after {progress:.2} s, all confirmed after {all}; lost {lost}, doubled {doubled}, nonces \
             more than operations {nonces}"
        ),
        bare: "–".to_owned(),
        ratio: "–".to_owned(),
        met: Some(progress <= limit && (lost, doubled, nonces) == (0, 0, 0)),
    }
}

/// The chain against the database: what is not confirmed, what took effect twice, and nonces that nobody accounts for.
async fn compare(stand: &Stand, ground: &Ground, count: usize) -> (i64, i64, i64) {
    let rpc = ground.node.rpc();
    let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest", "address": ground.platform.factory,
        "topics": [TokenDeployed::SIGNATURE_HASH] }]);
    let deployed = rpc.call("eth_getLogs", filter).await.as_array().map_or(0, Vec::len) as i64;
    let signer = PrivateKeySigner::from_bytes(&ground.keys[0]).expect("a key").address();
    let nonces = rpc.number("eth_getTransactionCount", json!([signer, "latest"])).await.cast_signed();
    (count as i64 - stand.view.confirmed().await, deployed - count as i64, nonces - count as i64)
}
