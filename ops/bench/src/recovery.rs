//! What goes wrong in the middle of a thousand operations: how soon it goes on and ends, and whether anything is lost, doubled or given up.

use std::time::Duration;

use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::fault::{Fault, Relays};
use crate::ground::Ground;
use crate::node::Kind;
use crate::recovered::{CONFIRMED, Recovered};
use crate::stand::{Link, Stand};
use crate::table::{Line, Table, pair};
use crate::virtual_clock::{Jump, Virtual};

const PATIENCE: Duration = Duration::from_secs(90);
/// Everything that the engine does leaves a line in one of these.
const PROGRESS: &str =
    "select (select count(*) from operation_history) + (select count(*) from attempts where block_number is not null)";

/// Each fault on each database on which it can happen.
pub async fn measure(arguments: &Arguments, table: &mut Table) {
    let count = arguments.either(1_000, 200);
    for (engine, kind) in arguments.pairs() {
        for fault in Fault::ALL.into_iter().filter(|fault| fault.concerns(engine)) {
            table.add(one(engine, kind, count, fault).await);
        }
        for jump in Jump::ALL {
            table.add(jumped(engine, kind, count, jump).await);
        }
    }
}

async fn one(engine: Engine, kind: Kind, count: usize, fault: Fault) -> Line {
    let (ground, mut stand) = busy(engine, kind, count).await;
    let relays = Relays::of(fault, &mut stand, &ground.node.url);
    let (url, platform, keys) = (relays.endpoint(), ground.platform, &ground.keys[..1]);
    let link = Link { url, platform, keys, poll_milliseconds: 250, block_seconds: 1 };
    let (mut first, _) = stand.start("worker", Some(&link)).await;
    let under_way = count as i64 / 20;
    stand.view.reached(CONFIRMED, under_way, PATIENCE).await.expect("the worker makes progress");
    // The first one has the leases; the second one helps with what needs none.
    let second = if fault.takes_two() { Some(stand.start("worker", Some(&link)).await) } else { None };
    if second.is_some() {
        stand.view.reached(CONFIRMED, under_way * 3, PATIENCE).await.expect("both make progress");
    }
    let since = relays.strike(fault, &mut first, &stand, &link).await;
    let recovered = Recovered::wait(&stand, since, if fault == Fault::Kill { PROGRESS } else { CONFIRMED }).await;
    if fault == Fault::Freeze {
        first.thaw();
    }
    let (name, limit) = fault.described();
    recovered.line(&stand, &ground, format!("{}, {name}", pair(engine, kind)), count, limit).await
}

async fn jumped(engine: Engine, kind: Kind, count: usize, jump: Jump) -> Line {
    let (ground, stand) = busy(engine, kind, count).await;
    let running = Virtual::start(&stand.url, &ground.node.url, ground.platform, ground.keys[0]).await;
    stand.view.reached(CONFIRMED, count as i64 / 20, PATIENCE).await.expect("the engine makes progress");
    let since = running.strike(jump).await;
    let recovered = Recovered::wait(&stand, since, CONFIRMED).await;
    let (name, limit) = jump.described();
    recovered.line(&stand, &ground, format!("{}, {name}", pair(engine, kind)), count, limit).await
}

/// A platform with so many accepted operations, and no process yet.
async fn busy(engine: Engine, kind: Kind, count: usize) -> (Ground, Stand) {
    let ground = Ground::new(kind, Mining::Mixed).await;
    let stand = Stand::new(engine, count as u64, ground.platform).await;
    stand.accept_deployments(0..count as u64).await;
    (ground, stand)
}
