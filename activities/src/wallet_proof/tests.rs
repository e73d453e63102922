//! Unit tests of `wallet_proof.rs`.

use alloy::primitives::U256;
use alloy::signers::{SignerSync, local::PrivateKeySigner};

use super::*;

fn message(address: Address) -> Message<'static> {
    Message {
        domain: "portal.example",
        address,
        uri: "https://portal.example",
        chain_id: 11_155_111,
        nonce: "8f3a1c2b9d4e5f60",
        issued_at: "2026-11-21T08:00:00.000Z",
        expires_at: "2026-11-21T08:10:00.000Z",
        request_id: "wal_01k",
    }
}

#[test]
fn the_text_has_the_form_of_the_standard() {
    let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed".parse().unwrap();
    let lines = [
        "portal.example wants you to sign in with your Ethereum account:",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "",
        "Show that this wallet is yours. This costs nothing and moves nothing.",
        "",
        "URI: https://portal.example",
        "Version: 1",
        "Chain ID: 11155111",
        "Nonce: 8f3a1c2b9d4e5f60",
        "Issued At: 2026-11-21T08:00:00.000Z",
        "Expiration Time: 2026-11-21T08:10:00.000Z",
        "Request ID: wal_01k",
    ];
    assert_eq!(message(address).to_string(), lines.join("\n"));
}

#[test]
fn only_the_low_s_signature_over_this_exact_text_recovers_the_signer() {
    let key = PrivateKeySigner::from_bytes(&[7; 32].into()).unwrap();
    let (asked, own) = (message(key.address()), key.address());
    let signed = key.sign_message_sync(asked.to_string().as_bytes()).unwrap();
    let bytes = signed.as_bytes();
    let of = |bytes: &[u8]| signer(&asked.to_string(), bytes);
    assert_eq!(of(&bytes), Some(own));
    let parity = |byte: u8| [&bytes[..64], &[byte]].concat();
    assert_eq!(of(&parity(bytes[64] - 27)), Some(own), "as hardware wallets write it");
    for wrong in
        [parity(bytes[64] + 10), parity(2), bytes[..64].to_vec(), [&bytes[..], &[0]].concat(), vec![0; 65], vec![]]
    {
        assert_eq!(of(&wrong), None, "{wrong:?}");
    }
    // The same r with the order of the curve minus s and the other parity is valid ECDSA too, but it is not what the key signed.
    let order: U256 = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141".parse().unwrap();
    let twin = Signature::new(signed.r(), order - signed.s(), !signed.v());
    assert_eq!(twin.recover_address_from_msg(asked.to_string()).unwrap(), own, "it would recover to the same key");
    assert_eq!(of(&twin.as_bytes()), None);
    let others = [
        Message { nonce: "0000000000000000", ..asked.clone() },
        Message { domain: "evil.example", ..asked.clone() },
        Message { uri: "https://evil.example", ..asked.clone() },
        Message { address: Address::ZERO, ..asked.clone() },
        Message { chain_id: 1, ..asked.clone() },
        Message { expires_at: "2027-11-21T08:10:00.000Z", ..asked.clone() },
    ];
    for other in others {
        let signed = key.sign_message_sync(other.to_string().as_bytes()).unwrap();
        assert_ne!(of(&signed.as_bytes()), Some(own), "{other}");
    }
}
