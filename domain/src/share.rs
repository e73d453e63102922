//! Sharing an amount of money by what each holder has: whole cents, nothing lost, nothing made.

use alloy_primitives::{Address, U256};

/// A whole, in hundredths of a percent.
pub const WHOLE_BASIS_POINTS: i64 = 10_000;

/// Splits an amount of cents by largest remainder. The cents that are left when everybody has the whole cents of his part go to the
/// largest remainders; of equal ones to the larger balance, then to the lower address. The parts come in the order of the holders.
pub fn largest_remainder(total: i64, holders: &[(Address, u128)]) -> Vec<i64> {
    let sum = holders.iter().fold(U256::ZERO, |sum, (_, balance)| sum + U256::from(*balance));
    if sum.is_zero() || total <= 0 {
        return vec![0; holders.len()];
    }
    let amount = U256::from(total.unsigned_abs());
    let mut parts = Vec::with_capacity(holders.len());
    let mut remainders = Vec::with_capacity(holders.len());
    for (index, (wallet, balance)) in holders.iter().enumerate() {
        // 50 bits of cents times 128 bits of units stay within 256.
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

/// What is withheld of a gross amount at a rate: rounded to the cent, a half to the even one.
pub fn withheld(gross: i64, basis_points: i64) -> i64 {
    let exact = i128::from(gross) * i128::from(basis_points);
    let (whole, rest) = (exact / i128::from(WHOLE_BASIS_POINTS), exact % i128::from(WHOLE_BASIS_POINTS) * 2);
    let up = rest > i128::from(WHOLE_BASIS_POINTS) || (rest == i128::from(WHOLE_BASIS_POINTS) && whole % 2 == 1);
    i64::try_from(whole + i128::from(up)).unwrap_or(gross)
}

/// What an amount for each whole unit of a token comes to over a supply: whole cents, never more than was promised.
pub fn total_of(per_unit: i64, supply: u128, token_decimals: u32) -> Option<i64> {
    let units = U256::from(10u64).pow(U256::from(token_decimals));
    i64::try_from(U256::from(per_unit.unsigned_abs()) * U256::from(supply) / units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(balances: &[u128]) -> Vec<(Address, u128)> {
        balances.iter().zip(1u8..).map(|(b, n)| (Address::repeat_byte(n), *b)).collect()
    }

    #[test]
    fn cents_that_are_left_go_to_the_largest_remainders_and_ties_have_a_rule() {
        assert_eq!(largest_remainder(100, &holders(&[1, 1, 1])), [34, 33, 33], "the lower address");
        assert_eq!(largest_remainder(10, &holders(&[3, 3, 1])), [4, 4, 2]);
        // 5 · 1/10 and 5 · 3/10 leave the same half: the larger balance has it.
        assert_eq!(largest_remainder(5, &holders(&[1, 3, 6])), [0, 2, 3]);
        assert_eq!(largest_remainder(1, &holders(&[2, 7, 7])), [0, 1, 0]);
        assert_eq!(largest_remainder(7, &holders(&[0, 5])), [0, 7]);
        assert_eq!(largest_remainder(7, &holders(&[0, 0])), [0, 0]);
        let most = (1u128 << 96) - 1;
        assert_eq!(
            largest_remainder(999_999_999_999_999, &holders(&[most, most])),
            [500_000_000_000_000, 499_999_999_999_999]
        );
    }

    #[test]
    fn the_parts_are_the_whole_each_within_a_cent_and_no_smaller_for_who_has_more() {
        let ids = crate::id::Ids::seeded(11);
        let random = move || u128::from_be_bytes(ids.bytes());
        for _ in 0..20_000 {
            let count = (random() % 40 + 1) as usize;
            let bits = random() % 90 + 1;
            let all: Vec<(Address, u128)> =
                (0..count).map(|_| (Address::from_word(U256::from(random()).into()), random() % (1 << bits))).collect();
            let total = (random() % 10u128.pow((random() % 15) as u32 + 1)) as i64;
            let sum: u128 = all.iter().map(|(_, b)| b).sum();
            if sum == 0 {
                continue;
            }
            let parts = largest_remainder(total, &all);
            assert_eq!(parts.iter().sum::<i64>(), total);
            for (part, (_, balance)) in parts.iter().zip(&all) {
                // |part − T·b/S| < 1, without a division.
                let (given, exact) =
                    (U256::from(*part as u64) * U256::from(sum), U256::from(total as u64) * U256::from(*balance));
                assert!(given.abs_diff(exact) < U256::from(sum), "{part} of {total} for {balance} of {sum}");
            }
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(|i| all[*i].1);
            for pair in order.windows(2).filter(|p| all[p[0]].1 < all[p[1]].1) {
                assert!(parts[pair[0]] <= parts[pair[1]]);
            }
        }
    }

    #[test]
    fn a_half_cent_is_rounded_to_the_even_one_and_never_more_than_all_is_withheld() {
        for (gross, rate, tax) in
            [(100, 0, 0), (50, 100, 0), (150, 100, 2), (250, 100, 2), (350, 100, 4), (1001, 2400, 240), (7, 10_000, 7)]
        {
            assert_eq!(withheld(gross, rate), tax, "{rate} of {gross}");
        }
        let ids = crate::id::Ids::seeded(5);
        for _ in 0..2_000 {
            let random = u128::from_be_bytes(ids.bytes());
            let (gross, rate) = ((random % 1_000_000_000_000) as i64, ((random >> 64) % 10_001) as i64);
            let tax = withheld(gross, rate);
            assert!((0..=gross).contains(&tax));
            assert!((i128::from(tax) * 10_000 - i128::from(gross) * i128::from(rate)).abs() <= 5_000);
        }
    }

    #[test]
    fn an_amount_for_each_unit_is_rounded_down_to_whole_cents() {
        assert_eq!(total_of(125, 10_000, 2), Some(12_500));
        assert_eq!(total_of(1, 199, 2), Some(1));
        assert_eq!(total_of(i64::MAX, u128::MAX, 0), None);
    }
}
