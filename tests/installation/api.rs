//! The API alone, without a chain: enough for everything that the API decides by itself.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use muniment_domain::user::Role;
use tempfile::TempDir;
use world::{Database, Launch};

use super::{PATIENCE, Person, Server, comes, data, ledger, person};

/// A database and the API process that serves it.
pub struct ApiFixture {
    pub database: Database,
    sections: BTreeMap<String, BTreeMap<String, String>>,
    pub folder: TempDir,
}

impl ApiFixture {
    /// Migrates a database; the API is not started yet. Password hashing is cheap and rate limits are off.
    pub async fn new(database: Database) -> Self {
        data::open(&database.url()).await.close().await;
        let folder = tempfile::Builder::new().prefix("muniment-api.").tempdir().unwrap();
        let mut api = Self { database, sections: BTreeMap::new(), folder };
        let url = format!("{:?}", api.database.url());
        api.set("database", "url", &url);
        api.set("auth", "key_file", &format!("{:?}", api.folder.path().join("auth.json")));
        api.set("auth", "password_memory_kib", "64");
        api.set("auth", "staff_second_factor", "false");
        for name in
            ["anonymous", "login", "read", "write", "operator_write", "token_read", "subscribe", "bulk_retry", "key"]
        {
            api.set("rates", &format!("{name}_per_minute"), "0");
        }
        api
    }

    /// Sets a configuration key; the value is written as TOML.
    pub fn set(&mut self, section: &str, key: &str, value: &str) {
        self.sections.entry(section.to_owned()).or_default().insert(key.to_owned(), value.to_owned());
    }

    /// Reads the key file.
    pub fn secrets(&self) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.folder.path().join("auth.json")).unwrap()).unwrap()
    }

    /// Replaces the whole key file.
    pub fn replace_secrets(&self, file: &serde_json::Value) {
        let (path, draft) = (self.folder.path().join("auth.json"), self.folder.path().join("draft.json"));
        std::fs::write(&draft, file.to_string()).unwrap();
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(draft, path).unwrap();
    }

    /// Copies the key file, for a machine that has an older one.
    pub fn copy_secrets(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        std::fs::copy(self.folder.path().join("auth.json"), &copy).unwrap();
        copy
    }

    /// Prepares an API process.
    pub fn launch(&self) -> Launch {
        self.launch_as(&["api"])
    }

    /// Prepares a process with these command-line arguments.
    pub fn launch_as(&self, words: &[&str]) -> Launch {
        let mut text =
            "profile = \"development\"\nlisten = \"127.0.0.1:0\"\nlog = \"info,muniment::answer=warn\"\n".to_owned();
        for (section, keys) in &self.sections {
            _ = writeln!(text, "[{section}]");
            for (key, value) in keys {
                _ = writeln!(text, "{key} = {value}");
            }
        }
        let path = self.folder.path().join("muniment.toml");
        std::fs::write(&path, text).unwrap();
        Launch::new(words.iter().copied()).env("MUNIMENT_CONFIG", path)
    }

    /// Starts the API and waits until it serves.
    pub async fn start(&self) -> Server {
        self.serve(self.launch()).await
    }

    /// Starts a prepared process and waits until it serves.
    pub async fn serve(&self, launch: Launch) -> Server {
        let process = launch.spawn();
        Server::of(process, "").await.unwrap_or_else(|process| panic!("the API does not listen.\n{}", process.log()))
    }

    /// Creates a person with this role, logged in and stepped up.
    pub async fn person(&self, server: &Server, name: &str, role: Role) -> Person {
        person::appoint(&self.database, server, name, role).await
    }

    /// Waits until the condition holds; a timeout names the condition.
    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        assert!(comes(condition).await, "timed out after {PATIENCE:?}, waiting until {what}");
    }

    /// Waits until every event has its place and its deliveries.
    pub async fn fanned_out(&self) {
        self.until("all events are fanned out", async || self.count("events where position is null").await == 0).await;
    }

    /// Changes rows directly in the database.
    pub async fn write(&self, sql: &str) -> u64 {
        ledger::write(&self.database, sql).await
    }

    /// Returns every row of a statement, each column as text.
    pub async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        ledger::rows(&self.database, sql).await
    }

    /// Counts rows.
    pub async fn count(&self, from: &str) -> i64 {
        let rows = ledger::rows(&self.database, &format!("select cast(count(*) as text) from {from}")).await;
        rows[0][0].parse().unwrap()
    }
}
