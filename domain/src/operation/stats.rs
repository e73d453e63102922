//! The overview: what is unfinished, what waits for a person, and how long finality took lately. Nothing here reads the whole table.

use chrono::{DateTime, Duration, Utc};

use super::{Kind, Status};
use crate::db::Tx;
use crate::{Result, on};

/// Of how many of the last confirmed operations the times are taken.
const SAMPLE: i64 = 500;

/// How many operations are unfinished or wait for a person, by status and kind. Finished ones are not counted: that would scan the table.
pub async fn stats(tx: &mut Tx) -> Result<Vec<(Status, Kind, i64)>> {
    // Each half by the index of its own: no planner takes both for one condition.
    Ok(on!(tx, conn => sqlx::query_as::<_, (Status, Kind, i64)>(
        "select status, kind, count(*) from operations where status in ('pending', 'submitted') group by status, kind \
         union all \
         select status, kind, count(*) from operations where status in ('failed', 'dead_letter') and resolution is null \
         group by status, kind")
        .fetch_all(conn).await?))
}

/// Since when the oldest unfinished operation of a status waits.
pub async fn oldest_at(tx: &mut Tx, status: Status) -> Result<Option<DateTime<Utc>>> {
    // The status stands in the text, beside the condition of the index: behind a parameter no planner knows that it fits.
    let sql = format!(
        "select created_at from operations where status in ('pending', 'submitted') and status = '{status}' order by id limit 1"
    );
    Ok(on!(tx, conn => sqlx::query_scalar::<_, DateTime<Utc>>(sqlx::AssertSqlSafe(sql)).fetch_optional(conn).await?))
}

/// How long the last confirmed operations took from the first signed bytes to finality, shortest first.
pub async fn times_to_final(tx: &mut Tx) -> Result<Vec<Duration>> {
    let rows = on!(tx, conn => sqlx::query_as::<_, (DateTime<Utc>, Option<DateTime<Utc>>)>(
        "select confirmed_at, submitted_at from operations where status = 'confirmed' order by confirmed_at desc limit $1")
        .bind(SAMPLE).fetch_all(conn).await?);
    let mut times: Vec<Duration> = rows.into_iter().filter_map(|(end, start)| start.map(|start| end - start)).collect();
    times.sort_unstable();
    Ok(times)
}

/// The time that a share of them, in percent, did not exceed: the nearest rank.
pub fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<_> = (1..=10).map(Duration::seconds).collect();
        assert_eq!(percentile(&times, 50), Some(Duration::seconds(5)));
        assert_eq!(percentile(&times, 95), Some(Duration::seconds(10)));
        assert_eq!(percentile(&times[..1], 95), Some(Duration::seconds(1)));
        assert_eq!(percentile(&[], 50), None);
    }
}
