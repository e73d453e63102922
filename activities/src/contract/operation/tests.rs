//! Unit tests of `operation.rs`.
use std::collections::BTreeMap;

use super::*;
use crate::token;

const SOURCE: &str = include_str!("../../../../contracts/src/Operations.sol");
const TOKEN: Address = Address::repeat_byte(0x70);
const STRANGER: Address = Address::repeat_byte(9);

/// The constants of the contract that name a kind.
fn words() -> Vec<&'static str> {
    let lines = SOURCE.lines().filter(|line| line.trim_start().starts_with("bytes32 internal constant _"));
    lines.filter_map(|line| line.split('"').nth(1)).collect()
}

/// The bit of a kind, as `_indexOf` computes it from the word and the zeros behind it.
fn bit(word: &str) -> u32 {
    let bytes = word.bytes().chain(std::iter::repeat(0)).take(32);
    bytes.fold(0, |rest, byte| (rest * 256 + u32::from(byte)) % 149) & 0xf
}

fn event_of(op_id: U256, data: &Bytes) -> OperationExecuted {
    OperationExecuted { opId: op_id, kind: kind_of(data).unwrap(), payloadHash: payload_hash(data) }
}

fn log(address: Address, event: &OperationExecuted) -> Log {
    let encoded = event.encode_log_data();
    Log { address, topics: encoded.topics().to_vec(), data: encoded.data }
}

fn mined(address: Address, op_id: U256) -> ChainLog {
    let Log { address, topics, data } = log(address, &event_of(op_id, &recovery()));
    let (block_hash, tx_hash) = (B256::ZERO, B256::ZERO);
    ChainLog { address, topics, data, block_number: 1, block_hash, tx_hash, log_index: 0 }
}

fn recovery() -> Bytes {
    token::recover(Address::ZERO, TOKEN, Address::repeat_byte(1), Address::repeat_byte(2), 3).data
}

fn reinstatement() -> Bytes {
    token::reinstate(Address::ZERO, TOKEN, Address::repeat_byte(1), 3).data
}

fn receipt(events: &[OperationExecuted]) -> Receipt {
    Receipt {
        tx_hash: B256::ZERO,
        block_number: 1,
        block_hash: B256::ZERO,
        from: Address::ZERO,
        to: Some(TOKEN),
        contract_address: None,
        success: true,
        gas_used: 0,
        effective_gas_price: 0,
        logs: events.iter().map(|event| log(TOKEN, event)).collect(),
    }
}

#[test]
fn no_two_kinds_share_a_bit() {
    assert!(SOURCE.contains("return (uint256(kind) % 149) & 0xf;"), "the bit is computed in another way");
    let mut taken: BTreeMap<u32, &str> = BTreeMap::new();
    for word in words() {
        let before = taken.insert(bit(word), word);
        assert_eq!(before, None, "{word} has the same bit as this kind, and each would use up the other's numbers");
    }
    assert!(taken.len() >= 11, "{taken:?}");
    assert_eq!(bit("notice"), bit("recovery"), "this check can fail");
}

#[test]
fn only_numbers_that_the_platform_can_issue_raise_the_highest_one() {
    let text = U256::from_be_bytes(*b"Judgment of 3 May, court of Riga");
    let largest = U256::from(OPERATION_NUMBER_MAX);
    let numbers = [U256::from(4), text, largest + U256::ONE, U256::from(u64::MAX), U256::from(2)];
    let mut logs: Vec<ChainLog> = numbers.iter().map(|number| mined(TOKEN, *number)).collect();
    logs.push(mined(STRANGER, U256::from(8)));
    assert_eq!(highest(&logs, TOKEN), Ok(4));
    assert_eq!(highest(&[mined(TOKEN, largest)], TOKEN), Ok(OPERATION_NUMBER_MAX));
    assert_eq!(highest(&[], TOKEN), Ok(0));
}

#[test]
fn an_effect_is_found_among_events_with_the_same_number() {
    let (number, ours, other) = (U256::from(3), recovery(), reinstatement());
    let both = receipt(&[event_of(number, &other), event_of(number, &ours)]);
    assert_eq!(executed_effect(&both, TOKEN, 3, &ours), Ok(()));
    assert_eq!(executed_effect(&both, TOKEN, 3, &other), Ok(()));
    let said = |event: OperationExecuted| executed_effect(&receipt(&[event]), TOKEN, 3, &ours).unwrap_err().0;
    assert!(said(event_of(number, &other)).contains("has no event of operation 3"));
    let another = OperationExecuted { payloadHash: B256::ZERO, ..event_of(number, &ours) };
    assert!(said(another).contains("was executed with the payload"));
}
