//! Leases: one process at a time follows a chain or sweeps. For efficiency; two at once would only waste work.

use std::sync::Arc;

use chrono::Duration;
use sqlx::{Connection, PgConnection, Postgres, pool::PoolConnection};
use tokio::sync::Mutex;

use crate::db::{Conn, Db, Pools};
use crate::point::Point;
use crate::{Result, on};

/// How long a lease holds without being renewed.
pub const LEASE_SECONDS: i64 = 15;

/// This process, as a holder of leases. On PostgreSQL it keeps a session lock, whose end frees its leases at once.
#[derive(Clone, Debug)]
pub struct Holder {
    name: String,
    key: i64,
    session: Arc<Mutex<Option<PgConnection>>>,
}

impl Holder {
    /// A holder with a name that was never used before.
    pub fn new(db: &Db) -> Self {
        let bytes = db.ids().bytes();
        let key =
            i64::from_be_bytes([bytes[0] & 0x7f, bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]);
        Self { name: db.ids().new_id("holder", db.clock().now()), key, session: Arc::default() }
    }

    /// The name, unique to this start of the process.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes or renews a lease; false while another holder lives.
    pub async fn hold(&self, db: &Db, lease: &str) -> Result<bool> {
        self.keep_session(db).await?;
        let mut tx = db.begin().await?;
        let (now, until) = (tx.now(), tx.now() + Duration::seconds(LEASE_SECONDS));
        // The two texts differ because only a server has other sessions whose locks tell that their process is gone.
        let taken = match &mut tx.conn {
            Conn::Sqlite(conn) => sqlx::query(
                "insert into leases (name, holder, holder_key, until) values ($1, $2, $3, $4) on conflict (name) do update set \
                 holder = excluded.holder, holder_key = excluded.holder_key, until = excluded.until \
                 where leases.holder = excluded.holder or leases.until < $5")
                .bind(lease).bind(&self.name).bind(self.key).bind(until).bind(now).execute(&mut **conn).await?.rows_affected(),
            Conn::Postgres(conn) => sqlx::query(
                "insert into leases (name, holder, holder_key, until) values ($1, $2, $3, $4) on conflict (name) do update set \
                 holder = excluded.holder, holder_key = excluded.holder_key, until = excluded.until \
                 where leases.holder = excluded.holder or leases.until < $5 or not exists (select 1 from pg_locks where \
                 locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()) and \
                 classid = (leases.holder_key >> 32)::oid and objid = (leases.holder_key & 4294967295)::oid and granted)")
                .bind(lease).bind(&self.name).bind(self.key).bind(until).bind(now).execute(&mut **conn).await?.rows_affected(),
        };
        tx.commit(Point::Lease).await?;
        Ok(taken == 1)
    }

    /// Gives every lease back, at the end of a graceful stop.
    pub async fn release_all(&self, db: &Db) -> Result<()> {
        let mut tx = db.begin().await?;
        on!(tx, conn => sqlx::query("delete from leases where holder = $1").bind(&self.name).execute(conn).await?.rows_affected());
        tx.commit(Point::Lease).await
    }

    async fn keep_session(&self, db: &Db) -> Result<()> {
        let Pools::Postgres(pool) = db.pools() else { return Ok(()) };
        let mut session = self.session.lock().await;
        if let Some(connection) = session.as_mut()
            && connection.ping().await.is_ok()
        {
            return Ok(());
        }
        // The connection leaves the pool: its end must be the end of this process, not of a pool's idle time.
        let pooled: PoolConnection<Postgres> = pool.acquire().await?;
        let mut connection = pooled.detach();
        sqlx::query("select pg_advisory_lock($1)").bind(self.key).execute(&mut connection).await?;
        *session = Some(connection);
        Ok(())
    }
}

/// Clears all leases: SQLite serves one process, so whoever held them is gone.
pub async fn clear(db: &Db) -> Result<()> {
    let mut tx = db.begin().await?;
    on!(tx, conn => sqlx::query("delete from leases").execute(conn).await?.rows_affected());
    tx.commit(Point::Lease).await
}
