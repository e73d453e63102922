//! An address in a request. Mixed case is a checksum (EIP-55) and must be correct; lower case is accepted without a checksum.

use std::str::FromStr;

use alloy_primitives::Address;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// An EVM address with a valid checksum. Each operation checks whether it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(as = Address, value_type = String, pattern = "^0x[0-9a-fA-F]{40}$", example = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")]
pub struct Typed(pub Address);

impl Serialize for Typed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_checksum(None))
    }
}

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

impl FromStr for Typed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text).map(Self)
    }
}

fn read(text: &str) -> Result<Address, &'static str> {
    let form = "address_format: The address must be 0x and 40 hexadecimal digits.";
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40).ok_or(form)?;
    let address: Address = digits.parse().map_err(|_| form)?;
    let bare = digits.bytes().all(|byte| !byte.is_ascii_uppercase());
    if bare || address.to_checksum(None) == text {
        return Ok(address);
    }
    Err("address_checksum: The checksum of the address is wrong, so a digit is wrong. Copy the address again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_digit_breaks_the_checksum() {
        let right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
        assert_eq!(read(right).unwrap().to_checksum(None), right);
        assert_eq!(read(&right.to_lowercase()), read(right));
        for wrong in ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee", "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"] {
            assert!(read(wrong).unwrap_err().starts_with("address_checksum"), "{wrong}");
        }
        for text in ["", "0x", &right[2..], &right[..41], "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg", "0X5aaeb6"] {
            assert!(read(text).unwrap_err().starts_with("address_format"), "{text}");
        }
    }
}
