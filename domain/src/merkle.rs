//! The Merkle root over entitlements, in the form that contract libraries verify.

use alloy_primitives::{Address, B256, U256, keccak256};

/// The leaf of an entitlement: keccak256 twice over its ABI encoding, so that no inner node can be presented as a leaf.
pub fn leaf(wallet: Address, balance: u128, gross: i64, withholding: i64, net: i64) -> B256 {
    let mut bytes = Vec::with_capacity(160);
    bytes.extend(wallet.into_word());
    for number in [balance, money(gross), money(withholding), money(net)] {
        bytes.extend(U256::from(number).to_be_bytes::<32>());
    }
    keccak256(keccak256(bytes))
}

fn money(minor: i64) -> u128 {
    u128::from(minor.unsigned_abs())
}

/// The root of the leaves; each pair is hashed in sorted order. A leaf without a partner moves up unchanged.
pub fn root(mut level: Vec<B256>) -> B256 {
    level.sort_unstable();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| if let [a, b] = pair { node(*a, *b) } else { pair[0] }).collect();
    }
    level.pop().unwrap_or_default()
}

fn node(a: B256, b: B256) -> B256 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    keccak256([low.0, high.0].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_depends_on_every_line_but_not_on_their_order() {
        let lines: Vec<B256> = (1u8..8).map(|n| leaf(Address::repeat_byte(n), u128::from(n), 9, 1, 8)).collect();
        let whole = root(lines.clone());
        let mut turned = lines.clone();
        turned.reverse();
        assert_eq!(root(turned), whole);
        for at in 0..lines.len() {
            let mut other = lines.clone();
            other[at] = leaf(Address::repeat_byte(at as u8 + 1), at as u128 + 1, 9, 2, 7);
            assert_ne!(root(other), whole);
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert_ne!(root(fewer), whole);
        }
        assert_eq!(root(vec![lines[0]]), lines[0]);
        assert_eq!(root(Vec::new()), B256::ZERO);
    }
}
