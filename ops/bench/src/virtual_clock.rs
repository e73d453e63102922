//! The engine in this process, with a clock that jumps: an outage of hours, and a clock that is set back.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use alloy::primitives::B256;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use muniment_domain::clock::Clock;
use muniment_domain::db::Db;
use muniment_domain::id::Ids;
use muniment_workflows::engine::Engine;
use muniment_workflows::settings::Settings;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use world::{Fault, FaultProxy, Rule};

const MICROSECONDS_A_MINUTE: i64 = 60_000_000;
/// The clock jumps in steps, so that every pause and limit of the engine ends within the outage and not only after it.
const STEP_MINUTES: i64 = 5;
const BETWEEN_STEPS: Duration = Duration::from_millis(200);

/// A jump of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// Seven hours pass while no endpoint answers.
    Outage,
    /// It is set back by three hours.
    Back,
}

impl Jump {
    /// Every jump.
    pub const ALL: [Self; 2] = [Self::Outage, Self::Back];

    /// Its name in the table, and the time limit for progress in seconds.
    pub fn described(self) -> (&'static str, f64) {
        match self {
            Self::Outage => ("no endpoint for 7 h, virtual clock", 15.0),
            Self::Back => ("clock set back by 3 h, virtual clock", 15.0),
        }
    }
}

/// A running engine and its clock.
pub struct VirtualEngine {
    ahead: Arc<AtomicI64>,
    proxy: FaultProxy,
    stop: CancellationToken,
}

impl VirtualEngine {
    /// Starts it on this database and node.
    pub async fn start(database: &str, node: &str, platform: Platform, key: B256) -> Self {
        let (ahead, proxy) = (Arc::new(AtomicI64::new(0)), FaultProxy::start(node, 7));
        let config = ChainConfig {
            endpoints: vec![proxy.url().to_owned()],
            poll_milliseconds: 250,
            block_seconds: 1,
            factory: Some(platform.factory),
            registry: Some(platform.registry),
            ..ChainConfig::default()
        };
        let chain = Chain::http(config).expect("the configuration is valid");
        let signer = Signer::raw(key, Profile::Development).expect("a key");
        let clock = Clock::Ahead(ahead.clone());
        let db = Db::open(database, 8, clock, Ids::Random).await.expect("the database opens");
        let engine = Engine::start(db, Settings::default(), vec![(chain, vec![signer])]).await.expect("it starts");
        let stop = CancellationToken::new();
        tokio::spawn(engine.run(stop.clone()));
        Self { ahead, proxy, stop }
    }

    /// Makes the jump. Returns the time from which progress is measured.
    pub async fn jump(&self, jump: Jump) -> Instant {
        let minutes = |minutes: i64| self.ahead.fetch_add(minutes * MICROSECONDS_A_MINUTE, Ordering::SeqCst);
        match jump {
            Jump::Back => _ = minutes(-180),
            Jump::Outage => {
                self.proxy.add(Rule::new(Fault::Status(503)).on(&[]));
                for _ in 0..7 * 60 / STEP_MINUTES {
                    minutes(STEP_MINUTES);
                    sleep(BETWEEN_STEPS).await;
                }
                self.proxy.heal();
            }
        }
        Instant::now()
    }
}

impl Drop for VirtualEngine {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
