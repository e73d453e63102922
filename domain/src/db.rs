//! Both databases behind one transaction type. SQLite is embedded, PostgreSQL is a server; the URL decides.

mod signals;
mod sqlite;

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgPool, SqlitePool};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::id::{Id, IdKind, Ids};
use crate::meanwhile::{self, Call};
use crate::point::{self, Point, When};
use crate::recorder::{self, Recorder};
pub use crate::sql::Conn;
pub(crate) use crate::sql::PONG;
use crate::sql::{COMMITTED, ConnectionCache, Gathered, Server, answered, pool, sql};
use crate::{Error, Result, viewer};
pub use signals::PUSHED;
use signals::{News, Signals};

/// The time limit for the begin of a transaction: the wait for a connection, and one answer.
const BEGUN: Duration = Duration::from_secs(15);
/// Timeout of a statement in an HTTP request.
const REQUEST_STATEMENT_MILLISECONDS: &str = "5000";

/// Our own writes are synced to disk at commit. The queue's writes (claims and acknowledgements) use the connection's default: a
/// power cut can lose the last of them, which repeats a wake, and a repeated wake changes nothing.
const SQLITE_BEGIN: &str = "pragma synchronous = full; begin immediate";
/// As the queue's own writes.
const SQLITE_BEGIN_UNSYNCED: &str = "begin immediate";
/// A database with the clock and the id source of everything written to it.
#[derive(Clone, Debug)]
pub struct Db {
    pools: Pools,
    cache: ConnectionCache,
    clock: Clock,
    ids: Ids,
    signals: Signals,
    // Held for the life of the process: a second process on the same file would be a second engine on one SQLite.
    _lock: Option<Arc<File>>,
}

/// The connection pools.
#[derive(Clone, Debug)]
pub enum Pools {
    /// One connection writes, so that writers queue in the pool and not on file locks; the others read in parallel.
    Sqlite {
        /// The writer.
        write: SqlitePool,
        /// The readers.
        read: SqlitePool,
    },
    /// PostgreSQL.
    Postgres(PgPool),
}

/// An open transaction. If it is dropped without [`Tx::commit`], it is rolled back.
pub struct Tx {
    /// The connection, for the queue and for statements that differ between the databases.
    pub conn: Conn,
    now: DateTime<Utc>,
    clock: Clock,
    ids: Ids,
    signals: Signals,
    news: News,
    // What this transaction does, for the audit log.
    recorder: Box<Recorder>,
}

// A statement runs on the connection of a transaction: `sql(…).execute(tx)`.
impl Deref for Tx {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.conn
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.conn
    }
}

impl Db {
    /// Opens `sqlite:path`, `sqlite::memory:` or `postgres://…`.
    pub async fn open(url: &str, connections_max: u32, clock: Clock, ids: Ids) -> Result<Self> {
        if url.starts_with("postgres") {
            // A process that is stopped inside a transaction must not keep its row locks for longer than a lease. JIT is off because no
            // statement here is long enough to be worth compiling, and compiling takes half a second. What work touches lies in memory: with
            // the default page cost, which is that of a turning disk, the planner prefers whole reads and sorts to indexes.
            let options = PgConnectOptions::from_str(url)?.statement_cache_capacity(sqlite::STATEMENTS).options([
                ("statement_timeout", "30000"),
                ("idle_in_transaction_session_timeout", "10000"),
                ("synchronous_commit", "on"),
                ("jit", "off"),
                ("random_page_cost", "1.1"),
            ]);
            let pool = pool(connections_max).connect_with(options).await?;
            let (cache, signals) = (ConnectionCache::of_engine(connections_max), Signals::shared(&pool));
            return Ok(Self { pools: Pools::Postgres(pool), cache, clock, ids, signals, _lock: None });
        }
        let sqlite::Opened { write, read, lock } = sqlite::open(url, connections_max).await?;
        let (cache, signals) = (ConnectionCache::default(), Signals::default());
        Ok(Self { pools: Pools::Sqlite { write, read }, cache, clock, ids, signals, _lock: lock })
    }

    /// The same database for HTTP requests. On PostgreSQL they get their own connections with a shorter statement timeout than the
    /// engine's.
    pub fn for_requests(&self, connections_max: u32) -> Self {
        let Pools::Postgres(shared) = &self.pools else { return self.clone() };
        let options = shared.connect_options().as_ref().clone();
        let options = options.options([("statement_timeout", REQUEST_STATEMENT_MILLISECONDS)]);
        let pools = Pools::Postgres(pool(connections_max).connect_lazy_with(options));
        Self { pools, cache: ConnectionCache::of_requests(connections_max), ..self.clone() }
    }

    /// The pools, for the queue, which has its own statements.
    pub const fn pools(&self) -> &Pools {
        &self.pools
    }

    /// The clock of this database.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The id source of this database.
    pub const fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Whether several processes can use it at once.
    pub const fn is_shared(&self) -> bool {
        matches!(self.pools, Pools::Postgres(_))
    }

    /// A receiver that changes when a commit of this process has pushed a wake to a queue.
    pub fn wake_signal(&self, queue: &'static str) -> watch::Receiver<u64> {
        self.signals.of_queue(queue)
    }

    /// A receiver that changes when a commit of this process has written an event.
    pub fn event_signal(&self) -> watch::Receiver<u64> {
        self.signals.of_events()
    }

    /// Notifies this process of a wake that another process pushed to a queue.
    pub fn notify_wake(&self, queue: &str) {
        self.signals.ring(queue);
    }

    /// Begins a write transaction.
    pub async fn begin(&self) -> Result<Tx> {
        self.begin_with(SQLITE_BEGIN).boxed().await
    }

    /// Begins a write transaction with its first statement that locks or writes, on PostgreSQL. If gathered writes are all that it has, they
    /// are one statement, which commits itself. Then [`Tx::commit`] answers [`Error::Stale`] whichever of their guards fails: the caller
    /// tries again with [`Db::begin`], and is told.
    pub async fn begin_late(&self) -> Result<Tx> {
        let Pools::Postgres(pool) = &self.pools else { return self.begin().await };
        let begin = async {
            meanwhile::at(Call::Begin).await;
            Ok(self.tx(on_server(answered(BEGUN, self.cache.begin_late(pool)).await?)))
        };
        begin.boxed().await
    }

    /// Begins a write transaction that SQLite does not sync, for which its one writer would need milliseconds. A power cut can lose the last
    /// of them, in their order, so only what may then be done once more is written like this. A process that ends loses nothing.
    pub async fn begin_unsynced(&self) -> Result<Tx> {
        self.begin_with(SQLITE_BEGIN_UNSYNCED).boxed().await
    }

    // Futures that hold those of the drivers are boxed for the reason that `crate::sql` gives.
    async fn begin_with(&self, sqlite_begin: &'static str) -> Result<Tx> {
        meanwhile::at(Call::Begin).await;
        let conn = match &self.pools {
            Pools::Sqlite { write, .. } => Conn::Sqlite(write.begin_with(sqlite_begin).await?, Gathered::none()),
            Pools::Postgres(pool) => on_server(answered(BEGUN, self.cache.begin(pool, "begin".to_owned())).await?),
        };
        Ok(self.tx(conn))
    }

    /// Begins to read. On SQLite it is a snapshot; on PostgreSQL each statement sees the latest commits.
    pub async fn read(&self) -> Result<Tx> {
        let begin = async {
            match &self.pools {
                // The rows that an investor may see are a setting of a transaction.
                Pools::Postgres(pool) if !viewer::is_limited() => {
                    meanwhile::at(Call::Begin).await;
                    Ok(self.tx(on_server(answered(BEGUN, self.cache.acquire(pool)).await?)))
                }
                _ => self.read_with("begin").await,
            }
        };
        begin.boxed().await
    }

    /// Begins a read transaction of which every statement sees the same moment, on both databases.
    pub async fn read_one_moment(&self) -> Result<Tx> {
        self.read_with("begin isolation level repeatable read, read only").boxed().await
    }

    async fn read_with(&self, begin: &'static str) -> Result<Tx> {
        meanwhile::at(Call::Begin).await;
        let conn = match &self.pools {
            Pools::Sqlite { read, .. } => Conn::Sqlite(read.begin().await?, Gathered::none()),
            Pools::Postgres(pool) => {
                let begin = viewer::begin(begin).unwrap_or_else(|| begin.to_owned());
                on_server(answered(BEGUN, self.cache.begin(pool, begin)).await?)
            }
        };
        Ok(self.tx(conn))
    }

    fn tx(&self, conn: Conn) -> Tx {
        Tx {
            conn,
            now: self.clock.now(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            signals: self.signals.clone(),
            news: News::default(),
            recorder: Box::new(Recorder::begin()),
        }
    }

    /// Whether the database answers now.
    pub async fn answers(&self) -> bool {
        let asked = async {
            let mut tx = self.read().await?;
            sql("select 1").scalar::<i32>(&mut tx).await
        };
        tokio::time::timeout(PONG * 2, asked).await.is_ok_and(|answer| answer.is_ok())
    }

    /// Closes all connections once they are returned.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Pools::Postgres(pool) => {
                self.cache.close();
                pool.close().await;
            }
        }
    }
}

impl Tx {
    /// Its clock.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The time of this transaction; everything it writes has this time.
    pub const fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Creates an id.
    pub fn new_id<K: IdKind>(&self) -> Id<K> {
        self.ids.new_id(self.now)
    }

    /// Notifies the workers of a queue after the commit, because a wake was pushed that is due now.
    pub fn notify_after_commit(&mut self, queue: &'static str) {
        self.news.queues.insert(queue);
    }

    /// Notifies other processes on a channel after the commit.
    pub fn notify_others_after_commit(&mut self, channel: &'static str, text: String) {
        self.news.elsewhere.insert((channel, text));
    }

    /// Notifies those who wait for events after the commit, because one was written.
    pub(crate) const fn announce_after_commit(&mut self) {
        self.news.has_event = true;
    }

    /// Lets the database run writes together that follow each other without a read. A guard that fails may then be told later, by
    /// the next read or by the commit. Returns whether it did so before.
    pub const fn gather_writes(&mut self) -> bool {
        self.conn.gather(true)
    }

    /// Runs the gathered writes, so that a guard of theirs that fails is told here.
    pub async fn run_writes(&mut self) -> Result<()> {
        self.conn.flush().await
    }

    /// Runs the gathered writes, and gathers no more.
    pub(crate) async fn run_gathered(&mut self) -> Result<()> {
        self.conn.flush().await?;
        self.conn.gather(false);
        Ok(())
    }

    /// Sets a savepoint for [`Tx::rollback_to_savepoint`].
    pub async fn savepoint(&mut self) -> Result<()> {
        sql("savepoint marked").execute(self).await?;
        self.recorder.savepoint();
        Ok(())
    }

    /// Rolls back to the savepoint of [`Tx::savepoint`]; earlier writes stay.
    pub async fn rollback_to_savepoint(&mut self) -> Result<()> {
        self.conn.drop_gathered();
        sql("rollback to savepoint marked").execute(self).await?;
        self.recorder.rollback_to_savepoint();
        Ok(())
    }

    /// The record of this transaction for the audit log.
    pub(crate) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Excludes this commit from the audit log, because it only counts an attempt before its outcome is known.
    pub fn exclude_from_audit(&mut self) {
        self.recorder.exclude_from_audit();
    }

    /// Commits, with the audit entries. The point names this commit for tests that crash there.
    pub async fn commit(mut self, point: Point) -> Result<()> {
        let commit = async {
            self.end_part(point).await?;
            self.commit_parts(&[point]).await
        };
        commit.boxed().await
    }

    /// Ends the part of one move in a commit that several moves share, with its audit entries.
    pub async fn end_part(&mut self, point: Point) -> Result<()> {
        let entries = self.recorder.entries(point, self.now, || self.new_id());
        *self.recorder = Recorder::begin();
        recorder::write(&mut self.conn, &entries).await?;
        // What waits in a transaction that has not begun is its commit.
        if self.conn.is_late() { Ok(()) } else { self.conn.flush().await }
    }

    /// Commits parts that have ended.
    pub async fn commit_parts(self, points: &[Point]) -> Result<()> {
        point::reach(points, When::Before).await?;
        match self.conn {
            Conn::Sqlite(transaction, _) => transaction.commit().await?,
            Conn::Postgres(mut server, gathered) => {
                meanwhile::at(Call::Commit).await;
                match server.is_late() {
                    true => gathered.commit(&mut server).await?,
                    false => answered(COMMITTED, server.commit()).await?,
                }
            }
        }
        point::reach(points, When::After).await?;
        self.signals.tell(self.news);
        Ok(())
    }
}

/// Checks that a guarded update changed its row; if not, the caller must read again.
pub fn expect_updated(rows: u64, what: &'static str, id: &str) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::Stale { what, id: id.to_owned() }) }
}

/// Checks that a guarded update changed all its rows; the first id names them in the error.
pub fn expect_all_updated(rows: u64, expected: usize, what: &'static str, first: &str) -> Result<()> {
    if rows == expected as u64 { Ok(()) } else { Err(Error::Stale { what, id: first.to_owned() }) }
}

const fn on_server(server: Server) -> Conn {
    Conn::Postgres(server, Gathered::none())
}
