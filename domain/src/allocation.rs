//! Splits an amount by balances into whole cents, with an exact total.

use alloy_primitives::{Address, U256};

/// 100 percent in basis points.
pub const WHOLE_BASIS_POINTS: i64 = 10_000;

/// Splits an amount of cents by largest remainder. Cents left after rounding down go to the largest remainders; between equal ones to
/// the larger balance, then to the lower address. The parts are in the order of the holders.
pub fn largest_remainder(total: i64, holders: &[(Address, u128)]) -> Vec<i64> {
    let sum = holders.iter().fold(U256::ZERO, |sum, (_, balance)| sum + U256::from(*balance));
    if sum.is_zero() || total <= 0 {
        return vec![0; holders.len()];
    }
    let amount = U256::from(total.unsigned_abs());
    let mut parts = Vec::with_capacity(holders.len());
    let mut remainders = Vec::with_capacity(holders.len());
    for (index, (wallet, balance)) in holders.iter().enumerate() {
        // 50 bits of cents times 128 bits of units fit into 256 bits.
        let (part, remainder) = (amount * U256::from(*balance)).div_rem(sum);
        parts.push(part.saturating_to::<i64>());
        remainders.push((remainder, *balance, *wallet, index));
    }
    let left = total - parts.iter().sum::<i64>();
    remainders.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
    for (.., index) in remainders.iter().take(usize::try_from(left).unwrap_or(0)) {
        parts[*index] += 1;
    }
    parts
}

/// The tax on a gross amount at a rate, rounded to the cent, half to even.
pub fn withheld(gross: i64, basis_points: i64) -> i64 {
    let exact = i128::from(gross) * i128::from(basis_points);
    let (whole, rest) = (exact / i128::from(WHOLE_BASIS_POINTS), exact % i128::from(WHOLE_BASIS_POINTS) * 2);
    let up = rest > i128::from(WHOLE_BASIS_POINTS) || (rest == i128::from(WHOLE_BASIS_POINTS) && whole % 2 == 1);
    i64::try_from(whole + i128::from(up)).unwrap_or(gross)
}

/// The total of an amount per whole token over a supply, rounded down to whole cents.
pub fn total_of(per_unit: i64, supply: u128, token_decimals: u32) -> Option<i64> {
    let units = U256::from(10u64).pow(U256::from(token_decimals));
    i64::try_from(U256::from(per_unit.unsigned_abs()) * U256::from(supply) / units).ok()
}

#[cfg(test)]
mod tests;
