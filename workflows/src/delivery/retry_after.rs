//! The header `Retry-After` (RFC 9110, 10.2.3): seconds, or a time in one of the three forms of 5.6.7.

use chrono::{DateTime, NaiveDateTime, Utc};

/// The forms of a time. Senders use the first, and receivers read all.
const FORMS: [&str; 3] = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// The pause that the header asks for, in seconds. A time that has passed asks for none.
pub fn seconds(header: &str, now: DateTime<Utc>) -> Option<u64> {
    let text = header.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let time = FORMS.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?;
    Some(u64::try_from((time.and_utc() - now).num_seconds()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_each_form_of_a_time_are_read() {
        let now = DateTime::from_timestamp(784_111_700, 0).unwrap();
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", " 77 "]
        {
            assert_eq!(seconds(text, now), Some(77), "{text}");
        }
        assert_eq!(seconds("Sat, 05 Nov 1994 08:49:37 GMT", now), Some(0));
        for text in ["", "-1", "1.5", "soon", "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0100"] {
            assert_eq!(seconds(text, now), None, "{text}");
        }
    }
}
