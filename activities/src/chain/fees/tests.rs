//! Unit tests of `fees.rs`.

use super::*;

const GWEI: u128 = 1_000_000_000;

fn fees(max: u128, tip: u128) -> Fees {
    Fees { max_fee_per_gas: max, max_priority_fee_per_gas: tip }
}

#[test]
fn a_bump_raises_both_fields_by_at_least_an_eighth() {
    for (max, tip) in [(0, 0), (1, 1), (7, 3), (21 * GWEI, GWEI), (299 * GWEI / 2, 2 * GWEI)] {
        let Bump::Raised(new) = bump(fees(max, tip), 13, fees(0, 0), 1_000 * GWEI) else { panic!("{max} {tip}") };
        assert!(new.max_fee_per_gas * 8 >= max * 9 && new.max_fee_per_gas > max);
        assert!(new.max_priority_fee_per_gas * 8 >= tip * 9 && new.max_priority_fee_per_gas > tip);
        assert!(new.max_priority_fee_per_gas <= new.max_fee_per_gas);
    }
}

#[test]
fn a_bump_follows_the_market_up_to_the_cap() {
    let market = fees(90 * GWEI, 3 * GWEI);
    assert_eq!(bump(fees(20 * GWEI, GWEI), 15, market, 100 * GWEI), Bump::Raised(market));
    let Bump::Raised(new) = bump(fees(20 * GWEI, GWEI), 15, market, 50 * GWEI) else { panic!() };
    assert_eq!(new.max_fee_per_gas, 50 * GWEI);
}

#[test]
fn a_bump_too_small_for_mempools_is_not_made() {
    assert_eq!(bump(fees(95 * GWEI, GWEI), 15, fees(0, 0), 100 * GWEI), Bump::AtCap);
    assert_eq!(bump(fees(u128::MAX, GWEI), 15, fees(0, 0), u128::MAX - 1), Bump::AtCap);
}

#[test]
fn an_offer_never_passes_the_cap() {
    assert_eq!(offer(200 * GWEI, GWEI, 300 * GWEI), fees(300 * GWEI, GWEI));
    assert_eq!(offer(7, 400 * GWEI, 300 * GWEI), fees(300 * GWEI, 300 * GWEI));
}
