//! Unit tests of `money.rs`.

use super::*;

#[test]
fn an_amount_reads_and_writes_the_same() {
    for text in ["0.00", "0.01", "1500.00", "9999999999999.99"] {
        assert_eq!(text.parse::<Money>().unwrap().to_string(), text);
    }
    assert_eq!("9999999999999.99".parse(), Ok(MAXIMUM));
}

#[test]
fn an_invalid_amount_is_rejected() {
    for text in [
        "",
        "1",
        "1.0",
        "1.000",
        "01.00",
        "-1.00",
        "+1.00",
        "1,00",
        " 1.00",
        "1e3.00",
        "10000000000000.00",
        ".50",
        "1.٠٠",
    ] {
        assert_eq!(text.parse::<Money>(), Err(AmountFormat), "{text}");
    }
}

#[test]
fn an_amount_buys_whole_base_units_or_nothing() {
    let price = Money::from_minor(100);
    assert_eq!("1500.00".parse::<Money>().unwrap().base_units(price, 2), Some(150_000));
    assert_eq!("0.01".parse::<Money>().unwrap().base_units(Money::from_minor(300), 0), None);
    assert_eq!(MAXIMUM.base_units(price, 18), Some(9_999_999_999_999_990_000_000_000_000_000));
    assert_eq!(MAXIMUM.base_units(Money::from_minor(0), 2), None);
}

#[test]
fn a_quantity_shows_its_decimals() {
    assert_eq!(quantity(150_000, 2), "1500.00");
    assert_eq!(quantity(5, 2), "0.05");
    assert_eq!(quantity(5, 0), "5");
    for (count, decimals) in [(150_000, 2), (5, 2), (5, 0), (u128::MAX, 18)] {
        assert_eq!(units(&quantity(count, decimals), decimals), Some(count));
    }
}

#[test]
fn an_invalid_quantity_is_rejected() {
    assert_eq!((units("7", 2), units("7.1", 2), units("0.00", 2)), (Some(700), Some(710), Some(0)));
    for text in ["", ".5", "5.", "1.001", "01", "-1", "+1", " 1", "1e3", "1,0", "0x1", "1.٠", "9".repeat(60).as_str()]
    {
        assert_eq!(units(text, 2), None, "{text}");
    }
}
