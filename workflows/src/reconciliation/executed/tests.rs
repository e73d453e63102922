//! Unit tests of `executed.rs`.

use alloy_primitives::{Address, Bytes};
use muniment_activities::contract::line::Line;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::token::mint::MintPage;
use muniment_activities::token::{self, mint_page};
use muniment_domain::column::Hex;
use muniment_domain::operation::Status;
use muniment_domain::step::Outcome;

use super::*;

const TOKEN: Address = Address::repeat_byte(0x70);

fn line(units: u128) -> Line {
    Line::new(Address::repeat_byte(1), units).unwrap()
}

fn mint(units: u128) -> Bytes {
    mint_page(Address::ZERO, TOKEN, &MintPage { op_id: 1, partition: 1, release_at: 0, lines: vec![line(units)] }).data
}

fn forced() -> Bytes {
    token::force_transfer(Address::ZERO, TOKEN, 1, 1, Address::repeat_byte(2), line(5), &[]).data
}

fn recovery(lost: u8) -> Bytes {
    token::recover(Address::ZERO, TOKEN, Address::repeat_byte(lost), Address::repeat_byte(9), 1).data
}

/// A confirmed step with this call, whose number is 1.
fn confirmed(call: &Bytes) -> KnownStep {
    KnownStep {
        operation_id: "op_ours".into(),
        op_number: 1,
        selector: call[..4].to_vec(),
        payload_hash: Some(Hex(payload_hash(call))),
        outcome: Some(Outcome::Success),
        block_number: Some(5),
        status: Status::Confirmed,
        resolution: None,
    }
}

/// The event of this call, whose number is 1.
fn event(call: &Bytes) -> ExecutedOperation {
    let (tx_hash, payload_hash) = (B256::ZERO, payload_hash(call));
    ExecutedOperation { kind: kind_of(call).unwrap(), op_id: U256::ONE, tx_hash, payload_hash }
}

fn found(known: &[&Bytes], executed: &[&Bytes]) -> Vec<FindingKind> {
    let known: Vec<_> = known.iter().map(|call| confirmed(call)).collect();
    let executed: Vec<_> = executed.iter().map(|call| event(call)).collect();
    compare(&known, &executed, 9).into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn each_kind_has_numbers_of_its_own() {
    let (mint, forced) = (mint(5), forced());
    assert_eq!(found(&[&mint], &[&mint]), []);
    assert_eq!(found(&[&mint], &[&mint, &forced]), [FindingKind::UnknownOperation]);
    assert_eq!(found(&[&mint], &[&forced]), [FindingKind::UnknownOperation, FindingKind::ConfirmedNotExecuted]);
    assert_eq!(found(&[&mint, &forced], &[&forced, &mint]), []);
}

#[test]
fn another_call_of_the_same_kind_is_a_conflict() {
    assert_eq!(found(&[&mint(5)], &[&mint(6)]), [FindingKind::OpIdConflict]);
}

#[test]
fn each_lost_wallet_has_numbers_of_its_own() {
    let (ours, other) = (recovery(3), recovery(4));
    assert_eq!(found(&[&ours], &[&other, &ours]), [FindingKind::UnknownOperation]);
    assert_eq!(found(&[&ours], &[&other]), [FindingKind::UnknownOperation, FindingKind::ConfirmedNotExecuted]);
    assert_eq!(found(&[&ours, &other], &[&ours, &other]), []);
}

#[test]
fn a_number_larger_than_any_of_the_platform_is_unknown() {
    let document = ExecutedOperation { op_id: U256::MAX, ..event(&forced()) };
    let findings = compare(&[confirmed(&mint(5))], &[event(&mint(5)), document], 9);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, FindingKind::UnknownOperation);
    assert!(findings[0].subject.ends_with(&U256::MAX.to_string()), "{}", findings[0].subject);
}
