//! The queue's own tables: their migrations, what is changed of them, and the end of old rows.

use std::collections::HashSet;

use chrono::{DateTime, Duration};
use muniment_domain::db::{Conn, Db, Pools, Tx};
use muniment_domain::operation::Operation;
use muniment_domain::rows::portions;
use muniment_domain::sql::{Bind, ToSql, sql};
use muniment_domain::{Error, Result, id};
use sqlx::PgPool;

/// Migrates the queue's own tables. The queue's SQLite set-up would switch durability off, so only its migrations are run.
pub async fn migrate(db: &Db) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| {
        Error::Migration(format!(
            "The queue's migrations failed: {e}. On PostgreSQL the extensions hstore and pgcrypto must be installed \
             (Debian: postgresql-contrib), and the role must own the database."
        ))
    };
    match db.pools() {
        Pools::Sqlite { write, .. } => {
            apalis_sqlite::SqliteStorage::<()>::migrations().run(write).await.map_err(|e| failed(&e))?;
        }
        Pools::Postgres(pool) => {
            apalis_postgres::PostgresStorage::<()>::setup(pool).await.map_err(|e| failed(&e))?;
            drop_trigger(pool).await?;
        }
    }
    index_jobs(db).await
}

/// The table of jobs, which apalis names differently in each database.
pub fn table(conn: &Conn) -> &'static str {
    match conn {
        Conn::Sqlite(..) => "Jobs",
        Conn::Postgres(..) => "apalis.jobs",
    }
}

/// A job to push.
pub struct Job {
    /// Its id.
    pub id: String,
    /// What the worker is given.
    pub payload: Vec<u8>,
    /// When it is due, in seconds on the database's clock.
    pub run_at: i64,
}

impl Job {
    /// Its columns, with the time in the type that this database's table has.
    fn columns(&self, queue: &'static str, run_at: impl ToSql) -> impl Bind {
        (queue, &self.id, &self.payload, "Pending", 0_i64, 1_i64, run_at, 0_i64)
    }
}

/// Pushes jobs. They are a write like all others, so that those of a change are one statement; the library would run one for each. Columns
/// that the library leaves to itself are null, as in its own jobs without metadata.
pub async fn push(tx: &mut Tx, queue: &'static str, jobs: &[Job]) -> Result<()> {
    for portion in portions(tx, jobs) {
        let insert = sql("insert into ").push(table(tx));
        let insert = insert.push(" (job_type, id, job, status, attempts, max_attempts, run_at, priority)");
        let insert = match &tx.conn {
            Conn::Sqlite(..) => insert.values(portion, |job| job.columns(queue, job.run_at)),
            Conn::Postgres(..) => {
                insert.values(portion, |job| job.columns(queue, DateTime::from_timestamp(job.run_at, 0)))
            }
        };
        insert.write(tx).await?;
    }
    Ok(())
}

/// Leaves out the operations whose first job waits for a worker. It has the id of its operation.
pub async fn without_waiting_job<'a>(tx: &mut Tx, mut ops: Vec<&'a Operation>) -> Result<Vec<&'a Operation>> {
    let ids: Vec<String> = ops.iter().map(|op| id::ulid_of(&op.id)).collect();
    let mut waiting = HashSet::new();
    for portion in portions(tx, &ids) {
        let pending =
            sql("select id from ").push(table(tx)).push(" where status = 'Pending' and id in (").list(portion);
        waiting.extend(pending.push(")").scalars::<String>(tx).await?);
    }
    ops.retain(|op| !waiting.contains(&id::ulid_of(&op.id)));
    Ok(ops)
}

/// Which of these queues have a due job.
pub async fn with_due_jobs(tx: &mut Tx, queues: &[&'static str]) -> Result<Vec<String>> {
    let names: Vec<String> = queues.iter().map(|queue| format!("('{queue}')")).collect();
    // apalis stores its times differently in each database.
    let now = if matches!(tx.conn, Conn::Sqlite(..)) { "unixepoch()" } else { "now()" };
    sql("select column1 from (values ")
        .push(names.join(", "))
        .push(") as queues where exists (select 1 from ")
        .push(table(tx))
        .push(" where job_type = column1 and status = 'Pending' and lock_by is null and run_at <= ")
        .push(now)
        .push(")")
        .scalars(tx)
        .await
}

/// Deletes finished jobs and workers that ended long ago, up to a limit of jobs. The queue never does so itself. Returns the number of jobs.
pub async fn prune(tx: &mut Tx, hours: u64, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::hours(hours.cast_signed());
    // apalis names its tables and stores its times differently in each database.
    if matches!(tx.conn, Conn::Sqlite(..)) {
        let oldest = oldest.timestamp();
        let jobs = sql("delete from Jobs where id in (
                 select id from Jobs where status in ('Done', 'Killed') and done_at < $1 order by done_at limit $2)")
        .bind((oldest, limit))
        .execute(tx)
        .await?;
        sql("delete from Workers where last_seen < $1 and not exists (select 1 from Jobs where lock_by = Workers.id)")
            .bind(oldest)
            .execute(tx)
            .await?;
        Ok(jobs)
    } else {
        let jobs = sql("delete from apalis.jobs where id in (
                 select id from apalis.jobs where status in ('Done', 'Killed') and done_at < $1 order by done_at limit $2)")
        .bind((oldest, limit))
        .execute(tx)
        .await?;
        sql("delete from apalis.workers w
             where last_seen < $1 and not exists (select 1 from apalis.jobs where lock_by = w.id)")
        .bind(oldest)
        .execute(tx)
        .await?;
        Ok(jobs)
    }
}

/// The queue's tables have no index for the search of finished jobs. SQLite loses the index of those who hold a job: finished jobs stay in
/// it, so each acknowledgement would read all that its worker had ever finished.
async fn index_jobs(db: &Db) -> Result<()> {
    match db.pools() {
        Pools::Sqlite { write, .. } => {
            let change =
                "create index if not exists muniment_jobs_done on Jobs (done_at) where status in ('Done', 'Killed');
                drop index if exists LIdx";
            sqlx::raw_sql(change).execute(write).await?;
        }
        Pools::Postgres(pool) => {
            // Creating it would wait for every open claim even if it exists.
            let exists = sqlx::query_scalar::<_, bool>("select to_regclass('apalis.muniment_jobs_done') is not null");
            if !exists.fetch_one(pool).await? {
                let create = "create index if not exists muniment_jobs_done on apalis.jobs (done_at) where status in ('Done', 'Killed')";
                sqlx::query(create).execute(pool).await?;
            }
        }
    }
    Ok(())
}

/// The library notifies of each job in the commit that pushes it. Such commits wait for each other's syncs; the database handle notifies
/// after them.
async fn drop_trigger(pool: &PgPool) -> Result<()> {
    let exists = sqlx::query_scalar::<_, bool>(
        "select exists (select 1 from pg_trigger where tgname = 'notify_workers' and tgrelid = to_regclass('apalis.jobs'))",
    );
    // The statement locks the table even if there is no trigger.
    if exists.fetch_one(pool).await? {
        sqlx::query("drop trigger if exists notify_workers on apalis.jobs").execute(pool).await?;
    }
    Ok(())
}
