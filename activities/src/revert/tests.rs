use super::*;
use crate::contract::bindings::token::PlatformSecurityToken7518 as Token;
use alloy::primitives::B256;
use serde_json::json;

#[test]
fn our_errors_are_named_with_their_operands() {
    let refused = Token::TransferRefused {
        from: Address::repeat_byte(1),
        to: Address::repeat_byte(2),
        partition: U256::from(3),
        amount: U256::from(4),
        reason: B256::right_padding_from(b"from_frozen"),
    };
    let revert = decode(&refused.abi_encode());
    assert_eq!(revert.name, "TransferRefused");
    assert_eq!(revert.operands[3], ("amount".to_owned(), "4".to_owned()));
    assert!(revert.sentence.ends_with(": from_frozen."), "{}", revert.sentence);
    let replayed = decode(&Token::OperationReplayed { opId: U256::from(9) }.abi_encode());
    assert_eq!(replayed.replayed_operation(), Some(U256::from(9)));
    assert_eq!(revert.replayed_operation(), None);
}

#[test]
fn other_reverts_are_named_and_long_data_is_cut() {
    let text = |data: &[u8]| decode(data).name;
    assert_eq!(text(&[]), "Empty");
    assert_eq!(text(&[1, 2]), "Unknown");
    assert_eq!(text(&[0xff; 36]), "Unknown");
    assert_eq!(
        decode(&ErrorString { reason: "paused".into() }.abi_encode()).sentence,
        "The contract rejected the call: paused."
    );
    assert_eq!(text(&Panic { code: U256::from(0x11) }.abi_encode()), "Panic");
    let long = decode(&ErrorString { reason: "x\n".repeat(1 << 20) }.abi_encode());
    assert!(long.data.len() == DATA_BYTES_MAX && long.sentence.len() < 500 && !long.sentence.contains('\n'));
    // A truncated error of ours must not be decoded.
    let cut = Token::OperationReplayed { opId: U256::from(9) }.abi_encode();
    assert_eq!(text(&cut[..20]), "Unknown");
}

#[test]
fn revert_data_is_found_in_every_known_place() {
    for data in [
        json!("0x0102"),
        json!("Reverted 0x0102"),
        json!({ "data": "0x0102" }),
        json!({ "data": { "result": "0x0102" } }),
    ] {
        assert_eq!(data_of(&data), Some(vec![1, 2]), "{data}");
    }
    for data in [json!(null), json!("no hex"), json!("0xzz"), json!([])] {
        assert_eq!(data_of(&data), None, "{data}");
    }
}
