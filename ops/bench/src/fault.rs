//! The faults of the row `recovery`, injected while a worker is busy.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;
use world::{Binary, Engine, FaultProxy, Rule, Wire};

use crate::installation::{Installation, Link};

/// The time for which the database is away.
const AWAY: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9`, and the next start.
    Kill,
    /// `kill -9` beside a second worker.
    KillOfOne,
    /// All threads stopped, past all leases, beside a second worker; then it continues.
    Freeze,
    /// The connections to the database stay open, but nothing answers on them.
    HalfOpen,
    /// The database breaks all connections and refuses new ones for a while.
    DatabaseAway,
    /// The preferred one of two endpoints stands still at a block and goes on answering.
    EndpointStuck,
}

impl Fault {
    pub const ALL: [Self; 6] =
        [Self::Kill, Self::KillOfOne, Self::Freeze, Self::HalfOpen, Self::DatabaseAway, Self::EndpointStuck];

    /// Its name in the table, and the time limit for progress in seconds.
    pub fn described(self) -> (&'static str, f64) {
        match self {
            Self::Kill => ("kill -9, own restart", 1.0),
            Self::KillOfOne => ("kill -9, another worker takes over", 15.0),
            Self::Freeze => ("frozen, another worker takes over", 20.0),
            Self::HalfOpen => ("half-open connections to the database", 30.0),
            Self::DatabaseAway => ("the database was away for 10 s", 15.0),
            Self::EndpointStuck => ("an endpoint stands still", 15.0),
        }
    }

    /// Whether it can happen on this database.
    pub fn concerns(self, engine: Engine) -> bool {
        engine == Engine::Postgres || matches!(self, Self::Kill | Self::EndpointStuck)
    }

    /// Whether a second worker runs beside the first one.
    pub fn takes_two(self) -> bool {
        matches!(self, Self::KillOfOne | Self::Freeze)
    }
}

/// The proxies that inject a fault.
pub struct Relays {
    wire: Option<Wire>,
    proxy: Option<FaultProxy>,
    node: String,
}

impl Relays {
    /// The proxies that this fault needs.
    pub fn of(fault: Fault, site: &mut Installation, node: &str) -> Self {
        let mut relays = Self { wire: None, proxy: None, node: node.to_owned() };
        if matches!(fault, Fault::HalfOpen | Fault::DatabaseAway) {
            let (wire, through) = Wire::before(&site.url);
            (relays.wire, site.url) = (Some(wire), through);
        }
        if fault == Fault::EndpointStuck {
            site.second_endpoint = Some(node.to_owned());
            relays.proxy = Some(FaultProxy::start(node, 7));
        }
        relays
    }

    /// The endpoint to give to the engine.
    pub fn endpoint(&self) -> &str {
        self.proxy.as_ref().map_or(&self.node, FaultProxy::url)
    }

    /// Injects the fault. Returns the time from which progress is measured.
    pub async fn inject(&self, fault: Fault, worker: &mut Binary, site: &Installation, link: &Link<'_>) -> Instant {
        let mut since = Instant::now();
        match (fault, &self.wire, &self.proxy) {
            (Fault::Kill, ..) => {
                worker.kill();
                since = Instant::now();
                *worker = site.start("worker", Some(link)).await.0;
            }
            (Fault::KillOfOne, ..) => drop(worker.kill()),
            (Fault::Freeze, ..) => worker.freeze(),
            (Fault::HalfOpen, Some(wire), _) => wire.swallow(),
            (Fault::DatabaseAway, Some(wire), _) => {
                wire.close();
                sleep(AWAY).await;
                since = Instant::now();
                wire.open();
            }
            (Fault::EndpointStuck, _, Some(proxy)) => {
                let head = world::Rpc::new(&self.node).number("eth_blockNumber", json!([])).await;
                proxy.add(Rule::new(world::Fault::StandStill(head)).on(&[]));
            }
            _ => unreachable!("the relays are those of this fault"),
        }
        since
    }
}
