//! The engine in the test's own process, for calls that have no endpoint.

use std::time::Instant;

use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::signer::Signer;
use muniment_domain::clock::Clock;
use muniment_domain::operation::Operation;
use muniment_domain::point::{Point, When, plan};
use muniment_domain::{Code, Error, lane, operation};
use muniment_workflows::engine::Engine;
use muniment_workflows::requester::Requester;
use muniment_workflows::settings::Settings;
use muniment_workflows::token::{deploy, mint};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use world::KEYS;

use super::{CHAIN_ID, Installation, PATIENCE, POLL, data};

/// A running engine.
pub struct EngineFixture {
    pub engine: Engine,
    stop: CancellationToken,
    task: JoinHandle<muniment_domain::Result<()>>,
}

fn by() -> Requester {
    Requester { actor: "operator".to_owned(), request_id: None, idempotency_key: None }
}

impl Installation {
    /// Starts the engine; with SQLite no other process may have the database open.
    pub async fn engine_fixture(&self, change: impl Fn(&mut ChainConfig)) -> EngineFixture {
        self.engine_fixture_at(Clock::System, change).await
    }

    /// Starts the engine with a clock that the test moves.
    pub async fn engine_fixture_at(&self, clock: Clock, change: impl Fn(&mut ChainConfig)) -> EngineFixture {
        EngineFixture::run(self.engine_at(clock, change).await)
    }

    /// The engine, of which nothing runs by itself.
    pub async fn engine_at(&self, clock: Clock, change: impl Fn(&mut ChainConfig)) -> Engine {
        self.engine_with(1, clock, change).await
    }

    /// The same with several signers.
    pub async fn engine_with(&self, signers: usize, clock: Clock, change: impl Fn(&mut ChainConfig)) -> Engine {
        let mut config = ChainConfig {
            endpoints: vec![self.anvil.url().to_owned()],
            poll_milliseconds: 50,
            block_seconds: 1,
            factory: Some(self.platform.factory),
            registry: Some(self.platform.registry),
            ..ChainConfig::default()
        };
        change(&mut config);
        let settings =
            Settings { sweep_seconds: 1, outage_pause_seconds: 1, backoff_base_seconds: 1, ..Settings::default() };
        let signer = |key: &&str| Signer::raw(key.parse().unwrap(), Profile::Development).unwrap();
        let signers = KEYS[1..=signers].iter().map(signer).collect();
        let chain = Chain::http(config).unwrap();
        let db = data::open_at(&self.database.url(), clock).await;
        Engine::start(db, settings, vec![(chain, signers)]).await.unwrap()
    }
}

/// Accepts the deployment of an offering's token.
pub async fn deploy_with(engine: &Engine, offering_id: &str) -> String {
    let mut tx = engine.db.begin().await.unwrap();
    let request = deploy::Request::of(offering_id);
    let operation = deploy::request(&mut tx, &engine.settings, request, &by()).await.unwrap();
    tx.commit(Point::Accept).await.unwrap();
    operation.id.into()
}

impl EngineFixture {
    /// Runs an engine.
    pub fn run(engine: Engine) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(engine.clone().run(stop.clone()));
        Self { engine, stop, task }
    }

    /// Accepts the deployment of an offering's token.
    pub async fn deploy(&self, offering_id: &str) -> String {
        deploy_with(&self.engine, offering_id).await
    }

    /// Accepts the mint of everything that an offering can mint; it must fit on one page.
    pub async fn mint(&self, offering_id: &str) -> String {
        let mut tx = self.engine.db.begin().await.unwrap();
        let request =
            mint::Request { offering_id: offering_id.into(), subscription_ids: None, lockup_release_at: None };
        let requested = mint::ask(&mut tx, &self.engine.settings, request, &by()).await.unwrap();
        let mint::Requested::Accepted(accepted) = requested else { panic!("the amount reaches the threshold") };
        tx.commit(Point::Accept).await.unwrap();
        accepted.pages[0].operation.id.to_string()
    }

    /// Reads the operation.
    pub async fn operation(&self, id: &str) -> Operation {
        let mut tx = self.engine.db.read().await.unwrap();
        operation::find(&mut tx, &id.into()).await.unwrap()
    }

    /// Resumes the only lane, as soon as its transactions are final.
    pub async fn resume(&self) {
        let mut tx = self.engine.db.read().await.unwrap();
        let lane = lane::of_chain(&mut tx, CHAIN_ID).await.unwrap().remove(0);
        drop(tx);
        let start = Instant::now();
        loop {
            let resumed =
                muniment_workflows::operator::lane::resume(&self.engine, &lane.id, "operator", "looked at it").await;
            match resumed {
                Err(Error::Refused { code: Code::NonceStillOpen, .. }) if start.elapsed() < PATIENCE => {
                    tokio::time::sleep(POLL).await
                }
                other => return other.unwrap(),
            }
        }
    }

    /// Why the engine ended, which nobody has told to.
    pub async fn failure(self) -> Error {
        let ended = self.task.await.unwrap();
        self.engine.db.close().await;
        ended.unwrap_err()
    }

    /// Stops the engine after its current moves and closes the database.
    pub async fn close(self) {
        let db = self.engine.db.clone();
        self.halt().await;
        db.close().await;
    }

    /// Stops the engine after its current moves; the database stays open for direct calls.
    pub async fn halt(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// Runs an operator's move that ends at this commit point, as in a crash.
pub async fn ended<T: std::fmt::Debug>(point: Point, when: When, act: impl Future<Output = Result<T, Error>>) {
    plan::crash_at(point, when, 1);
    let outcome = act.await;
    assert!(!plan::clear(), "{point} was not passed: {outcome:?}");
    assert!(matches!(outcome, Err(Error::Crashed(at)) if at == point), "{outcome:?}");
}
