//! Connections to a PostgreSQL server. They are kept after use for a moment: the pool asks the server twice whenever one is returned.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use super::answer::{ANSWER, answered};

/// The time limit for a ping, and for the end of a transaction. A dead connection costs this once and is then replaced.
pub(crate) const PONG: Duration = Duration::from_secs(5);
/// A connection that was idle for longer is pinged before use.
const PROBED_AFTER: Duration = Duration::from_millis(100);
/// The time limit for the ping before a connection is used. Several dead ones may be tried before a live one.
const PROBE: Duration = Duration::from_secs(2);
/// The time limit for the wait for a connection.
const FREE: Duration = Duration::from_secs(10);
/// How long a connection is kept after its last use, at most twice.
const KEPT: Duration = Duration::from_secs(1);
/// After this time in use, and kept in between, a connection goes back to the pool, which may replace it.
const REUSED: Duration = Duration::from_secs(60);

/// Acquires connections of a pool, and keeps them for reuse.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionCache(Option<Arc<KeptConnections>>);

#[derive(Debug)]
struct KeptConnections {
    /// At most as many as the pool has connections. A permit without a kept connection takes one from the pool.
    permits: Arc<Semaphore>,
    idle: Mutex<Idles>,
}

#[derive(Debug, Default)]
struct Idles {
    /// The one that was used last is the next to be used.
    connections: Vec<Idle>,
    /// Whether a task gives back those that nobody uses.
    is_watched: bool,
}

#[derive(Debug)]
struct Idle {
    connection: PoolConnection<Postgres>,
    acquired_at: Instant,
    since: Instant,
}

/// Where a connection is kept after use, and the permit to have one.
type Origin = (Weak<KeptConnections>, OwnedSemaphorePermit);

/// A connection to a server, in a transaction or for single statements.
pub struct Server {
    connection: Option<PoolConnection<Postgres>>,
    origin: Option<Origin>,
    acquired_at: Instant,
    transaction: Transaction,
    /// Whether the last statement was answered. Otherwise its answer may still come.
    rests: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transaction {
    /// Each statement is its own.
    None,
    /// It begins with the first statement that locks or writes.
    Late,
    Open,
}

impl ConnectionCache {
    /// For requests, which have a pool of their own with this many connections.
    pub fn of_requests(connections_max: u32) -> Self {
        Self::of(connections_max.max(1))
    }

    /// For the engine. It leaves some connections of the pool to the queue and the listener, which take theirs from the pool itself. Of a
    /// small pool it keeps none.
    pub fn of_engine(connections_max: u32) -> Self {
        let others = (connections_max / 3).max(3);
        if connections_max >= others * 2 { Self::of(connections_max - others) } else { Self::default() }
    }

    fn of(connections_max: u32) -> Self {
        let permits = Arc::new(Semaphore::new(usize::try_from(connections_max).unwrap_or(1)));
        Self(Some(Arc::new(KeptConnections { permits, idle: Mutex::default() })))
    }

    /// A connection for single statements.
    pub async fn acquire(&self, pool: &PgPool) -> sqlx::Result<Server> {
        let Some(kept) = &self.0 else { return Ok(Server::of(pool.acquire().await?, None, Instant::now())) };
        let permit = timeout(FREE, kept.permits.clone().acquire_owned()).await;
        let permit = permit.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        let origin = Some((Arc::downgrade(kept), permit));
        while let Some(Idle { mut connection, acquired_at, since }) = kept.take() {
            if since.elapsed() > PROBED_AFTER && answered(PROBE, connection.ping()).await.is_err() {
                // Out of the pool and not closed: nobody may answer at its other end.
                drop(connection.detach());
                continue;
            }
            return Ok(Server::of(connection, origin, acquired_at));
        }
        Ok(Server::of(pool.acquire().await?, origin, Instant::now()))
    }

    /// A connection in a transaction.
    pub async fn begin(&self, pool: &PgPool, begin: String) -> sqlx::Result<Server> {
        let mut server = self.acquire(pool).await?;
        server.begin(begin).await?;
        Ok(server)
    }

    /// A connection in a transaction that begins with the first statement that locks or writes.
    pub async fn begin_late(&self, pool: &PgPool) -> sqlx::Result<Server> {
        let mut server = self.acquire(pool).await?;
        server.transaction = Transaction::Late;
        Ok(server)
    }

    /// Gives all connections back to the pool, from now on at once.
    pub fn close(&self) {
        if let Some(kept) = &self.0 {
            kept.permits.close();
            kept.idle().connections.clear();
        }
    }
}

impl KeptConnections {
    fn take(&self) -> Option<Idle> {
        self.idle().connections.pop()
    }

    fn keep(self: &Arc<Self>, connection: PoolConnection<Postgres>, acquired_at: Instant) {
        let mut idle = self.idle();
        if self.permits.is_closed() {
            return;
        }
        idle.connections.push(Idle { connection, acquired_at, since: Instant::now() });
        if !std::mem::replace(&mut idle.is_watched, true) {
            tokio::spawn(give_back(Arc::downgrade(self)));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idles> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeptConnections {
    /// The pool takes connections back in a task. Where no runtime is left to run it, they are closed here.
    fn drop(&mut self) {
        if Handle::try_current().is_err() {
            let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
            idle.connections.drain(..).for_each(|one| drop(one.connection.detach()));
        }
    }
}

/// Gives connections that nobody needs any more back to the pool, until none is kept.
async fn give_back(kept: Weak<KeptConnections>) {
    loop {
        sleep(KEPT).await;
        let Some(kept) = kept.upgrade() else { return };
        let mut idle = kept.idle();
        idle.connections.retain(|one| one.since.elapsed() < KEPT);
        idle.is_watched = !idle.connections.is_empty();
        if !idle.is_watched {
            return;
        }
    }
}

impl Server {
    fn of(connection: PoolConnection<Postgres>, origin: Option<Origin>, acquired_at: Instant) -> Self {
        Self { connection: Some(connection), origin, acquired_at, transaction: Transaction::None, rests: true }
    }

    /// Whether its statements are one transaction.
    pub(crate) const fn has_transaction(&self) -> bool {
        !matches!(self.transaction, Transaction::None)
    }

    /// Whether its transaction has not begun.
    pub(crate) const fn is_late(&self) -> bool {
        matches!(self.transaction, Transaction::Late)
    }

    async fn begin(&mut self, begin: String) -> sqlx::Result<()> {
        self.transaction = Transaction::Open;
        sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut **self).await?;
        self.rest();
        Ok(())
    }

    /// Begins a late transaction, because a statement locks or writes.
    pub(super) async fn begin_if_late(&mut self) -> sqlx::Result<()> {
        if self.is_late() { answered(ANSWER, self.begin("begin".to_owned())).await } else { Ok(()) }
    }

    /// A statement was answered.
    pub(crate) const fn rest(&mut self) {
        self.rests = true;
    }

    /// Commits, if it is in a transaction.
    pub async fn commit(mut self) -> sqlx::Result<()> {
        if self.transaction == Transaction::Open {
            sqlx::raw_sql("commit").execute(&mut *self).await?;
            self.transaction = Transaction::None;
            self.rest();
        }
        Ok(())
    }
}

impl Deref for Server {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("it is taken only when it is dropped")
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.rests = false;
        self.connection.as_mut().expect("it is taken only when it is dropped")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let (origin, acquired_at) = (self.origin.take(), self.acquired_at);
        if self.transaction != Transaction::Open {
            if self.rests {
                end(origin, connection, acquired_at);
            }
            return;
        }
        tokio::spawn(async move {
            let rolled_back = answered(PONG, sqlx::raw_sql("rollback").execute(&mut *connection)).await;
            match rolled_back {
                Ok(_) => end(origin, connection, acquired_at),
                Err(_) => drop(connection.detach()),
            }
        });
    }
}

/// Keeps a connection that is ready for its next use, or gives it back to the pool.
fn end(origin: Option<Origin>, connection: PoolConnection<Postgres>, acquired_at: Instant) {
    if let Some((kept, _permit)) = origin
        && acquired_at.elapsed() < REUSED
        && let Some(kept) = kept.upgrade()
    {
        kept.keep(connection, acquired_at);
    }
}

/// A pool of connections.
pub(crate) fn pool(connections_max: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(FREE)
        .test_before_acquire(false)
        .before_acquire(|connection, about| {
            Box::pin(async move {
                // A connection that was in use a moment ago is alive; a ping would cost every transaction a round trip.
                if about.idle_for > PROBED_AFTER {
                    answered(PROBE, connection.ping()).await?;
                }
                Ok(true)
            })
        })
        .after_release(|connection, _| {
            // Otherwise a dead connection would keep its place in the pool until the network times out.
            Box::pin(async move { answered(PONG, connection.ping()).await.map(|()| true) })
        })
}
