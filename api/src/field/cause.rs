//! The reason of a compliance action in a request: a case and a document.

use alloy_primitives::B256;
use muniment_domain::reason::Reason;
use muniment_workflows::compliance::Cause;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

const REFERENCE_CHARACTERS_MAX: usize = 200;

/// The reference of a case in your own files.
#[derive(Clone, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 200, example = "case 2026-117")]
pub struct CaseReference(pub String);

impl<'de> Deserialize<'de> for CaseReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let length = text.chars().count();
        if (1..=REFERENCE_CHARACTERS_MAX).contains(&length) && !text.chars().any(char::is_control) {
            return Ok(Self(text));
        }
        Err(D::Error::custom(format!(
            "reference_format: The reference must have 1 to {REFERENCE_CHARACTERS_MAX} characters."
        )))
    }
}

/// The SHA-256 of a document in hexadecimal. The document itself is not uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^[0-9a-f]{64}$", example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
pub struct Digest(pub B256);

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let lower = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let digest = text.parse().ok().filter(|_| lower).map(Self);
        digest.ok_or_else(|| D::Error::custom("digest_format: The SHA-256 must have 64 lower-case hexadecimal digits."))
    }
}

/// A partition of a token: a number as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, pattern = "^(0|[1-9][0-9]{0,9})$", example = "1")]
pub struct Partition(pub u32);

impl<'de> Deserialize<'de> for Partition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.parse::<u32>().ok().filter(|number| number.to_string() == text).map(Self);
        number.ok_or_else(|| {
            D::Error::custom("partition_unknown: The partition must be a number in a string, such as \"1\".")
        })
    }
}

/// The three fields together.
pub fn cause(reason: Reason, case: Option<&CaseReference>, document: Option<Digest>) -> Cause {
    Cause {
        reason_code: reason,
        case_reference: case.map(|case| case.0.clone()),
        document_sha256: document.map(|document| document.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    #[test]
    fn invalid_value_has_its_own_code() {
        fn refused<T: for<'de> Deserialize<'de>>(value: Value) -> String {
            from_value::<T>(value).err().unwrap().to_string()
        }
        for value in [json!(""), json!("a\nb"), json!("x".repeat(201))] {
            assert!(refused::<CaseReference>(value).starts_with("reference_format: "));
        }
        for value in [json!("ab"), json!("AB".repeat(32)), json!(format!("0x{}", "ab".repeat(31)))] {
            assert!(refused::<Digest>(value).starts_with("digest_format: "));
        }
        for value in [json!(""), json!("01"), json!("+1"), json!("1.0"), json!("4294967296")] {
            assert!(refused::<Partition>(value).starts_with("partition_unknown: "));
        }
        assert_eq!(from_value::<Partition>(json!("12")).unwrap(), Partition(12));
        assert_eq!(from_value::<Digest>(json!("ab".repeat(32))).unwrap().0, B256::repeat_byte(0xab));
    }
}
