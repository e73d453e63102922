//! Unit tests of `share.rs`.

use super::*;

fn holders(balances: &[u128]) -> Vec<(Address, u128)> {
    balances.iter().zip(1u8..).map(|(b, n)| (Address::repeat_byte(n), *b)).collect()
}

#[test]
fn remaining_cents_go_to_the_largest_remainders_with_a_rule_for_ties() {
    assert_eq!(largest_remainder(100, &holders(&[1, 1, 1])), [34, 33, 33], "the lower address");
    assert_eq!(largest_remainder(10, &holders(&[3, 3, 1])), [4, 4, 2]);
    // 5 · 1/10 and 5 · 3/10 leave the same remainder: the larger balance gets the cent.
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
fn the_parts_add_up_are_within_a_cent_and_grow_with_the_balance() {
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
fn a_half_cent_is_rounded_to_even_and_the_tax_never_exceeds_the_gross() {
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
fn an_amount_per_unit_is_rounded_down_to_whole_cents() {
    assert_eq!(total_of(125, 10_000, 2), Some(12_500));
    assert_eq!(total_of(1, 199, 2), Some(1));
    assert_eq!(total_of(i64::MAX, u128::MAX, 0), None);
}
