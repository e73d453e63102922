//! Counts failed attempts of a subject, such as logins, and imposes waiting times. Stored in the database, so that a restart or
//! another process does not reset the count.

use chrono::{DateTime, Duration, Utc};

use crate::Result;
use crate::db::Tx;
use crate::sql::sql;

/// Waiting time in minutes after the last free failure and each further one. The last value repeats.
const WAIT_MINUTES: [i64; 5] = [1, 2, 4, 8, 15];
/// Failures are forgotten after this many hours without a new one.
const FORGOTTEN_HOURS: i64 = 24;

/// The state of a counter after an attempt was counted.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Failures since the last success, including this attempt.
    pub failures: i64,
    /// If set, the attempt must not be evaluated and the transaction must not be committed.
    pub waits_until: Option<DateTime<Utc>>,
}

/// Counts an attempt before its outcome is known, so that a hundred parallel attempts count as a hundred.
///
/// The row stays locked until the commit, so that no two attempts see the same count.
pub async fn count(tx: &mut Tx, subject: &str, free: i64) -> Result<Count> {
    let now = tx.now();
    let (failures, blocked_until) =
        sql("insert into attempt_counters (subject, failures, updated_at) values ($1, 1, $2)
        on conflict (subject) do update
        set failures = case when attempt_counters.updated_at < $3 then 1 else attempt_counters.failures + 1 end,
            updated_at = $2
        returning failures, blocked_until")
        .bind((subject, now, now - Duration::hours(FORGOTTEN_HOURS)))
        .row::<(i64, Option<DateTime<Utc>>)>(tx)
        .await?;
    if blocked_until.is_some_and(|until| until > now) {
        return Ok(Count { failures, waits_until: blocked_until });
    }
    // The last free attempt is still evaluated; the next one has to wait.
    let evaluated = Count { failures, waits_until: None };
    // Below the free attempts the difference is negative.
    let Ok(above) = usize::try_from(failures - free) else { return Ok(evaluated) };
    let minutes = WAIT_MINUTES[above.min(WAIT_MINUTES.len() - 1)];
    sql("update attempt_counters set blocked_until = $2 where subject = $1")
        .bind((subject, now + Duration::minutes(minutes)))
        .execute(tx)
        .await?;
    Ok(evaluated)
}

/// Resets the counter after a success.
pub async fn reset(tx: &mut Tx, subject: &str) -> Result<()> {
    sql("delete from attempt_counters where subject = $1").bind(subject).execute(tx).await?;
    Ok(())
}

/// Resets a counter and those of its parts, whose names continue it after a colon.
pub async fn reset_all(tx: &mut Tx, subject: &str) -> Result<()> {
    sql("delete from attempt_counters where subject = $1 or subject like $2")
        .bind((subject, format!("{subject}:%")))
        .execute(tx)
        .await?;
    Ok(())
}

/// Takes back one count after a success, if other attempts of the same subject can have failed.
pub async fn decrement(tx: &mut Tx, subject: &str) -> Result<()> {
    sql("update attempt_counters set failures = failures - 1, blocked_until = null
         where subject = $1 and failures > 0")
    .bind(subject)
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes up to `limit` expired counters.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::hours(FORGOTTEN_HOURS);
    sql("delete from attempt_counters where subject in
         (select subject from attempt_counters where updated_at < $1 order by updated_at limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await
}
