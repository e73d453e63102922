//! Units of tokens in JSON: decimal digits in a string, because a number there loses what is above 64 bits.
use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes the digits.
pub fn serialize<S: Serializer>(units: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(units)
}

/// Reads them.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}
