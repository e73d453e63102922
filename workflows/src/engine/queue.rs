//! Wakes: an apalis job that carries an operation's id and nothing else. The row says what to do; a lost or doubled wake changes nothing.

use apalis_core::task::Task;
use apalis_core::task::builder::TaskBuilder;
use apalis_core::task::task_id::TaskId;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::{Conn, Db, Pools, Tx};
use muniment_domain::operation::{self, Operation};
use muniment_domain::sql::sql;
use muniment_domain::{Error, Result, id};

/// The queues: one for each class, so that a flood in one does not delay another.
pub const QUEUES: [&str; 8] = ["deploy", "mint", "compliance", "payout", APPROVAL, DESK, SNAPSHOT, TIMER];

/// The queue of what people decide: its timers never delay an operation.
pub const APPROVAL: &str = "approval";

/// The queue of what people ask for besides: wishes, bulks, runs that compare chain and database.
pub const DESK: &str = "desk";

/// The channel on which the queue tells of new jobs.
pub const PUSHED: &str = "apalis::job::insert";
/// The channel on which a process tells that it has sent something, with the chain's id.
pub const SENT: &str = "muniment::sent";

/// The queue of the balances of record dates.
pub const SNAPSHOT: &str = "snapshot";

/// The queue of what a calendar moves: offerings, subscriptions, investors.
pub const TIMER: &str = "timer";

/// How many of a line of operations are woken at once: as many as a lane holds in memory. The queue would carry the wakes of all of them
/// again and again, and none of them would get on sooner.
const WOKEN_OF_A_LINE: usize = 64;
/// After this time an operation that waits for its lane is woken all the same, should nobody have taken it.
pub const LINE_SECONDS: i64 = 300;

/// By how much the clock of the database may be behind ours before a wake comes late.
const CLOCKS_APART_SECONDS: i64 = 3600;

/// The first wake of an operation carries the operation's own id, so that it is visibly a job of the queue.
pub async fn first_wake(tx: &mut Tx, op: &Operation) -> Result<()> {
    let now = tx.now();
    push(tx, op.kind.queue(), &op.id, id::ulid_of(&op.id), now).await
}

/// Wakes an operation now.
pub async fn wake(tx: &mut Tx, op: &Operation) -> Result<()> {
    let now = tx.now();
    wake_at(tx, op, now).await
}

/// Wakes an operation later.
pub async fn wake_at(tx: &mut Tx, op: &Operation, at: DateTime<Utc>) -> Result<()> {
    let fresh = id::ulid_of(&tx.new_id("wake"));
    push(tx, op.kind.queue(), &op.id, fresh, at).await
}

/// Wakes what is no operation, by its id.
pub async fn wake_id(tx: &mut Tx, queue: &str, id: &str, at: DateTime<Utc>) -> Result<()> {
    let fresh = id::ulid_of(&tx.new_id("wake"));
    push(tx, queue, id, fresh, at).await
}

/// Wakes several operations now.
pub async fn wake_all(tx: &mut Tx, ops: &[&Operation]) -> Result<()> {
    let now = tx.now();
    for queue in QUEUES {
        let mut tasks = Vec::new();
        for op in ops.iter().filter(|op| op.kind.queue() == queue) {
            tasks.push(task(now, &op.id, &id::ulid_of(&tx.new_id("wake")), now)?);
        }
        if !tasks.is_empty() {
            push_all(tx, queue, tasks, now).await?;
        }
    }
    Ok(())
}

/// Of many operations of one lane the first are woken; the others wait in its line, from where it takes them when it has room.
pub async fn line_up(tx: &mut Tx, ops: &mut [Operation]) -> Result<()> {
    let now = tx.now();
    let (first, rest) = ops.split_at_mut(ops.len().min(WOKEN_OF_A_LINE));
    for op in first {
        op.blocked_reason = None;
        op.next_action_at = Some(now + Duration::seconds(operation::PATIENCE_SECONDS));
    }
    for op in rest {
        op.blocked_reason = Some(operation::LANE_FULL.to_owned());
        op.next_action_at = Some(now + Duration::seconds(LINE_SECONDS));
    }
    operation::save_all(tx, ops).await?;
    wake_all(tx, &ops.iter().take(WOKEN_OF_A_LINE).collect::<Vec<_>>()).await
}

async fn push(tx: &mut Tx, queue: &str, operation_id: &str, task_id: String, at: DateTime<Utc>) -> Result<()> {
    let task = task(tx.now(), operation_id, &task_id, at)?;
    push_all(tx, queue, vec![task], at).await
}

fn task(now: DateTime<Utc>, operation_id: &str, task_id: &str, at: DateTime<Utc>) -> Result<Task<Vec<u8>>> {
    let unreadable = |why: String| Error::Unreadable { what: "operation", id: operation_id.to_owned(), why };
    let ulid = ulid::Ulid::from_string(task_id).map_err(|e| unreadable(e.to_string()))?;
    let payload = serde_json::to_vec(&operation_id).map_err(|e| unreadable(e.to_string()))?;
    // The queue counts in whole seconds: a wake that is due now must not wait for the next one, a later one must not come early.
    let late = i64::from(at > now && at.timestamp_subsec_nanos() > 0);
    // Whoever looks into the queue goes by a clock of its own: what is due now must be due there too, also if that clock is behind.
    let ahead = if at <= now { CLOCKS_APART_SECONDS } else { 0 };
    let seconds = u64::try_from(at.timestamp() + late - ahead).unwrap_or(0);
    Ok(TaskBuilder::new(payload).task_id(TaskId::Ulid(ulid)).max_attempts(1).run_at_timestamp(seconds).build())
}

async fn push_all(tx: &mut Tx, queue: &str, tasks: Vec<Task<Vec<u8>>>, at: DateTime<Utc>) -> Result<()> {
    if at <= tx.now() {
        tx.ring_after_commit();
    }
    match &mut tx.conn {
        Conn::Sqlite(conn) => {
            apalis_sqlite::queries::push_tasks(&mut **conn, queue, &tasks).await.map_err(|e| queue_failed(&e))
        }
        Conn::Postgres(conn) => {
            apalis_postgres::queries::push_tasks(&mut **conn, queue, tasks).await.map_err(|e| queue_failed(&e))
        }
    }
}

/// Brings the queue's own tables up. Its SQLite set-up would switch durability off, so its migrations are run without it.
pub async fn migrate(db: &Db) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| {
        Error::Migration(format!(
            "The queue's migrations failed: {e}. On PostgreSQL the extensions hstore and pgcrypto must be installed \
             (Debian: postgresql-contrib), and the role must own the database."
        ))
    };
    match db.pools() {
        Pools::Sqlite { write, .. } => {
            apalis_sqlite::SqliteStorage::<()>::migrations().run(write).await.map_err(|e| failed(&e))
        }
        Pools::Postgres(pool) => apalis_postgres::PostgresStorage::<()>::setup(pool).await.map_err(|e| failed(&e)),
    }
}

fn queue_failed(error: &dyn std::fmt::Display) -> Error {
    Error::Database(sqlx::Error::Protocol(format!("the queue refused a wake: {error}")))
}

/// Deletes finished jobs and the workers that are long gone. The queue never does so itself.
pub async fn prune(tx: &mut Tx, hours: u64) -> Result<()> {
    let oldest = tx.now() - Duration::hours(hours.cast_signed());
    let (jobs, workers) = match tx.conn {
        Conn::Sqlite(_) => (
            sql("delete from Jobs where status in ('Done', 'Killed') and done_at < $1").bind(oldest.timestamp()),
            sql("delete from Workers
                 where last_seen < $1 and not exists (select 1 from Jobs where lock_by = Workers.id)")
            .bind(oldest.timestamp()),
        ),
        Conn::Postgres(_) => (
            sql("delete from apalis.jobs where status in ('Done', 'Killed') and done_at < $1").bind(oldest),
            sql("delete from apalis.workers w
                 where last_seen < $1 and not exists (select 1 from apalis.jobs where lock_by = w.id)")
            .bind(oldest),
        ),
    };
    jobs.execute(tx).await?;
    workers.execute(tx).await?;
    Ok(())
}

/// Tells whichever process follows the chain that something was sent, when the commit is done. SQLite serves one process, which knows.
pub async fn tell_sent(tx: &mut Tx, chain_id: i64) -> Result<()> {
    if matches!(tx.conn, Conn::Postgres(_)) {
        sql("select pg_notify($1, $2)").bind((SENT, chain_id.to_string())).execute(tx).await?;
    }
    Ok(())
}
