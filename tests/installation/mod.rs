//! Muniment as somebody installed it: a chain with the platform's contracts, a database with offerings, a configuration and a key.

mod blocks;
mod chain;
mod client;
mod compliance;
mod config;
mod data;
mod desk;
mod door;
mod ledger;
mod market;
mod oracle;
mod payday;
mod person;
mod raise;
mod second_person;
mod server;
mod token;
mod trouble;

use std::time::{Duration, Instant};

use muniment_activities::platform::Platform;
use muniment_domain::user::Role;
use tempfile::TempDir;
use world::{Anvil, Database, Launch, Mining};

pub use chain::{CHAIN_ID, signer_of};
pub use client::Lacks;
pub use config::Config;
pub use data::{Terms, offer, open, open_at, wallet};
pub use desk::{Desk, ended};
pub use door::Door;
pub use ledger::{dump as ledger_dump, everything as ledger_everything, rows as ledger_rows, write as ledger_write};
pub use market::{Market, found, in_days, later};
pub use oracle::UNLOGGED;
pub use payday::{Payday, UNITS_OF_A_CENT};
pub use person::{PASSWORD, Person, register};
pub use raise::{Raise, shown};
pub use server::{Answer, Remote, Server};

/// Long enough for a machine that is busy with other tests; nothing waits for it when all is well.
pub const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(25);

/// Looks again and again; whether it came in time.
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

/// One installation; everything of it goes with the value.
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
    /// With one signer and one offering for each of the terms.
    pub async fn new(database: Database, mining: Mining, terms: &[Terms]) -> Self {
        Self::with_signers(database, mining, terms, 1).await
    }

    /// With so many signers, each a lane of its own.
    pub async fn with_signers(database: Database, mining: Mining, terms: &[Terms], signers: usize) -> Self {
        Self::on(Anvil::start(mining), database, mining, terms, signers).await
    }

    /// On a node that runs already.
    pub async fn on(anvil: Anvil, database: Database, mining: Mining, terms: &[Terms], signers: usize) -> Self {
        let keys = &world::KEYS[1..=signers];
        // Every known key may act for the platform; those that are not configured are other agents.
        let platform = chain::deploy(&anvil, mining, &world::KEYS[1..]).await;
        let (key, offerings) = data::fill(&database.url(), terms).await;
        let folder = tempfile::Builder::new().prefix("muniment-installation.").tempdir().unwrap();
        let config = Config::new(&database.url(), anvil.url(), &platform, keys, &folder.path().join("auth.json"));
        Self { anvil, database, platform, config, key, offerings, folder }
    }

    /// Another person with a key of their own; no process may have the database open when it is SQLite.
    pub async fn hire(&self, name: &str, role: Role) -> String {
        data::hire(&self.database.url(), name, role).await
    }

    /// A role of the binary under this configuration, not yet started.
    pub fn launch(&self, role: &[&str]) -> Launch {
        let path = self.folder.path().join("muniment.toml");
        let (text, draft) = (self.config.text(), path.with_extension("draft"));
        // Another process may be reading it: it finds the whole old file or the whole new one.
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(&draft, &path).unwrap();
        Launch::new(role.iter().copied()).env("MUNIMENT_CONFIG", path)
    }

    /// The whole platform in one process, ready to serve.
    pub async fn start(&self) -> Server {
        self.serve(self.launch(&["run"])).await
    }

    /// A process that serves the interface, once it does.
    pub async fn serve(&self, launch: Launch) -> Server {
        let process = launch.spawn();
        Server::of(process, &self.key).await.unwrap_or_else(|process| panic!("it does not listen.\n{}", process.log()))
    }

    /// Waits until the condition holds, and says what did not come.
    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        if !comes(condition).await {
            panic!("after {PATIENCE:?} still not: {what}\n{}", self.overview().await);
        }
    }

    /// Waits until no operation is pending or submitted.
    pub async fn settled(&self) {
        self.until("no operation is unfinished", async || self.unfinished().await == 0).await;
    }
}
