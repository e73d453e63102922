//! What the queue holds now, for people to read. Nothing decides by it.

use chrono::{DateTime, Utc};
use muniment_domain::Result;
use muniment_domain::db::{Conn, Tx};
use muniment_domain::sql::sql;

use crate::engine::queue_tables;

/// Only so many unfinished jobs are looked at: a page is not worth more.
pub const JOBS_MAX: i64 = 10_000;

/// The unfinished jobs of a queue with one status.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The queue.
    pub queue: String,
    /// The status, as apalis calls it.
    pub status: String,
    /// The number of jobs, up to the limit of all.
    pub jobs: i64,
    /// When the first of them is due, or was.
    pub first_due_at: Option<DateTime<Utc>>,
}

/// A worker of a queue.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its id.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// When it was last seen.
    pub seen_at: Option<DateTime<Utc>>,
}

/// The unfinished jobs of each queue.
pub async fn waiting(tx: &mut Tx) -> Result<Vec<Waiting>> {
    // apalis stores its times differently in each database.
    let first = match tx.conn {
        Conn::Sqlite(..) => "min(run_at), min(id)",
        Conn::Postgres(..) => "cast(extract(epoch from min(run_at)) as bigint), min(id)",
    };
    let rows = sql("select job_type, status, count(*), ")
        .push(first)
        .push(" from (select job_type, status, run_at, id from ")
        .push(queue_tables::table(tx))
        .with(" where status in ('Pending', 'Queued', 'Running') limit ", JOBS_MAX)
        .push(") unfinished group by job_type, status order by job_type, status")
        .rows::<(String, String, i64, Option<i64>, Option<String>)>(tx)
        .await?;
    let waiting = |(queue, status, jobs, first, id): (String, String, i64, Option<i64>, Option<String>)| Waiting {
        queue,
        status,
        jobs,
        // A job that was due at once has a run time long before it was pushed. Its id has the time of the push.
        first_due_at: first
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
            .max(id.and_then(|id| pushed_at(&id))),
    };
    Ok(rows.into_iter().map(waiting).collect())
}

fn pushed_at(id: &str) -> Option<DateTime<Utc>> {
    let id = ulid::Ulid::from_string(id).ok()?;
    DateTime::from_timestamp_millis(id.timestamp_ms().cast_signed())
}

/// The workers, those that were seen last first.
pub async fn workers(tx: &mut Tx) -> Result<Vec<Worker>> {
    let (workers, seen) = match tx.conn {
        Conn::Sqlite(..) => ("Workers", "last_seen"),
        Conn::Postgres(..) => ("apalis.workers", "cast(extract(epoch from last_seen) as bigint)"),
    };
    let rows = sql("select id, worker_type, ")
        .push(seen)
        .push(" from ")
        .push(workers)
        .push(" order by last_seen desc limit 100")
        .rows::<(String, String, Option<i64>)>(tx)
        .await?;
    let worker = |(id, queue, seen): (String, String, Option<i64>)| Worker {
        id,
        queue,
        seen_at: seen.and_then(|seconds| DateTime::from_timestamp(seconds, 0)),
    };
    Ok(rows.into_iter().map(worker).collect())
}
