//! A page's line: a holder and units in one word, as the token and the distributor read it.
use alloy::primitives::{Address, B256, U256, aliases::U96};

/// The word of a line: the address in the high 20 bytes, the units in the low 12.
pub fn pack(holder: Address, units: U96) -> B256 {
    let mut word = B256::ZERO;
    word[..20].copy_from_slice(holder.as_slice());
    word[20..].copy_from_slice(&units.to_be_bytes::<12>());
    word
}

/// The holder of a line.
pub fn holder(word: B256) -> Address {
    Address::from_slice(&word[..20])
}

/// The units of a line.
pub fn units(word: B256) -> U256 {
    U256::from_be_slice(&word[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_holder_and_units() {
        for units_in in [U96::ZERO, U96::from(1), U96::MAX] {
            let word = pack(Address::repeat_byte(0xab), units_in);
            assert_eq!(holder(word), Address::repeat_byte(0xab));
            assert_eq!(units(word), U256::from(units_in));
        }
    }
}
