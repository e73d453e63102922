//! A page's line: a holder and units in one word, as the token and the distributor read it.
use alloy::primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize};

/// The most units that a line holds: 96 bits.
pub const UNITS_MAX: u128 = (1 << 96) - 1;

/// Units that no contract of ours can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{units} units for {holder} are more than the contract can hold (96 bits)")]
pub struct UnitsTooLarge {
    /// Who would get them.
    pub holder: Address,
    /// How many.
    pub units: u128,
}

/// One holder of a page and what is meant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Line {
    holder: Address,
    units: u128,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    holder: Address,
    #[serde(with = "crate::decimal")]
    units: u128,
}

impl Line {
    /// A line, if the units fit.
    pub fn new(holder: Address, units: u128) -> Result<Line, UnitsTooLarge> {
        match units <= UNITS_MAX {
            true => Ok(Line { holder, units }),
            false => Err(UnitsTooLarge { holder, units }),
        }
    }

    /// The line that a word stands for: every word is one.
    pub fn of_word(word: B256) -> Line {
        let mut units = [0; 16];
        units[4..].copy_from_slice(&word[20..]);
        Line { holder: Address::from_slice(&word[..20]), units: u128::from_be_bytes(units) }
    }

    /// Who it is for.
    pub fn holder(self) -> Address {
        self.holder
    }

    /// How many units.
    pub fn units(self) -> u128 {
        self.units
    }

    /// The word: the address in the high 20 bytes, the units in the low 12.
    pub fn word(self) -> B256 {
        let mut word = B256::ZERO;
        word[..20].copy_from_slice(self.holder.as_slice());
        word[20..].copy_from_slice(&self.units.to_be_bytes()[4..]);
        word
    }
}

impl TryFrom<Parts> for Line {
    type Error = UnitsTooLarge;

    fn try_from(parts: Parts) -> Result<Line, UnitsTooLarge> {
        Line::new(parts.holder, parts.units)
    }
}

impl From<Line> for Parts {
    fn from(line: Line) -> Parts {
        Parts { holder: line.holder, units: line.units }
    }
}

/// The line that stands in a word; every word is one.
pub fn of_word(word: B256) -> Line {
    let mut units = [0; 16];
    units[4..].copy_from_slice(&word[20..]);
    Line { holder: Address::from_slice(&word[..20]), units: u128::from_be_bytes(units) }
}

/// The units of a word.
pub fn units(word: B256) -> U256 {
    U256::from_be_slice(&word[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_holder_and_units() {
        let holder = Address::repeat_byte(0xab);
        for count in [0, 1, UNITS_MAX] {
            let word = Line::new(holder, count).unwrap().word();
            assert_eq!(word[..20], holder[..]);
            assert_eq!(units(word), U256::from(count));
            assert_eq!((Line::of_word(word).holder(), Line::of_word(word).units()), (holder, count));
        }
        assert!(Line::new(holder, UNITS_MAX + 1).is_err());
    }
}
