//! The forms of the values in an event's data: a JSON Schema, a check and a sample of each.

use chrono::DateTime;
use serde_json::{Map, Value, json};

use super::{Field, Presence, object_schema};

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// An id with this prefix.
    Id(&'static str),
    /// The id of a wallet, or the address of one that the platform does not know.
    Wallet,
    /// One of the words of an enum.
    OneOf(&'static [&'static str]),
    /// A word or code of lower-case letters, with a sample.
    Word(&'static str),
    /// A sentence of the platform, with a sample.
    Text(&'static str),
    /// A whole number that is not negative.
    Integer,
    /// An amount of money with two decimals.
    Money,
    /// A quantity of tokens.
    Quantity,
    /// An address on a chain.
    Address,
    /// 32 bytes: the hash of a transaction, or of a report.
    Hash,
    /// A SHA-256 hash.
    Sha256,
    /// A time in UTC.
    Time,
    /// An object with these fields.
    Object(&'static [Field]),
    /// A list of objects with these fields.
    Objects(&'static [Field]),
    /// A list of words, with a sample.
    Words(&'static str),
}

const ID: &str = "01jc8yq3k5e9v8w2m4n6p7r9st";
const HASH: &str = "7d1afa7b718fb893db30a3abc0cfc608aacfebb0f1a3c4d5e6f708192a3b4c5d";
const ADDRESS: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const ADDRESS_PATTERN: &str = "0x[0-9a-fA-F]{40}";
const ID_PATTERN: &str = "[0-7][0-9a-hjkmnp-tv-z]{25}";

impl Form {
    pub(super) fn schema(self) -> Value {
        let text = |pattern: &str| json!({ "type": "string", "pattern": format!("^{pattern}$") });
        match self {
            Self::Id(prefix) => text(&format!("{prefix}_{ID_PATTERN}")),
            Self::Wallet => text(&format!("(wal_{ID_PATTERN}|{ADDRESS_PATTERN})")),
            Self::OneOf(words) => json!({ "type": "string", "enum": words }),
            Self::Word(_) => text("[a-z][a-z0-9_]*"),
            Self::Text(_) => json!({ "type": "string" }),
            Self::Integer => json!({ "type": "integer", "minimum": 0 }),
            Self::Money => text("(0|[1-9][0-9]*)[.][0-9]{2}"),
            Self::Quantity => text("(0|[1-9][0-9]*)([.][0-9]+)?"),
            Self::Address => text(ADDRESS_PATTERN),
            Self::Hash => text("0x[0-9a-f]{64}"),
            Self::Sha256 => text("[0-9a-f]{64}"),
            Self::Time => json!({ "type": "string", "format": "date-time" }),
            Self::Object(fields) => object_schema(fields.iter().copied()),
            Self::Objects(fields) => json!({ "type": "array", "items": object_schema(fields.iter().copied()) }),
            Self::Words(_) => json!({ "type": "array", "items": { "type": "string" } }),
        }
    }

    pub(super) fn sample(self) -> Value {
        match self {
            Self::Id(prefix) => json!(format!("{prefix}_{ID}")),
            Self::Wallet => json!(format!("wal_{ID}")),
            Self::OneOf(words) => json!(words.first()),
            Self::Word(sample) | Self::Text(sample) => json!(sample),
            Self::Integer => json!(1),
            Self::Money => json!("2500.00"),
            Self::Quantity => json!("250.00"),
            Self::Address => json!(ADDRESS),
            Self::Hash => json!(format!("0x{HASH}")),
            Self::Sha256 => json!(HASH),
            Self::Time => json!("2026-11-20T21:41:07.123Z"),
            Self::Object(fields) => sample_of(fields),
            Self::Objects(fields) => json!([sample_of(fields)]),
            Self::Words(sample) => json!([sample]),
        }
    }

    /// Whether a stored value has this form.
    pub(super) fn accepts(self, value: &Value) -> bool {
        let text = value.as_str();
        let is = |test: fn(&str) -> bool| text.is_some_and(test);
        match self {
            Self::Id(prefix) => text.and_then(|id| id.strip_prefix(prefix)).is_some_and(|rest| rest.starts_with('_')),
            Self::Wallet => is(|id| id.starts_with("wal_") || is_hex(id, 40)),
            Self::OneOf(words) => text.is_some_and(|word| words.contains(&word)),
            Self::Word(_) => {
                is(|word| !word.is_empty() && word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')))
            }
            Self::Text(_) => text.is_some(),
            Self::Integer => value.as_u64().is_some(),
            Self::Money => is(|amount| decimals(amount) == Some(2)),
            Self::Quantity => is(|quantity| decimals(quantity).is_some()),
            Self::Address => is(|address| is_hex(address, 40)),
            Self::Hash => is(|hash| is_hex(hash, 64)),
            Self::Sha256 => is(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())),
            Self::Time => is(|time| DateTime::parse_from_rfc3339(time).is_ok()),
            Self::Object(fields) => is_object(fields, value),
            Self::Objects(fields) => {
                value.as_array().is_some_and(|items| items.iter().all(|item| is_object(fields, item)))
            }
            Self::Words(_) => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        }
    }
}

fn sample_of(fields: &[Field]) -> Value {
    fields.iter().map(|field| (field.name.to_owned(), field.form.sample())).collect::<Map<_, _>>().into()
}

fn is_object(fields: &[Field], value: &Value) -> bool {
    let Some(given) = value.as_object() else { return false };
    let fits = |field: &Field| {
        given.get(field.name).map_or(field.presence == Presence::Sometimes, |value| field.accepts(value))
    };
    given.keys().all(|name| fields.iter().any(|field| field.name == name)) && fields.iter().all(fits)
}

fn is_hex(text: &str, digits: usize) -> bool {
    let rest = text.strip_prefix("0x");
    rest.is_some_and(|rest| rest.len() == digits && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// How many decimals a plain decimal number has.
fn decimals(text: &str) -> Option<usize> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (!whole.is_empty() && digits(whole) && digits(rest)).then_some(rest.len())
}
