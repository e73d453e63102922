//! A fault in the middle of a thousand operations: the time to recover, and whether an effect is lost or repeated.

use std::time::Duration;

use world::{Engine, Mining};

use crate::arguments::Arguments;
use crate::fault::{Fault, Relays};
use crate::installation::{Installation, Link};
use crate::network::Network;
use crate::node::NodeKind;
use crate::recovered::Recovered;
use crate::table::{Line, Table, pair};
use crate::view::CONFIRMED;
use crate::virtual_clock::{Jump, VirtualEngine};

const PATIENCE: Duration = Duration::from_secs(90);
/// Every move of the engine adds a row to one of these.
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

async fn one(engine: Engine, kind: NodeKind, count: usize, fault: Fault) -> Line {
    let (network, mut site) = busy(engine, kind, count).await;
    let relays = Relays::of(fault, &mut site, &network.node.url);
    let link = Link { url: relays.endpoint(), ..network.link(1) };
    let (mut first, _) = site.start("worker", Some(&link)).await;
    let under_way = count as i64 / 20;
    site.view.reached(CONFIRMED, under_way, PATIENCE).await.expect("the worker makes progress");
    // The first worker has the leases; the second one does work that needs no lease.
    let second = if fault.takes_two() { Some(site.start("worker", Some(&link)).await) } else { None };
    if second.is_some() {
        site.view.reached(CONFIRMED, under_way * 3, PATIENCE).await.expect("both make progress");
    }
    let since = relays.inject(fault, &mut first, &site, &link).await;
    let recovered = Recovered::wait(&site, since, if fault == Fault::Kill { PROGRESS } else { CONFIRMED }).await;
    if fault == Fault::Freeze {
        first.thaw();
    }
    let (name, limit) = fault.described();
    recovered.line(&site, &network, format!("{}, {name}", pair(engine, kind)), count, limit).await
}

async fn jumped(engine: Engine, kind: NodeKind, count: usize, jump: Jump) -> Line {
    let (network, site) = busy(engine, kind, count).await;
    let running = VirtualEngine::start(&site.url, &network.node.url, network.platform, network.keys[0]).await;
    site.view.reached(CONFIRMED, count as i64 / 20, PATIENCE).await.expect("the engine makes progress");
    let since = running.jump(jump).await;
    let recovered = Recovered::wait(&site, since, CONFIRMED).await;
    let (name, limit) = jump.described();
    recovered.line(&site, &network, format!("{}, {name}", pair(engine, kind)), count, limit).await
}

/// A platform with this number of accepted operations, and no process yet.
async fn busy(engine: Engine, kind: NodeKind, count: usize) -> (Network, Installation) {
    let network = Network::new(kind, Mining::Mixed).await;
    let site = Installation::new(engine, count as u64, network.platform).await;
    site.accept_deployments(0..count as u64).await;
    (network, site)
}
