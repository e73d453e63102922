//! Statements over many rows, so that the cost of a commit does not grow with each row.

/// Limit on the rows of one statement, as a power of two.
const ROWS_LOG_MAX: u32 = 6;

/// Cuts rows into portions of 64, 32, 16 … 1. So there are few statement texts, and a connection keeps each of them prepared.
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
    fn every_row_is_in_one_portion_and_sizes_are_powers_of_two() {
        for count in 0..300 {
            let rows: Vec<usize> = (0..count).collect();
            assert_eq!(portions(&rows).flatten().copied().collect::<Vec<_>>(), rows);
            assert!(portions(&rows).all(|p| p.len().is_power_of_two() && p.len() <= 64));
        }
    }
}
