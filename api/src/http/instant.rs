//! Times in RFC 3339: in answers in UTC with milliseconds, in requests with any offset.

use chrono::{DateTime, Datelike, SecondsFormat, Utc};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// A time in RFC 3339, in UTC.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-20T21:41:07.123Z")]
pub struct Instant(pub DateTime<Utc>);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(self.0))
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let detail = "use a time such as 2026-11-20T21:41:07Z, with a year of four digits";
        read(&String::deserialize(deserializer)?).map(Self).ok_or_else(|| D::Error::custom(detail))
    }
}

/// The time that a text says, if it is one that every database can hold and sort.
pub fn read(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).map(|at| at.to_utc()).ok().filter(|at| has_four_digits(at.year()))
}

/// Whether a year is one of those that are written with four digits.
pub const fn has_four_digits(year: i32) -> bool {
    year >= 1 && year <= 9999
}

/// The text of a time.
pub fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The text of a time that may not have come.
pub fn optional(at: Option<DateTime<Utc>>) -> Option<String> {
    at.map(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_written_in_utc_with_milliseconds() {
        let at = DateTime::from_timestamp_micros(1_763_674_867_123_456).unwrap();
        assert_eq!(text(at), "2025-11-20T21:41:07.123Z");
    }

    #[test]
    fn time_needs_a_four_digit_year() {
        assert_eq!(read("2025-11-20T22:41:07.123456+01:00"), DateTime::from_timestamp_micros(1_763_674_867_123_456));
        for wrong in [
            "",
            "2025-11-20",
            "2025-11-20T21:41:07",
            "+12025-11-20T21:41:07Z",
            "-0001-01-01T00:00:00Z",
            "0001-01-01T00:00:00+10:00",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
