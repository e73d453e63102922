use super::*;

fn position(balance: u128) -> Position {
    let at = DateTime::UNIX_EPOCH;
    Position {
        offering_id: "off_1".into(),
        offering_name: String::new(),
        currency: "EUR".to_owned(),
        unit_price: 100,
        token_decimals: 2,
        token_address: Hex(Address::ZERO),
        chain_id: 1,
        partition_id: 1,
        wallet_address: Hex(Address::repeat_byte(2)),
        balance: Dec(balance),
        frozen: false,
        synced_block: 7,
        read_at: at,
        final_block: 7,
        blocked_since: None,
    }
}

fn minted(wallet: u8, amount: i64, units: u128) -> Commitment {
    Commitment {
        id: String::new().into(),
        offering_id: "off_1".into(),
        offering_name: String::new(),
        currency: "EUR".to_owned(),
        partition_id: 1,
        status: Status::Minted,
        amount,
        quantity: Some(Dec(units)),
        wallet_address: Some(Hex(Address::repeat_byte(wallet))),
    }
}

#[test]
fn units_cost_their_average_price_even_after_a_recovery() {
    let in_token = |id: &str| BTreeMap::from([((id.into(), Address::repeat_byte(1)), Address::repeat_byte(2))]);
    let bought = [minted(1, 1_000, 100), minted(2, 2_000, 100)];
    let of = |recovered: &Successors| Purchases::of(&bought, recovered);
    let recovered = in_token("off_1");
    assert_eq!(of(&recovered).cost(&position(200)), Some(3_000));
    assert_eq!(of(&recovered).cost(&position(50)), Some(750), "the other units were sold");
    assert_eq!(of(&recovered).cost(&position(900)), Some(3_000), "the other units came by a transfer");
    assert_eq!(of(&BTreeMap::new()).cost(&position(200)), Some(2_000));
    assert_eq!(of(&in_token("off_2")).cost(&position(200)), Some(2_000), "it was recovered in another token");
    assert_eq!(Purchases::default().cost(&position(1)), None);
    assert_eq!((value(12_345, 100, 2), value(1, 99, 2), value(u128::MAX, i64::MAX, 0)), (12_345, 0, i64::MAX));
}

#[test]
fn a_position_read_up_to_the_final_block_has_no_lag() {
    let now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(90);
    let mut p = position(1);
    assert_eq!(p.lag_seconds(now), 0);
    p.final_block = 9;
    assert_eq!(p.lag_seconds(now), 90);
    p.blocked_since = Some(DateTime::UNIX_EPOCH + chrono::Duration::seconds(80));
    assert_eq!(p.lag_seconds(now), 10);
}
