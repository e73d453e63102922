//! A complete installation: a chain with the platform's contracts, a database with offerings, a configuration and an API key.

mod api;
mod approver;
mod blocks;
mod chain;
mod client;
mod compliance;
mod config;
mod data;
mod engine;
mod failures;
mod ledger;
mod offering;
mod oracle;
mod payout;
mod person;
mod receiver;
mod server;
mod subscription;
mod token;

use std::time::{Duration, Instant};

use muniment_activities::platform::Platform;
use muniment_domain::user::Role;
use tempfile::TempDir;
use world::{Anvil, Database, Launch, Mining};

pub use api::ApiFixture;
pub use chain::{CHAIN_ID, signer_of};
pub use client::Lacks;
pub use config::Config;
pub use data::{OPERATOR, Terms, new_operation, offer, open, open_at, wallet};
pub use engine::{EngineFixture, deploy_with, ended};
pub use ledger::{dump as ledger_dump, everything as ledger_everything, rows as ledger_rows, write as ledger_write};
pub use offering::{OfferingFixture, in_days, later, register_issuer};
pub use oracle::UNLOGGED;
pub use payout::{PayoutFixture, UNITS_OF_A_CENT};
pub use person::{PASSWORD, Person, prove, register};
pub use receiver::{Received, Receiver, Reply};
pub use server::{Answer, Remote, Server};
pub use subscription::{SubscriptionFixture, shown};

/// Timeout of a wait: long enough for a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(25);

/// Polls the condition; returns false on timeout.
async fn comes(condition: impl AsyncFn() -> bool) -> bool {
    let start = Instant::now();
    while !condition().await {
        if start.elapsed() > PATIENCE {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
    true
}

/// One installation; dropping it removes everything.
pub struct Installation {
    pub anvil: Anvil,
    pub database: Database,
    pub platform: Platform,
    pub config: Config,
    /// An operator's API key.
    pub key: String,
    /// The offerings, in the order of their terms.
    pub offerings: Vec<String>,
    folder: TempDir,
}

impl Installation {
    /// Creates an installation with one signer and one offering for each of the terms.
    pub async fn new(database: Database, mining: Mining, terms: &[Terms]) -> Self {
        Self::with_signers(database, mining, terms, 1).await
    }

    /// Creates an installation with several signers, one lane each.
    pub async fn with_signers(database: Database, mining: Mining, terms: &[Terms], signers: usize) -> Self {
        Self::on(Anvil::start(mining), database, mining, terms, signers).await
    }

    /// Creates an installation on a running node.
    pub async fn on(anvil: Anvil, database: Database, mining: Mining, terms: &[Terms], signers: usize) -> Self {
        let keys = &world::KEYS[1..=signers];
        // Every known key may act for the platform; a key that is not configured acts as another agent.
        let platform = chain::deploy(&anvil, mining, &world::KEYS[1..]).await;
        let (key, offerings) = data::fill(&database.url(), terms).await;
        let folder = tempfile::Builder::new().prefix("muniment-installation.").tempdir().unwrap();
        let config = Config::new(&database.url(), anvil.url(), &platform, keys, &folder.path().join("auth.json"));
        Self { anvil, database, platform, config, key, offerings, folder }
    }

    /// Adds a person with an API key; with SQLite no process may have the database open.
    pub async fn hire(&self, name: &str, role: Role) -> String {
        data::hire(&self.database.url(), name, role).await
    }

    /// Prepares a process of the binary under this configuration.
    pub fn launch(&self, role: &[&str]) -> Launch {
        let path = self.folder.path().join("muniment.toml");
        let (text, draft) = (self.config.text(), path.with_extension("draft"));
        // Another process may be reading it: it finds the whole old file or the whole new one.
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(&draft, &path).unwrap();
        Launch::new(role.iter().copied()).env("MUNIMENT_CONFIG", path)
    }

    /// Starts the whole platform in one process and waits until it serves.
    pub async fn start(&self) -> Server {
        self.serve(self.launch(&["run"])).await
    }

    /// Starts a prepared process and waits until it serves the API.
    pub async fn serve(&self, launch: Launch) -> Server {
        let process = launch.spawn();
        Server::of(process, &self.key)
            .await
            .unwrap_or_else(|process| panic!("the API does not listen.\n{}", process.log()))
    }

    /// Waits until the condition holds; a timeout names the condition.
    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        if !comes(condition).await {
            panic!("timed out after {PATIENCE:?}, waiting until {what}\n{}", self.overview().await);
        }
    }

    /// Waits until no operation is pending or submitted.
    pub async fn settled(&self) {
        self.until("no operation is unfinished", async || self.unfinished().await == 0).await;
    }
}
