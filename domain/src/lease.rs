//! Leases: one process at a time follows a chain or runs the sweep. Two at once would only waste work.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use sqlx::{Connection, PgConnection, Postgres, pool::PoolConnection};
use tokio::sync::Mutex;

use crate::Result;
use crate::db::{Conn, Db, PONG, Pools, Tx};
use crate::id::of;
use crate::point::Point;
use crate::sql::{answered, sql};

/// How long a lease lasts without renewal.
pub const LEASE_SECONDS: i64 = 15;

/// A process that holds leases. On PostgreSQL it keeps a session lock, and the end of its session frees its leases at once.
#[derive(Clone, Debug)]
pub struct Holder {
    name: String,
    key: i64,
    session: Arc<Mutex<Option<PgConnection>>>,
}

impl Holder {
    /// A holder with a new name.
    pub fn new(db: &Db) -> Self {
        let bytes = db.ids().bytes();
        // Positive, because its two halves are compared with the unsigned numbers of `pg_locks`.
        let key =
            i64::from_be_bytes([bytes[0] & 0x7f, bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]);
        Self { name: db.ids().new_id::<of::Holder>(db.clock().now()).into(), key, session: Arc::default() }
    }

    /// The name, unique to this run of the process.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes or renews a lease. False while another holder has it.
    pub async fn acquire(&self, db: &Db, lease: &str) -> Result<bool> {
        self.keep_session(db).await?;
        let mut tx = db.begin().await?;
        let (now, until) = (tx.now(), tx.now() + Duration::seconds(LEASE_SECONDS));
        // Two statements, because only PostgreSQL can tell from a session lock that a holder is gone.
        let mut take = sql("insert into leases (name, holder, holder_key, until) values ($1, $2, $3, $4)
             on conflict (name) do update
             set holder = excluded.holder, holder_key = excluded.holder_key, until = excluded.until
             where leases.holder = excluded.holder or leases.until < $5");
        if matches!(tx.conn, Conn::Postgres(..)) {
            take = take.push(
                " or not exists (select 1 from pg_locks where locktype = 'advisory' and granted
                    and database = (select oid from pg_database where datname = current_database())
                    and classid = (leases.holder_key >> 32)::oid
                    and objid = (leases.holder_key & 4294967295)::oid)",
            );
        }
        let taken = take.bind((lease, &self.name, self.key, until, now)).execute(&mut tx).await?;
        tx.commit(Point::Lease).await?;
        Ok(taken == 1)
    }

    /// Releases all leases at a graceful stop.
    pub async fn release_all(&self, db: &Db) -> Result<()> {
        let mut tx = db.begin().await?;
        sql("delete from leases where holder = $1").bind(&self.name).execute(&mut tx).await?;
        tx.commit(Point::Lease).await
    }

    async fn keep_session(&self, db: &Db) -> Result<()> {
        let Pools::Postgres(pool) = db.pools() else { return Ok(()) };
        let mut session = self.session.lock().await;
        if let Some(connection) = session.as_mut()
            && answered(PONG, connection.ping()).await.is_ok()
        {
            return Ok(());
        }
        // Dropped and not closed: nobody may answer at its other end.
        *session = None;
        // The connection leaves the pool, so that it ends with the process and not after an idle time.
        let pooled: PoolConnection<Postgres> = pool.acquire().await?;
        let mut connection = pooled.detach();
        answered(PONG, sqlx::query("select pg_advisory_lock($1)").bind(self.key).execute(&mut connection)).await?;
        *session = Some(connection);
        Ok(())
    }
}

/// A lease, as the health check shows it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Lease {
    pub name: String,
    pub until: DateTime<Utc>,
}

/// All leases. A loop renews its lease, so an overdue one shows that nobody does its work.
pub async fn all(tx: &mut Tx) -> Result<Vec<Lease>> {
    sql("select name, until from leases order by name").rows(tx).await
}

/// Deletes all leases. SQLite serves one process, so any holder is gone.
pub async fn clear(db: &Db) -> Result<()> {
    let mut tx = db.begin().await?;
    sql("delete from leases").execute(&mut tx).await?;
    tx.commit(Point::Lease).await
}
