//! Unit tests of `id.rs`.

use super::*;

#[test]
fn an_id_is_well_formed_and_sorts_by_time() {
    let ids = Ids::Random;
    let early = ids.new_id("op", DateTime::from_timestamp_millis(1_700_000_000_000).unwrap());
    let late = ids.new_id("op", DateTime::from_timestamp_millis(1_700_000_000_001).unwrap());
    assert!(early < late);
    let millisecond = DateTime::from_timestamp_millis(1_700_000_000_000).unwrap();
    assert!(first_of("op", millisecond) < early && early < last_of("op", millisecond));
    assert!(last_of("op", millisecond) < late);
    check("op", &early).unwrap();
    assert!(check("off", &early).is_err());
    assert!(check("op", "op_zzzzzzzzzzzzzzzzzzzzzzzzzz").is_err());
    assert!(check("op", "op_").is_err());
}

#[test]
fn a_seed_gives_the_same_ids_again() {
    let at = DateTime::UNIX_EPOCH;
    assert_eq!(Ids::seeded(7).new_id("op", at), Ids::seeded(7).new_id("op", at));
    assert_ne!(Ids::seeded(7).new_id("op", at), Ids::seeded(8).new_id("op", at));
}
