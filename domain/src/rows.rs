//! Statements over many rows, so that the cost of a commit does not grow with each row.

use crate::sql::Conn;

/// Limit on the rows of one statement on SQLite, as a power of two.
const ROWS_LOG_MAX: u32 = 6;
/// Limit on the rows of one statement on PostgreSQL, which gets arrays: one text for any number of rows.
const ARRAY_MAX: usize = 1_000;

/// Cuts rows into portions for one statement each. On SQLite their sizes are 64, 32, 16 … 1: so there are few statement texts, and a
/// connection keeps each of them prepared.
pub fn portions<'a, T>(conn: &Conn, rows: &'a [T]) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
    let has_arrays = matches!(conn, Conn::Postgres(..));
    let mut rest = rows;
    std::iter::from_fn(move || {
        let (portion, behind) = rest.split_at(size(has_arrays, rest.len())?);
        rest = behind;
        Some(portion)
    })
}

/// The rows of the next portion; none if there are no more.
fn size(has_arrays: bool, left: usize) -> Option<usize> {
    let log = left.checked_ilog2()?;
    Some(if has_arrays { left.min(ARRAY_MAX) } else { 1 << log.min(ROWS_LOG_MAX) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_portion_and_sizes_without_arrays_are_powers_of_two() {
        let cut = |has_arrays, count: usize| {
            let mut left = count;
            std::iter::from_fn(move || {
                let next = size(has_arrays, left)?;
                left -= next;
                Some(next)
            })
            .collect::<Vec<_>>()
        };
        for count in 0..2_100 {
            assert_eq!(cut(false, count).iter().sum::<usize>(), count);
            assert!(cut(false, count).iter().all(|size| size.is_power_of_two() && *size <= 64));
            assert_eq!(cut(true, count).iter().sum::<usize>(), count);
            assert_eq!(cut(true, count).len(), count.div_ceil(1_000));
        }
    }
}
