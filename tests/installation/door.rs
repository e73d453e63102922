//! The interface alone, without a chain: enough for everything that is decided at the door.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use muniment_domain::user::Role;
use tempfile::TempDir;
use world::{Database, Launch};

use super::{PATIENCE, Person, Server, comes, data, ledger, person};

/// A database with the interface before it.
pub struct Door {
    pub database: Database,
    sections: BTreeMap<String, BTreeMap<String, String>>,
    folder: TempDir,
}

impl Door {
    /// Migrated, not yet started. A password costs next to nothing here, and nobody is asked to come more slowly.
    pub async fn new(database: Database) -> Self {
        data::open(&database.url()).await.close().await;
        let folder = tempfile::Builder::new().prefix("muniment-door.").tempdir().unwrap();
        let mut door = Self { database, sections: BTreeMap::new(), folder };
        let url = format!("{:?}", door.database.url());
        door.set("database", "url", &url);
        door.set("auth", "key_file", &format!("{:?}", door.folder.path().join("auth.json")));
        door.set("auth", "password_memory_kib", "64");
        door.set("auth", "staff_second_factor", "false");
        for name in
            ["anonymous", "login", "read", "write", "operator_write", "token_read", "subscribe", "bulk_retry", "key"]
        {
            door.set("rates", &format!("{name}_per_minute"), "0");
        }
        door
    }

    /// A key of a section, its value as TOML writes it.
    pub fn set(&mut self, section: &str, key: &str, value: &str) {
        self.sections.entry(section.to_owned()).or_default().insert(key.to_owned(), value.to_owned());
    }

    /// The file with the secrets.
    pub fn secrets(&self) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.folder.path().join("auth.json")).unwrap()).unwrap()
    }

    /// Another file with the secrets, as a whole.
    pub fn replace_secrets(&self, file: &serde_json::Value) {
        let (path, draft) = (self.folder.path().join("auth.json"), self.folder.path().join("draft.json"));
        std::fs::write(&draft, file.to_string()).unwrap();
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(draft, path).unwrap();
    }

    /// A copy of that file, as a machine has it that got no newer one.
    pub fn copy_secrets(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        std::fs::copy(self.folder.path().join("auth.json"), &copy).unwrap();
        copy
    }

    /// A process that is about to serve.
    pub fn launch(&self) -> Launch {
        self.launch_as(&["api"])
    }

    /// A process with these words on its command line.
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

    /// Starts it and waits until it serves.
    pub async fn open(&self) -> Server {
        self.opened(self.launch()).await
    }

    /// Waits until a process serves.
    pub async fn opened(&self, launch: Launch) -> Server {
        let process = launch.spawn();
        Server::of(process, "").await.unwrap_or_else(|process| panic!("it does not listen.\n{}", process.log()))
    }

    /// Somebody with this role, logged in and stepped up.
    pub async fn person(&self, server: &Server, name: &str, role: Role) -> Person {
        person::appoint(&self.database, server, name, role).await
    }

    /// Waits until the condition holds, and says what did not come.
    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        assert!(comes(condition).await, "after {PATIENCE:?} still not: {what}");
    }

    /// Changes rows behind the platform's back.
    pub async fn write(&self, sql: &str) -> u64 {
        ledger::write(&self.database, sql).await
    }

    /// Every row of a statement, each column as text.
    pub async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        ledger::rows(&self.database, sql).await
    }

    /// The one number that a statement asks for.
    pub async fn count(&self, from: &str) -> i64 {
        let rows = ledger::rows(&self.database, &format!("select cast(count(*) as text) from {from}")).await;
        rows[0][0].parse().unwrap()
    }
}
