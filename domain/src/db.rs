//! Both databases behind one transaction type. SQLite is embedded, PostgreSQL is the server; the URL decides.

use std::fs::File;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Connection, PgPool, Postgres, Sqlite, SqlitePool, Transaction};
use tokio::sync::watch;

use crate::audit::{self, Doing};
use crate::clock::Clock;
use crate::id::Ids;
use crate::point::{self, Point, When};
use crate::{Error, Result, wall};

/// How long a connection to a server may have been idle before it is asked whether it still stands.
const PROBED_AFTER: Duration = Duration::from_millis(100);
/// How long the lock of a file is waited for: a process that ends, or one that was just begun by a program that has it, holds it a moment longer.
const LOCK_GRACE: Duration = Duration::from_secs(1);
/// How long a statement of a request may take.
const REQUEST_STATEMENT_MILLISECONDS: &str = "5000";

/// Every write of ours is on the disk before it counts. The queue's own writes, claims and acknowledgements of wakes, go by the
/// connection's default: after a power cut the last of them may be missing, which repeats a wake, and a repeated wake changes nothing.
const SQLITE_BEGIN: &str = "pragma synchronous = full; begin immediate";

/// A database, with the clock and the ids that everything written to it uses.
#[derive(Clone, Debug)]
pub struct Db {
    pools: Pools,
    clock: Clock,
    ids: Ids,
    // Rung when a commit has pushed a wake, for the workers of this process; those of others hear it from the server.
    bell: Arc<watch::Sender<u64>>,
    // Held for the life of the process: a second one on the same file would be two engines on one SQLite.
    _lock: Option<Arc<File>>,
}

/// The connections of one engine.
#[derive(Clone, Debug)]
pub enum Pools {
    /// One connection writes, so that nobody waits for a lock; the others read beside it.
    Sqlite {
        /// The writer.
        write: SqlitePool,
        /// The readers.
        read: SqlitePool,
    },
    /// A server.
    Postgres(PgPool),
}

/// An open transaction. Dropped without [`Tx::commit`], it never happened.
pub struct Tx {
    /// The connection, for [`on!`](crate::on) and for the queue.
    pub conn: Conn,
    now: DateTime<Utc>,
    ids: Ids,
    bell: Arc<watch::Sender<u64>>,
    rings: bool,
    // What is done here of the act that the task is about, or by the engine of itself.
    doing: Box<Doing>,
}

/// The transaction of one engine.
pub enum Conn {
    /// SQLite's.
    Sqlite(Transaction<'static, Sqlite>),
    /// PostgreSQL's.
    Postgres(Transaction<'static, Postgres>),
}

/// Runs the same statement on whichever database the transaction is of: `on!(tx, conn => sqlx::query("…").execute(conn).await)`.
#[macro_export]
macro_rules! on {
    ($tx:expr, $conn:ident => $body:expr) => {
        match &mut $tx.conn {
            $crate::db::Conn::Sqlite(transaction) => {
                let $conn = &mut **transaction;
                $body
            }
            $crate::db::Conn::Postgres(transaction) => {
                let $conn = &mut **transaction;
                $body
            }
        }
    };
}

impl Db {
    /// Opens `sqlite:path`, `sqlite::memory:` or `postgres://…`.
    pub async fn open(url: &str, connections_max: u32, clock: Clock, ids: Ids) -> Result<Self> {
        if url.starts_with("postgres") {
            // A process that is stopped inside a transaction must not hold its rows for longer than a lease. And no statement here is long
            // enough to be worth compiling, which takes half a second where the planner thinks otherwise.
            let options = PgConnectOptions::from_str(url)?.options([
                ("statement_timeout", "30000"),
                ("idle_in_transaction_session_timeout", "10000"),
                ("synchronous_commit", "on"),
                ("jit", "off"),
            ]);
            let pool = server_pool(connections_max).connect_with(options).await?;
            return Ok(Self { pools: Pools::Postgres(pool), clock, ids, bell: Arc::default(), _lock: None });
        }
        let in_memory = url.contains(":memory:");
        let options = SqliteConnectOptions::from_str(url)?
            .create_if_missing(true)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10))
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal);
        let lock = if in_memory { None } else { Some(Arc::new(lock(options.get_filename()).await?)) };
        let write = file_pool(1).min_connections(1).idle_timeout(None).max_lifetime(None);
        // A file in this process needs no asking whether it is still there.
        // Back to the queue's pace: see SQLITE_BEGIN.
        let write = write.after_release(|connection, _| {
            Box::pin(async move { sqlx::query("pragma synchronous = normal").execute(connection).await.map(|_| true) })
        });
        let write = write.connect_with(options.clone()).await?;
        let read = if in_memory {
            write.clone()
        } else {
            file_pool(connections_max.clamp(1, 4)).connect_with(options.read_only(true)).await?
        };
        Ok(Self { pools: Pools::Sqlite { write, read }, clock, ids, bell: Arc::default(), _lock: lock })
    }

    /// The same database for those who answer requests. On a server they have connections of their own, on which a statement ends before the
    /// patience of whoever asked does; the engine's may take longer.
    pub fn for_requests(&self, connections_max: u32) -> Self {
        let pools = match &self.pools {
            Pools::Postgres(pool) => {
                let options = pool.connect_options().as_ref().clone();
                let options = options.options([("statement_timeout", REQUEST_STATEMENT_MILLISECONDS)]);
                Pools::Postgres(server_pool(connections_max).connect_lazy_with(options))
            }
            sqlite @ Pools::Sqlite { .. } => sqlite.clone(),
        };
        Self { pools, ..self.clone() }
    }

    /// The pools, for the queue, which brings its own statements.
    pub const fn pools(&self) -> &Pools {
        &self.pools
    }

    /// The clock that this database writes by.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The source of its ids.
    pub const fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Whether several processes may share it.
    pub const fn is_shared(&self) -> bool {
        matches!(self.pools, Pools::Postgres(_))
    }

    /// Changes whenever a commit of this process has pushed a wake.
    pub fn bell(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    /// Rings the bell for a wake that another process pushed.
    pub fn ring(&self) {
        self.bell.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Begins to write.
    pub async fn begin(&self) -> Result<Tx> {
        let conn = match &self.pools {
            Pools::Sqlite { write, .. } => Conn::Sqlite(write.begin_with(SQLITE_BEGIN).await?),
            Pools::Postgres(pool) => Conn::Postgres(pool.begin().await?),
        };
        Ok(self.tx(conn))
    }

    /// Begins to read: one view of everything until it is dropped.
    pub async fn read(&self) -> Result<Tx> {
        let conn = match &self.pools {
            Pools::Sqlite { read, .. } => Conn::Sqlite(read.begin().await?),
            Pools::Postgres(pool) => Conn::Postgres(match wall::begin() {
                Some(begin) => pool.begin_with(AssertSqlSafe(begin)).await?,
                None => pool.begin().await?,
            }),
        };
        Ok(self.tx(conn))
    }

    fn tx(&self, conn: Conn) -> Tx {
        Tx {
            conn,
            now: self.clock.now(),
            ids: self.ids.clone(),
            bell: self.bell.clone(),
            rings: false,
            doing: Box::new(Doing::begin()),
        }
    }

    /// Closes all connections, after those in use are given back.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// The time of everything in this commit.
    pub const fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// A new id.
    pub fn new_id(&self, prefix: &str) -> String {
        self.ids.new_id(prefix, self.now)
    }

    /// Rings the bell after the commit: a wake was pushed that is due now.
    pub const fn ring_after_commit(&mut self) {
        self.rings = true;
    }

    /// Marks a place to which [`Tx::rewind`] goes back.
    pub async fn mark(&mut self) -> Result<()> {
        crate::on!(self, conn => sqlx::query("savepoint marked").execute(conn).await?.rows_affected());
        self.doing.mark();
        Ok(())
    }

    /// Forgets everything that was written since [`Tx::mark`]; what was written before stays.
    pub async fn rewind(&mut self) -> Result<()> {
        crate::on!(self, conn => sqlx::query("rollback to savepoint marked").execute(conn).await?.rows_affected());
        self.doing.rewind();
        Ok(())
    }

    /// What is done here, for its lines in the audit log.
    pub(crate) fn doing(&mut self) -> &mut Doing {
        &mut self.doing
    }

    /// This commit counts an attempt before its outcome is known: it is beside the act that was asked for, and gets no line.
    pub fn set_aside(&mut self) {
        self.doing.set_aside();
    }

    /// Makes it durable, with the lines of the audit log. The point names this write for the tests that crash there.
    pub async fn commit(mut self, point: Point) -> Result<()> {
        let doing = std::mem::take(&mut self.doing);
        audit::write(&mut self, &doing, point).await?;
        point::pass(point, When::Before)?;
        match self.conn {
            Conn::Sqlite(transaction) => transaction.commit().await?,
            Conn::Postgres(transaction) => transaction.commit().await?,
        }
        if self.rings {
            self.bell.send_modify(|n| *n = n.wrapping_add(1));
        }
        point::pass(point, When::After)
    }
}

/// Demands that a guarded update touched its row, and tells the caller to read again if it did not.
pub fn touched(rows: u64, what: &'static str, id: &str) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::Stale { what, id: id.to_owned() }) }
}

/// Demands that a guarded update of several rows touched them all; the first of them names the loss.
pub fn all_touched(rows: u64, expected: usize, what: &'static str, first: &str) -> Result<()> {
    if rows == expected as u64 { Ok(()) } else { Err(Error::Stale { what, id: first.to_owned() }) }
}

fn file_pool(connections_max: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new().max_connections(connections_max).test_before_acquire(false).before_acquire(
        |connection, _| {
            // When the disk fails SQLite ends the transaction by itself, and the driver believes for ever that it is open: such a
            // connection is given up for a new one.
            let sound = !connection.is_in_transaction();
            Box::pin(async move { Ok(sound) })
        },
    )
}

fn server_pool(connections_max: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(Duration::from_secs(10))
        .test_before_acquire(false)
        .before_acquire(|connection, about| {
            Box::pin(async move {
                // One that was in use a moment ago is alive: asking it would cost every transaction a round trip.
                if about.idle_for > PROBED_AFTER {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
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
