//! Counts failed attempts on a subject and makes it wait. In the database, so that a restart or another process forgets nothing.

use chrono::{DateTime, Duration, Utc};

use crate::db::Tx;
use crate::rows::delete_older;
use crate::{Result, on};

/// For how many minutes a subject waits after its last free failure and each further one; the last number for all that follow.
const WAIT_MINUTES: [i64; 5] = [1, 2, 4, 8, 15];
/// After how many hours without a failure the old ones no longer count.
const FORGOTTEN_HOURS: i64 = 24;

/// What an attempt was counted to.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// How many have failed since the last one that did not, this one among them.
    pub failures: i64,
    /// Until when the subject has to wait: the attempt is not to be looked at, and the transaction not to be committed.
    pub waits_until: Option<DateTime<Utc>>,
}

/// Counts one attempt before its outcome is known, so that a hundred at once are a hundred and not one.
///
/// The row stays locked until the commit, so no two see the same count.
pub async fn count(tx: &mut Tx, subject: &str, free: i64) -> Result<Counted> {
    let now = tx.now();
    let (failures, blocked_until) = on!(tx, conn => sqlx::query_as::<_, (i64, Option<DateTime<Utc>>)>(
        "insert into attempt_counters (subject, failures, updated_at) values ($1, 1, $2) on conflict (subject) do update set \
         failures = case when attempt_counters.updated_at < $3 then 1 else attempt_counters.failures + 1 end, updated_at = $2 \
         returning failures, blocked_until")
        .bind(subject).bind(now).bind(now - Duration::hours(FORGOTTEN_HOURS)).fetch_one(conn).await?);
    if blocked_until.is_some_and(|until| until > now) {
        return Ok(Counted { failures, waits_until: blocked_until });
    }
    // The last free attempt is still looked at; whoever comes after it waits.
    let looked_at = Counted { failures, waits_until: None };
    let Ok(above) = usize::try_from(failures - free) else { return Ok(looked_at) };
    let minutes = WAIT_MINUTES[above.min(WAIT_MINUTES.len() - 1)];
    on!(tx, conn => sqlx::query("update attempt_counters set blocked_until = $2 where subject = $1")
        .bind(subject).bind(now + Duration::minutes(minutes)).execute(conn).await?.rows_affected());
    Ok(looked_at)
}

/// Forgets the failures of a subject: the attempt succeeded.
pub async fn reset(tx: &mut Tx, subject: &str) -> Result<()> {
    on!(tx, conn => sqlx::query("delete from attempt_counters where subject = $1").bind(subject).execute(conn).await?.rows_affected());
    Ok(())
}

/// Takes one count back: the attempt succeeded, and others of the same subject may not have.
pub async fn forgive(tx: &mut Tx, subject: &str) -> Result<()> {
    on!(tx, conn => sqlx::query(
        "update attempt_counters set failures = failures - 1, blocked_until = null where subject = $1 and failures > 0")
        .bind(subject).execute(conn).await?.rows_affected());
    Ok(())
}

/// Forgets so many of the counters that no longer count.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::hours(FORGOTTEN_HOURS);
    let delete = "delete from attempt_counters where subject in \
        (select subject from attempt_counters where updated_at < $1 order by updated_at limit $2)";
    delete_older(tx, delete, oldest, limit).await
}
