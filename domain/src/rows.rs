//! Many rows in one statement, so that what a commit costs is not what each of its rows would cost.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::{Result, on};

/// Deletes up to so many rows that are older than this, by a statement that takes both; how many it were.
pub async fn delete_older(tx: &mut Tx, delete: &'static str, oldest: DateTime<Utc>, limit: i64) -> Result<u64> {
    Ok(on!(tx, conn => sqlx::query(delete).bind(oldest).bind(limit).execute(conn).await?.rows_affected()))
}

/// The most rows of one statement, as a power of two.
const ROWS_LOG_MAX: u32 = 6;

/// Cuts rows into portions of 64, 32, 16 … 1: few texts, so that a connection keeps each of them prepared.
pub fn portions<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = 1usize << rest.len().checked_ilog2()?.min(ROWS_LOG_MAX);
        let (portion, behind) = rest.split_at(size);
        rest = behind;
        Some(portion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_portion_and_few_sizes_occur() {
        for count in 0..300 {
            let rows: Vec<usize> = (0..count).collect();
            assert_eq!(portions(&rows).flatten().copied().collect::<Vec<_>>(), rows);
            assert!(portions(&rows).all(|p| p.len().is_power_of_two() && p.len() <= 64));
        }
    }
}
