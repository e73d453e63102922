//! A process without work: what it takes of a core, and how much memory.

use std::time::Duration;

use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::ground::Ground;
use crate::node::Kind;
use crate::process;
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};

const SETTLE: Duration = Duration::from_secs(4);

/// Interface and engine on SQLite, on a chain of somebody else: once with the default pace of a public chain, once with a block a second.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let span = Duration::from_secs(arguments.either(20, 6) as u64);
    for seconds in [12, 1] {
        let ground = Ground::new(Kind::Anvil, Mining::Mixed).await;
        let stand = Stand::new(Engine::Sqlite, 1, ground.platform).await;
        let (url, platform, keys) = (ground.node.url.as_str(), ground.platform, &ground.keys[..1]);
        let link = Link { url, platform, keys, poll_milliseconds: 1_000, block_seconds: seconds };
        let (binary, _) = stand.start("run", Some(&link)).await;
        sleep(SETTLE).await;
        let before = process::seconds(binary.pid());
        sleep(span).await;
        let share = (process::seconds(binary.pid()) - before) / span.as_secs_f64() * 100.0;
        let memory = process::resident_megabytes(binary.pid());
        table.add(Line {
            row: "idle",
            on: format!("{}, asked every {seconds} s", pair(Engine::Sqlite, Kind::Anvil)),
            goal: "< 1 % of a core, < 80 MB",
            ours: format!("{share:.2} % of a core, {memory:.0} MB resident"),
            bare: "a process that sleeps: 0".to_owned(),
            ratio: "–".to_owned(),
            met: Some(share < 1.0 && memory < 80.0),
        });
    }
}
