//! A process without work: its processor time and its memory.

use std::time::Duration;

use tokio::time::sleep;
use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::installation::{Installation, Link};
use crate::network::Network;
use crate::node::NodeKind;
use crate::process;
use crate::table::{Line, Table, pair};

const SETTLE: Duration = Duration::from_secs(4);

/// API and engine on SQLite, on a chain in another process: with the default pace of a public chain, and with a block each second.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let span = Duration::from_secs(arguments.either(20, 6) as u64);
    for seconds in [12, 1] {
        let network = Network::new(NodeKind::Anvil, Mining::Mixed).await;
        let site = Installation::new(Engine::Sqlite, 1, network.platform).await;
        let link = Link { poll_milliseconds: 1_000, block_seconds: seconds, ..network.link(1) };
        let (binary, _) = site.start("run", Some(&link)).await;
        sleep(SETTLE).await;
        let before = process::seconds(binary.pid());
        sleep(span).await;
        let share = (process::seconds(binary.pid()) - before) / span.as_secs_f64() * 100.0;
        let memory = process::resident_megabytes(binary.pid());
        table.add(Line {
            row: "idle",
            on: format!("{}, asked every {seconds} s", pair(Engine::Sqlite, NodeKind::Anvil)),
            goal: "< 1 % of a core, < 80 MB",
            result: format!("{share:.2} % of a core, {memory:.0} MB resident"),
            baseline: "a process that sleeps: 0".to_owned(),
            ratio: "–".to_owned(),
            met: Some(share < 1.0 && memory < 80.0),
        });
    }
}
