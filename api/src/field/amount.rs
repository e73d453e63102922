//! An amount of money: digits and two decimals in a string, never a number.

use muniment_domain::money::{AmountFormat, Money};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// An amount of money with two decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,12})\.[0-9]{2}$", example = "25000.00")]
pub struct Amount(pub Money);

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

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
    fn amount_is_a_string_with_two_decimals() {
        let read = |value: serde_json::Value| serde_json::from_value::<Amount>(value).map_err(|e| e.to_string());
        assert_eq!(read("12.50".into()), Ok(Amount(Money::from_minor(1250))));
        assert!(read("12.5".into()).unwrap_err().starts_with("amount_format: "));
        assert!(!read(12.5.into()).unwrap_err().starts_with("amount_format: "));
    }
}
