//! Canonical JSON (RFC 8785): equal values have equal texts, so a hash does not depend on how the JSON was written.

use alloy_primitives::Address;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The largest integer that every JSON reader represents exactly.
const INTEGER_MAX: u64 = (1 << 53) - 1;

/// A number without a canonical text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a whole number of at most 53 bits; write it as a string")]
pub struct Inexact(String);

/// The canonical text of a value. Numbers must be whole and at most 53 bits, because readers disagree on all others.
pub fn text(value: &Value) -> Result<String, Inexact> {
    let mut text = String::new();
    write(value, &mut text)?;
    Ok(text)
}

/// The value with every address in its checksum form (EIP-55), as people compare it. Payloads are stored and hashed so.
pub fn with_checksums(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(checksum_of(&text).unwrap_or(text)),
        Value::Array(items) => items.into_iter().map(with_checksums).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, with_checksums(value))).collect(),
        other => other,
    }
}

fn checksum_of(text: &str) -> Option<String> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40)?;
    Some(digits.parse::<Address>().ok()?.to_checksum(None))
}

/// SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

fn write(value: &Value, out: &mut String) -> Result<(), Inexact> {
    match value {
        Value::Number(number) => {
            let size = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            // A fraction has no exact size either.
            if size.is_none_or(|size| size > INTEGER_MAX) {
                return Err(Inexact(number.to_string()));
            }
            out.push_str(&number.to_string());
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            // The RFC sorts by UTF-16 code units, not by bytes.
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, item)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(&Value::String(key.clone()), out)?;
                out.push(':');
                write(item, out)?;
            }
            out.push('}');
        }
        // serde_json escapes the same characters as the RFC, in the same way.
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_example_of_the_rfc_gives_its_text() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis",
        });
        let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With \
                        Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet \
                        With Dagesh\"}";
        assert_eq!(text(&value).unwrap(), expected);
    }

    #[test]
    fn equal_values_have_equal_texts() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let one = text(&read("{ \"b\": [1, -2, true, null], \"a\": \"\\u0041\\n\\u001f/\" }")).unwrap();
        assert_eq!(one, "{\"a\":\"A\\n\\u001f/\",\"b\":[1,-2,true,null]}");
        assert_eq!(text(&read(&one)).unwrap(), one);
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_number_that_readers_read_differently_is_rejected() {
        for number in [json!(1.5), json!(9_007_199_254_740_992_u64), json!(-9_007_199_254_740_992_i64), json!(u64::MAX)]
        {
            assert!(text(&json!({ "n": number })).is_err(), "{number}");
        }
        assert_eq!(text(&json!(9_007_199_254_740_991_u64)).unwrap(), "9007199254740991");
    }
}
