//! What the engine costs a provider: calls for each block, without work and with it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::ground::Ground;
use crate::node::Kind;
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};
use crate::tap::{BY_NUMBER, Seen, Tap};

/// A second would be the pace of a chain that mines at once, which is looked after differently.
const BLOCK_SECONDS: u64 = 2;
const SETTLE: Duration = Duration::from_secs(3);

/// Three lines, on anvil with a block every two seconds: a chain that mines with each transaction has no blocks to count by.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let (engine, seconds) = (arguments.engines[0], arguments.either(12, 4) as u64);
    let ground = Ground::new(Kind::Anvil, Mining::Every(BLOCK_SECONDS)).await;
    let tap = Tap::before(&ground.node.url).await;
    let stand = Stand::new(engine, 2_000, ground.platform).await;
    let (url, platform, keys) = (tap.url.as_str(), ground.platform, &ground.keys[..1]);
    let link = Link { url, platform, keys, poll_milliseconds: 1_000, block_seconds: BLOCK_SECONDS };
    let (_binary, port) = stand.start("run", Some(&link)).await;
    sleep(SETTLE).await;
    let (idle, blocks) = span(&ground, &tap, sleep(Duration::from_secs(seconds))).await;
    table.add(line(engine, "idle", "≤ 3 a block", &idle, blocks, 0));
    for pace in [5, 20] {
        let mut client = stand.client(port).await;
        let first = pace * 40;
        let work = async {
            for number in 0..pace * seconds {
                client.deploy(&stand.series.offering(first + number)).await;
                sleep(Duration::from_millis(1_000 / pace)).await;
            }
        };
        let (busy, blocks) = span(&ground, &tap, work).await;
        let name = if pace == 5 { "5 operations a second" } else { "20 operations a second" };
        table.add(line(engine, name, "O(blocks), + 1 batched send", &busy, blocks, pace * seconds));
        sleep(SETTLE).await;
    }
}

/// What went by while something happened, and how many blocks came.
async fn span(ground: &Ground, tap: &Tap, during: impl Future<Output = ()>) -> (Seen, f64) {
    let rpc = ground.node.rpc();
    let (before, from) = (tap.seen(), rpc.number("eth_blockNumber", json!([])).await);
    during.await;
    let (mut after, to) = (tap.seen(), rpc.number("eth_blockNumber", json!([])).await);
    after.posts -= before.posts;
    for (method, count) in &mut after.calls {
        *count -= before.calls.get(method).copied().unwrap_or_default();
    }
    (after, (to - from) as f64)
}

fn line(engine: Engine, name: &str, goal: &'static str, seen: &Seen, blocks: f64, operations: u64) -> Line {
    // Each operation is tried once and sent once, and each commit of signatures first asks whether it still is the same chain: that is the
    // work's own, whatever the follower does.
    let own = ["eth_call", "eth_estimateGas", "eth_sendRawTransaction", "eth_getCode", BY_NUMBER];
    let of = |own_wanted: bool| -> BTreeMap<&String, u64> {
        let wanted = seen.calls.iter().filter(|(method, _)| own.contains(&method.as_str()) == own_wanted);
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
    let mut ours =
        format!("{per_block:.1} a block ({}) in {:.1} requests", words(of(false), blocks), seen.posts as f64 / blocks);
    if operations > 0 {
        ours += &format!("; an operation: {}", words(of(true), operations as f64));
    }
    Line {
        row: "RPC calls",
        on: format!("{}, {name}", pair(engine, Kind::Anvil)),
        goal,
        ours,
        bare: match operations {
            0 => "nobody asks: 0".to_owned(),
            _ => format!("one send and one receipt each: {:.1} a block", 2.0 * operations as f64 / blocks),
        },
        ratio: "–".to_owned(),
        // The heads are two calls, a gap between them and the receipts of a block one each.
        met: Some(per_block <= if operations == 0 { 3.0 } else { 4.0 }),
    }
}
