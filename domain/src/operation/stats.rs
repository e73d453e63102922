//! Figures for the overview: unfinished operations, operations that wait for an operator, and times to finality. No query scans the table.

use chrono::{DateTime, Duration, Utc};

use super::{Kind, Status};
use crate::Result;
use crate::db::Tx;
use crate::sql::sql;

/// The number of last confirmed operations from which times are taken.
const SAMPLE: i64 = 500;

/// The number of operations that are unfinished or wait for an operator, by status and kind. Finished ones would need a table scan.
pub async fn stats(tx: &mut Tx) -> Result<Vec<(Status, Kind, i64)>> {
    // Each half uses its own partial index; no planner uses both for one condition.
    sql("select status, kind, count(*) from operations where status in :live
         group by status, kind
         union all select status, kind, count(*) from operations
         where status in :attention and resolution is null group by status, kind")
    .words(":live", &Status::LIVE)
    .words(":attention", &Status::ATTENTION)
    .rows(tx)
    .await
}

/// The creation time of the oldest unfinished operation with a status.
pub async fn oldest_at(tx: &mut Tx, status: Status) -> Result<Option<DateTime<Utc>>> {
    // The status is part of the text: behind a placeholder the planner does not know that the partial index fits.
    sql("select created_at from operations where status in :live")
        .words(":live", &Status::LIVE)
        .one_of("status", &[status])
        .push(" order by id limit 1")
        .optional_scalar(tx)
        .await
}

/// Times from the first signature to finality of the last confirmed operations, shortest first.
pub async fn times_to_final(tx: &mut Tx) -> Result<Vec<Duration>> {
    let rows = sql("select confirmed_at, submitted_at from operations where status = 'confirmed'
        order by confirmed_at desc limit $1")
    .bind(SAMPLE)
    .rows::<(DateTime<Utc>, Option<DateTime<Utc>>)>(tx)
    .await?;
    let mut times: Vec<Duration> = rows.into_iter().filter_map(|(end, start)| start.map(|start| end - start)).collect();
    times.sort_unstable();
    Ok(times)
}

/// The newest confirmations since a time, newest first: when each was, and when the first transaction was signed.
pub async fn confirmed_since(
    tx: &mut Tx,
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<(DateTime<Utc>, Option<DateTime<Utc>>)>> {
    sql("select confirmed_at, submitted_at from operations where status = 'confirmed' and confirmed_at >= ")
        .value(since)
        .push(" order by confirmed_at desc")
        .with(" limit ", limit)
        .rows(tx)
        .await
}

/// What failed and is still open, newest first: the code and when it failed. At most `limit` of each status.
pub async fn open_failures(tx: &mut Tx, limit: i64) -> Result<Vec<(Option<String>, Option<DateTime<Utc>>)>> {
    let mut found = Vec::new();
    for status in Status::ATTENTION {
        // The status is part of the text, as in `oldest_at`.
        let part =
            sql("select error_code, failed_at from operations where status in :attention and resolution is null")
                .words(":attention", &Status::ATTENTION)
                .one_of("status", &[status]);
        found.extend(
            part.push(" order by id desc")
                .with(" limit ", limit)
                .rows::<(Option<String>, Option<DateTime<Utc>>)>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// The nearest-rank percentile of sorted times.
pub fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let times: Vec<_> = (1..=10).map(Duration::seconds).collect();
        assert_eq!(percentile(&times, 50), Some(Duration::seconds(5)));
        assert_eq!(percentile(&times, 95), Some(Duration::seconds(10)));
        assert_eq!(percentile(&times[..1], 95), Some(Duration::seconds(1)));
        assert_eq!(percentile(&[], 50), None);
    }
}
