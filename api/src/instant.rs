//! How a time looks in an answer: RFC 3339 in UTC with milliseconds.

use chrono::{DateTime, SecondsFormat, Utc};

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
