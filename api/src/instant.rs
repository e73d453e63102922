//! How a time looks in an answer: RFC 3339 in UTC with milliseconds.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// A time in an answer.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-20T21:41:07.123Z")]
pub struct Instant(pub DateTime<Utc>);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(self.0))
    }
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
    fn a_time_has_milliseconds_and_a_z() {
        let at = DateTime::from_timestamp_micros(1_763_674_867_123_456).unwrap();
        assert_eq!(text(at), "2025-11-20T21:41:07.123Z");
    }
}
