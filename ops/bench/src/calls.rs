//! Calls of the engine to its node for each block, without work and with it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use world::{Anvil, Engine, Rpc};

use crate::arguments::Arguments;
use crate::installation::{Installation, Link};
use crate::network::Network;
use crate::node::{Node, NodeKind};
use crate::recording_proxy::{BY_NUMBER, RecordingProxy, Traffic};
use crate::table::{Line, Table, pair};

/// One second would count as a chain that mines on demand, which the engine polls differently.
const BLOCK_SECONDS: u64 = 2;
/// The final block of Ethereum is two epochs of 32 blocks or more behind the head, as is that of an anvil without other arguments.
const FINAL_BEHIND: u64 = 64;
const SETTLE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

/// Three lines, on anvil with a block every two seconds and Ethereum's distance to the final block. On a chain that mines each transaction
/// calls cannot be counted by blocks.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let (engine, seconds) = (arguments.engines[0], arguments.either(12, 4) as u64);
    let node = Anvil::with(&["--block-time".to_owned(), BLOCK_SECONDS.to_string()]);
    node.mine(FINAL_BEHIND).await;
    let network = Network::on(Node::of(node)).await;
    let proxy = RecordingProxy::start(&network.node.url).await;
    let site = Installation::new(engine, 2_000, network.platform).await;
    let link = Link { url: &proxy.url, poll_milliseconds: 1_000, block_seconds: BLOCK_SECONDS, ..network.link(1) };
    let (_binary, port) = site.start("run", Some(&link)).await;
    sleep(SETTLE).await;
    let (idle, blocks) = span(&network, &proxy, sleep(Duration::from_secs(seconds))).await;
    table.add(line(engine, "idle", "≤ 3 a block", &idle, blocks, 0));
    for pace in [5, 20] {
        let mut client = site.client(port).await;
        let first = pace * 40;
        let work = async {
            for number in 0..pace * seconds {
                client.deploy(&site.series.offering(first + number)).await;
                sleep(Duration::from_millis(1_000 / pace)).await;
            }
        };
        let (busy, blocks) = span(&network, &proxy, work).await;
        let name = if pace == 5 { "5 operations a second" } else { "20 operations a second" };
        table.add(line(engine, name, "≤ 3 a block, plus sends", &busy, blocks, pace * seconds));
        sleep(SETTLE).await;
    }
}

/// The traffic while this runs, and the number of blocks. It begins and ends with a new block, because the calls for a part of a block would
/// count as calls of the others.
async fn span(network: &Network, proxy: &RecordingProxy, during: impl Future<Output = ()>) -> (Traffic, f64) {
    let rpc = network.node.rpc();
    let from = next_block(&rpc).await;
    let before = proxy.traffic();
    during.await;
    let to = next_block(&rpc).await;
    let mut after = proxy.traffic();
    after.posts -= before.posts;
    for (method, count) in &mut after.calls {
        *count -= before.calls.get(method).copied().unwrap_or_default();
    }
    (after, (to - from) as f64)
}

/// Waits for a new block, and returns its number.
async fn next_block(rpc: &Rpc) -> u64 {
    let newest = async || rpc.number("eth_blockNumber", json!([])).await;
    let first = newest().await;
    loop {
        sleep(LOOK).await;
        let number = newest().await;
        if number > first {
            return number;
        }
    }
}

fn line(engine: Engine, name: &str, goal: &'static str, traffic: &Traffic, blocks: f64, operations: u64) -> Line {
    // Each operation is simulated once and sent once, and each commit of signatures first checks the chain. These calls belong to the
    // operations and not to the follower.
    let own = ["eth_call", "eth_estimateGas", "eth_sendRawTransaction", "eth_getCode", BY_NUMBER];
    let of = |own_wanted: bool| -> BTreeMap<&String, u64> {
        let wanted = traffic.calls.iter().filter(|(method, _)| own.contains(&method.as_str()) == own_wanted);
        wanted.filter(|(_, count)| **count > 0).map(|(method, count)| (method, *count)).collect()
    };
    let per_block = of(false).values().sum::<u64>() as f64 / blocks;
    let words = |calls: BTreeMap<&String, u64>, per: f64| {
        calls
            .iter()
            .map(|(method, count)| format!("{method} {:.1}", *count as f64 / per))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut result = format!(
        "{per_block:.1} a block ({}) in {:.1} requests",
        words(of(false), blocks),
        traffic.posts as f64 / blocks
    );
    if operations > 0 {
        result += &format!("; an operation: {}", words(of(true), operations as f64));
    }
    Line {
        row: "RPC calls",
        on: format!("{}, {name}", pair(engine, NodeKind::Anvil)),
        goal,
        result,
        baseline: match operations {
            0 => "no calls".to_owned(),
            _ => format!("one send and one receipt each: {:.1} a block", 2.0 * operations as f64 / blocks),
        },
        ratio: "–".to_owned(),
        met: Some(per_block <= 3.0),
    }
}
