//! Unit tests of `id.rs`.

use super::*;

#[test]
fn an_id_is_well_formed_and_sorts_by_time() {
    let ids = Ids::Random;
    let early: OperationId = ids.new_id(DateTime::from_timestamp_millis(1_700_000_000_000).unwrap());
    let late: OperationId = ids.new_id(DateTime::from_timestamp_millis(1_700_000_000_001).unwrap());
    assert!(early < late);
    let millisecond = DateTime::from_timestamp_millis(1_700_000_000_000).unwrap();
    assert!(OperationId::first_of(millisecond) < early && early < OperationId::last_of(millisecond));
    assert!(OperationId::last_of(millisecond) < late);
    early.check().unwrap();
    assert!(OfferingId::from(early.as_str()).check().is_err());
    assert!(OperationId::from("op_zzzzzzzzzzzzzzzzzzzzzzzzzz").check().is_err());
    assert!(OperationId::from("op_").check().is_err());
}

#[test]
fn a_seed_gives_the_same_ids_again() {
    let at = DateTime::UNIX_EPOCH;
    assert_eq!(Ids::seeded(7).new_id::<of::Operation>(at), Ids::seeded(7).new_id::<of::Operation>(at));
    assert_ne!(Ids::seeded(7).new_id::<of::Operation>(at), Ids::seeded(8).new_id::<of::Operation>(at));
}
