//! Token units in JSON as a decimal string, because JSON numbers lose precision above 53 bits.
use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes the units.
pub fn serialize<S: Serializer>(units: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(units)
}

/// Reads the units.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}
