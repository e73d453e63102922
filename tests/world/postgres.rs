//! A private PostgreSQL cluster, and a fresh database for each test in it.

use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection};

use crate::kept::Kept;
use crate::{Launch, repository};

/// The lock under which one process migrates the template for all.
const TEMPLATE_LOCK: i64 = 7;
/// The longest time that the migrations may take.
const MIGRATION: Duration = Duration::from_secs(120);

/// A cluster that runs until the value is dropped or the process ends, however it ends.
pub struct Cluster {
    url: String,
    holder: Option<(Child, ChildStdin)>,
}

impl Cluster {
    /// Starts one of its own: for tests that end or restore the server.
    pub fn start() -> Self {
        Self::start_in(None)
    }

    /// Starts one whose files lie in this folder: for measurements, which need a real disk and counters of statements and lock waits.
    pub fn start_in(folder: Option<&Path>) -> Self {
        let mut command = Command::new(repository().join("ops/postgres"));
        if let Some(folder) = folder {
            command.env("MUNIMENT_TEST_DIR", folder).env("MUNIMENT_TEST_COUNTING", "1");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ops/postgres can be run");
        let held = child.stdin.take().expect("stdin is piped");
        let mut url = String::new();
        let printed = child.stdout.take().expect("stdout is piped");
        let _ = BufReader::new(printed).read_line(&mut url);
        if !url.starts_with("postgres://") {
            let mut why = String::new();
            let _ = child.stderr.take().expect("stderr is piped").read_to_string(&mut why);
            panic!("no PostgreSQL for the tests.\n{why}");
        }
        Self { url: url.trim().to_owned(), holder: Some((child, held)) }
    }

    /// The one that all tests of this process share; `ops/test` shares one among all processes.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("MUNIMENT_TEST_POSTGRES") {
            Ok(url) if !url.is_empty() => Self { url, holder: None },
            _ => Self::start(),
        })
    }

    /// A fresh, empty database in this cluster.
    pub async fn database(&self) -> Postgres {
        self.copy("template1").await
    }

    /// A fresh, migrated database in this cluster. It is a copy: the migrations take longer than most tests.
    pub async fn migrated(&self) -> Postgres {
        self.copy(&self.template().await).await
    }

    /// The database that fresh ones are copied from. The first process of a run makes it. Its name changes with the migrations.
    async fn template(&self) -> String {
        let name = format!("migrated_{:x}", fingerprint());
        let mut admin = PgConnection::connect(&self.url).await.expect("the test server answers");
        let lock = format!("select pg_advisory_lock({TEMPLATE_LOCK})");
        if !is_there(&mut admin, &name).await {
            admin.execute(sqlx::AssertSqlSafe(lock)).await.expect("the lock is free");
        }
        if !is_there(&mut admin, &name).await {
            let unfinished = self.database().await;
            let mut migrate = Launch::new(["migrate"]).env("MUNIMENT_DATABASE_URL", unfinished.url()).spawn();
            let ended = migrate.wait(MIGRATION).is_some_and(|status| status.success());
            assert!(ended, "the template is not migrated\n{}", migrate.log());
            let rename = format!("alter database {} rename to {name}", unfinished.name);
            admin.execute(sqlx::AssertSqlSafe(rename)).await.expect("nobody has it open");
        }
        admin.close().await.expect("the lock ends");
        name
    }

    /// A fresh database with the content of another one, which nobody may have open meanwhile.
    pub async fn copy(&self, source: &str) -> Postgres {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{count}", std::process::id());
        let server = self.url.clone();
        // A process of the same number may have been killed before it could clean up.
        administer(&server, &[&dropping(&name), &format!("create database {name} template {source}")]).await;
        Postgres { server, name, kept: Kept::none() }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some((mut child, held)) = self.holder.take() {
            drop(held);
            let _ = child.wait();
        }
    }
}

/// A database of one test, dropped with the value.
pub struct Postgres {
    server: String,
    name: String,
    kept: Kept<PgConnection>,
}

impl Postgres {
    /// A fresh database in the shared cluster.
    pub async fn fresh() -> Self {
        let cluster = tokio::task::spawn_blocking(Cluster::shared).await;
        cluster.expect("the cluster starts").migrated().await
    }

    /// The address to connect to.
    pub fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').expect("the address names a database");
        format!("{server}/{}", self.name)
    }

    /// A connection past the platform's code, for `keep` afterwards.
    pub async fn connect(&self) -> PgConnection {
        match self.kept.take().await {
            Some(kept) => kept,
            None => PgConnection::connect(&self.url()).await.expect("the test server answers"),
        }
    }

    /// Keeps a connection for the next statement.
    pub fn keep(&self, connection: PgConnection) {
        self.kept.give_back(connection);
    }

    /// A second database with the same content: a backup taken now. Nobody may be connected.
    pub async fn backup(&self) -> Self {
        self.kept.close().await;
        Cluster { url: self.server.clone(), holder: None }.copy(&self.name).await
    }

    /// Ends every session, as a failover does.
    pub async fn disconnect_all(&self) {
        let name = &self.name;
        let text = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
        administer(&self.server, &[&text]).await;
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // The test's own runtime may be ending, so the farewell has a thread and a runtime of its own.
        let farewell = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut admin = PgConnection::connect(&server).await.map_err(std::io::Error::other)?;
                admin.execute(sqlx::AssertSqlSafe(dropping(&name))).await.map_err(std::io::Error::other)
            })
        });
        // A server that a test has ended cannot drop anything any more.
        let _ = farewell.join();
    }
}

async fn is_there(admin: &mut PgConnection, name: &str) -> bool {
    let known =
        sqlx::query_scalar::<_, bool>("select exists (select 1 from pg_database where datname = $1)").bind(name);
    known.fetch_one(admin).await.expect("databases")
}

/// Tells migrations that changed.
fn fingerprint() -> u64 {
    let folder = std::fs::read_dir(repository().join("migrations")).expect("migrations");
    let mut files: Vec<_> = folder.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "sql")) {
        hash.write(&std::fs::read(file).expect("a migration"));
    }
    hash.finish()
}

fn dropping(name: &str) -> String {
    format!("drop database if exists {name} with (force)")
}

async fn administer(server: &str, texts: &[&str]) {
    let mut admin = PgConnection::connect(server).await.expect("the test server answers");
    for text in texts {
        let done = admin.execute(sqlx::AssertSqlSafe((*text).to_owned())).await;
        done.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}
