//! An amount of money in a request: digits and two decimals in a string, never a number.

use muniment_domain::money::{AmountFormat, Money};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// An amount that is written soundly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub Money);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|why: AmountFormat| D::Error::custom(format!("amount_format: {why}.")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_string_with_two_decimals() {
        let read = |value: serde_json::Value| serde_json::from_value::<Amount>(value).map_err(|e| e.to_string());
        assert_eq!(read("12.50".into()), Ok(Amount(Money::from_minor(1250))));
        assert!(read("12.5".into()).unwrap_err().starts_with("amount_format: "));
        assert!(!read(12.5.into()).unwrap_err().starts_with("amount_format: "));
    }
}
