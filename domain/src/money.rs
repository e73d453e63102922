//! Money: integer minor units inside, two decimals outside, never a float.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// An amount in minor units, up to 9 999 999 999 999.99. In JSON and in the configuration it is a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Money(i64);

/// The largest amount.
pub const MAXIMUM: Money = Money(999_999_999_999_999);

/// The text is not an amount.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an amount is a string such as \"1500.00\": digits without a leading zero, a point, two decimals, at most 9999999999999.99"
)]
pub struct AmountFormat;

impl Money {
    /// An amount from minor units, as the database stores it.
    pub const fn from_minor(minor: i64) -> Self {
        Self(minor)
    }

    /// The minor units.
    pub const fn minor(self) -> i64 {
        self.0
    }

    /// How many base units of a token the amount buys at this price; none if it is not a whole number.
    pub fn base_units(self, unit_price: Self, token_decimals: u32) -> Option<u128> {
        if unit_price.0 <= 0 || self.0 < 0 {
            return None;
        }
        let scaled = u128::try_from(self.0).ok()?.checked_mul(10u128.checked_pow(token_decimals)?)?;
        let price = u128::try_from(unit_price.0).ok()?;
        // A fraction of a base unit cannot be minted.
        (scaled % price == 0).then_some(scaled / price)
    }
}

impl FromStr for Money {
    type Err = AmountFormat;

    fn from_str(text: &str) -> Result<Self, AmountFormat> {
        let (whole, cents) = text.split_once('.').ok_or(AmountFormat)?;
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        // One spelling for each amount, so that equal amounts are equal texts.
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if !digits(whole) || whole.len() > 13 || leading_zero || !digits(cents) || cents.len() != 2 {
            return Err(AmountFormat);
        }
        let whole: i64 = whole.parse().map_err(|_| AmountFormat)?;
        let cents: i64 = cents.parse().map_err(|_| AmountFormat)?;
        Ok(Self(whole * 100 + cents))
    }
}

impl TryFrom<String> for Money {
    type Error = AmountFormat;

    fn try_from(text: String) -> Result<Self, AmountFormat> {
        text.parse()
    }
}

impl From<Money> for String {
    fn from(money: Money) -> Self {
        money.to_string()
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Decimal::new(self.0, 2))
    }
}

/// A token quantity as a decimal text, from base units.
pub fn quantity(base_units: u128, token_decimals: u32) -> String {
    let digits = format!("{base_units:0>width$}", width = token_decimals as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - token_decimals as usize);
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// The base units of a decimal quantity; none if it has more decimals than the token.
pub fn units(quantity: &str, token_decimals: u32) -> Option<u128> {
    let (whole, fraction) = quantity.split_once('.').unwrap_or((quantity, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let point_without_digits = fraction.is_empty() && quantity.contains('.');
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    let missing = (token_decimals as usize).checked_sub(fraction.len())?;
    if whole.is_empty() || leading_zero || point_without_digits || !digits(whole) || !digits(fraction) {
        return None;
    }
    format!("{whole}{fraction}{}", "0".repeat(missing)).parse().ok()
}

#[cfg(test)]
mod tests;
