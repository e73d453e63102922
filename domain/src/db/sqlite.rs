//! Opens SQLite: the file with its lock, one connection that writes, and those that read.

use std::fs::{File, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqlitePool};

use crate::{Error, Result};

/// How long to wait for the lock file: a process that just ended can hold it for a moment longer.
const LOCK_GRACE: Duration = Duration::from_secs(1);
/// Pages of the log (32 MiB) that are written before they are copied into the file. Under load a page is written many times, and
/// copying syncs the file.
const LOG_PAGES: &str = "8192";
/// The writer's cache, in KiB. The driver's default of 2 MiB holds less than the indexes of one busy table.
const WRITER_CACHE: &str = "-32768";
/// Statements that a connection keeps prepared. The engine's loops alone have more than the driver's default.
pub(super) const STATEMENTS: usize = 500;

/// The pools, and the lock of the file.
pub(super) struct Opened {
    pub write: SqlitePool,
    pub read: SqlitePool,
    pub lock: Option<Arc<File>>,
}

/// Opens `sqlite:path` or `sqlite::memory:`.
pub(super) async fn open(url: &str, connections_max: u32) -> Result<Opened> {
    let in_memory = url.contains(":memory:");
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10))
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("wal_autocheckpoint", LOG_PAGES)
        .statement_cache_capacity(STATEMENTS)
        .synchronous(SqliteSynchronous::Normal);
    let lock = if in_memory { None } else { Some(Arc::new(lock(options.get_filename()).await?)) };
    if !in_memory {
        keep_private(options.get_filename())?;
    }
    // The connection stays open, because an in-memory database ends with it.
    let mut write = file_pool(1).min_connections(1).idle_timeout(None).max_lifetime(None);
    if !in_memory {
        // Reset to the default for the queue; see `SQLITE_BEGIN` of `db`. Memory has nothing to sync.
        write = write.after_release(|connection, _| {
            Box::pin(async move { sqlx::query("pragma synchronous = normal").execute(connection).await.map(|_| true) })
        });
    }
    let write = write.connect_with(options.clone().pragma("cache_size", WRITER_CACHE)).await?;
    let read = if in_memory {
        write.clone()
    } else {
        file_pool(connections_max.clamp(1, 4)).connect_with(options.read_only(true)).await?
    };
    Ok(Opened { write, read, lock })
}

fn file_pool(connections_max: u32) -> SqlitePoolOptions {
    // A local file needs no ping before use.
    SqlitePoolOptions::new().max_connections(connections_max).test_before_acquire(false).before_acquire(
        |connection, _| {
            // When the disk fails, SQLite ends the transaction by itself but the driver still believes that it is open. Such a
            // connection is replaced.
            let sound = !connection.is_in_transaction();
            Box::pin(async move { Ok(sound) })
        },
    )
}

/// Only the owner of the process reads the database. SQLite gives its other files the same mode.
fn keep_private(database: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::Database(sqlx::Error::Io(e));
    let file = File::options().append(true).create(true).mode(0o600).open(database).map_err(failed)?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)
}

async fn lock(database: &Path) -> Result<File> {
    let path = database.with_extension("lock");
    let failed = |e: std::io::Error| Error::Database(sqlx::Error::Io(e));
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let file = File::create(&path).map_err(failed)?;
    let start = Instant::now();
    while file.try_lock().is_err() {
        if start.elapsed() > LOCK_GRACE {
            return Err(Error::FileInUse { path: database.display().to_string() });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(file)
}
