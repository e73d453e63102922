//! One line of a page: a holder and units packed into one word, as the token and the distributor read it.
use alloy::primitives::{Address, B256, U256};
use serde::{Deserialize, Serialize};

/// The highest units of a line: 96 bits.
pub const UNITS_MAX: u128 = (1 << 96) - 1;

/// The units do not fit into a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{units} units for {holder} do not fit into 96 bits")]
pub struct UnitsTooLarge {
    /// The holder.
    pub holder: Address,
    /// The units.
    pub units: u128,
}

/// A holder of a page and the units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Line {
    holder: Address,
    units: u128,
}

/// The outcome of one line of a payment through the distributor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// The wallet that was paid.
    Paid(Address),
    /// The distributor withholds the money because the holder is frozen.
    Frozen,
    /// The distributor withholds the money because the coin refused the transfer.
    TransferFailed,
    /// The distributor still keeps what it withheld before: a claim could not pay it.
    Kept,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    holder: Address,
    #[serde(with = "crate::contract::decimal")]
    units: u128,
}

impl Line {
    /// A line, if the units fit into 96 bits.
    pub fn new(holder: Address, units: u128) -> Result<Line, UnitsTooLarge> {
        match units <= UNITS_MAX {
            true => Ok(Line { holder, units }),
            false => Err(UnitsTooLarge { holder, units }),
        }
    }

    /// Reads a line from a word. Every word is a valid line.
    pub fn of_word(word: B256) -> Line {
        let mut units = [0; 16];
        // The low 12 bytes are the units.
        units[4..].copy_from_slice(&word[20..]);
        Line { holder: Address::from_slice(&word[..20]), units: u128::from_be_bytes(units) }
    }

    /// The holder.
    pub fn holder(self) -> Address {
        self.holder
    }

    /// The units.
    pub fn units(self) -> u128 {
        self.units
    }

    /// The word: address in the high 20 bytes, units in the low 12.
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

/// The words of several lines, in order.
pub(crate) fn words(lines: &[Line]) -> Vec<B256> {
    lines.iter().map(|line| line.word()).collect()
}

/// The units in a word, without its holder.
pub fn units(word: B256) -> U256 {
    U256::from_be_slice(&word[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives_the_round_trip_through_its_word() {
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
