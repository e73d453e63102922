//! Numbers, times and identifiers as people read them. Templates pass references, code passes values.

use std::borrow::Borrow;

use chrono::{DateTime, Utc};

/// The time of day in UTC.
pub fn clock(at: impl Borrow<DateTime<Utc>>) -> String {
    at.borrow().format("%H:%M:%S").to_string()
}

/// A moment in full.
pub fn moment(at: impl Borrow<DateTime<Utc>>) -> String {
    at.borrow().format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A moment for somebody who reads it now: the time of day, after the day where that is not today.
pub fn instant(now: impl Borrow<DateTime<Utc>>, at: impl Borrow<DateTime<Utc>>) -> String {
    let at = at.borrow();
    let is_today = at.date_naive() == now.borrow().date_naive();
    if is_today { clock(at) } else { at.format("%Y-%m-%d %H:%M:%S").to_string() }
}

/// How long ago something was, in one unit.
pub fn age(now: impl Borrow<DateTime<Utc>>, at: impl Borrow<DateTime<Utc>>) -> String {
    span((*now.borrow() - *at.borrow()).num_seconds())
}

/// A duration, in its largest unit.
pub fn span(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// A number in groups of three.
pub fn number(value: impl Borrow<i64>) -> String {
    digits(&value.borrow().to_string())
}

/// A number that begins a sentence: a word up to nine.
pub fn spelled(value: i64) -> String {
    const WORDS: [&str; 10] = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    let word = usize::try_from(value).ok().and_then(|value| WORDS.get(value));
    word.map_or_else(|| number(value), |word| (*word).to_owned())
}

/// The digits of a number of any length in groups of three. The decimals are not changed.
pub fn digits(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("\u{2212}", whole));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// A number that is too long for a row, by its ends; nothing is rounded.
pub fn long_digits(text: &str) -> String {
    let length = text.len();
    if length <= 24 || !text.is_ascii() {
        return digits(text);
    }
    format!("{}…{} ({length} digits)", &text[..6], &text[length - 6..])
}

/// An address or a hash, by its ends.
pub fn short_hex(text: &str) -> String {
    if text.len() <= 12 || !text.is_ascii() {
        return text.to_owned();
    }
    format!("{}…{}", &text[..6], &text[text.len() - 4..])
}

/// A word of a sentence: an address by its ends, everything else whole.
pub fn short_hex_word(word: &str) -> String {
    if word.starts_with("0x") { short_hex(word) } else { word.to_owned() }
}

/// An id, by its last six characters.
pub fn short_id(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(6);
    text.chars().skip(skip).collect()
}

/// Names in a sentence: `a, b and c`.
pub fn list(names: &[String]) -> String {
    match names {
        [] => "No chain".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A count with its noun.
pub fn count(number: impl Borrow<i64>, one: &str, many: &str) -> String {
    let number = *number.borrow();
    format!("{} {}", self::number(number), if number == 1 { one } else { many })
}

/// Wei as whole coins with four decimals, rounded down.
pub fn coin(wei: &str) -> String {
    let padded = format!("{wei:0>19}");
    let (whole, rest) = padded.split_at(padded.len() - 18);
    format!("{}.{}", digits(whole), &rest[..4])
}

/// Wei as gwei with three decimals.
pub fn gwei(wei: &str) -> String {
    let padded = format!("{wei:0>10}");
    let (whole, rest) = padded.split_at(padded.len() - 9);
    format!("{}.{}", digits(whole), &rest[..3])
}

/// How long gas lasts: hours below two days, else days.
pub fn lasts(hours: i64) -> String {
    match hours {
        0 => "less than an hour".to_owned(),
        1..48 => count(hours, "hour", "hours"),
        _ => count(hours / 24, "day", "days"),
    }
}

/// A word of the API as text: `dead_letter` is `Dead letter`.
pub fn word(text: &str) -> String {
    let text = text.replace('_', " ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_shown_by_their_ends_and_never_rounded() {
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(long_digits(most), "115792…639935 (78 digits)");
        assert_eq!(digits("43764.32"), "43,764.32");
        assert_eq!(digits("-1000"), "\u{2212}1,000");
        assert_eq!([coin("1"), coin("9999123456789000000000")], ["0.0000", "9,999.1234"]);
        assert_eq!([gwei("1"), gwei("1500000000"), gwei("300000000000")], ["0.000", "1.500", "300.000"]);
        assert_eq!([spelled(3), spelled(10), spelled(1_200)], ["Three", "10", "1,200"]);
        assert_eq!((number(999), number(1_000)), ("999".to_owned(), "1,000".to_owned()));
    }

    #[test]
    fn a_moment_of_another_day_names_its_day() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap_or_default();
        let now = at("2026-11-29T03:12:44Z");
        assert_eq!(instant(now, at("2026-11-29T00:00:00Z")), "00:00:00");
        assert_eq!(instant(now, at("2026-11-28T23:59:59Z")), "2026-11-28 23:59:59");
        assert_eq!(instant(now, at("2025-11-29T03:12:44Z")), "2025-11-29 03:12:44");
    }

    #[test]
    fn a_span_has_one_unit() {
        assert_eq!([59, 60, 3_600, 90_000].map(span), ["59 s", "1 min", "1 h", "1 d"]);
        assert_eq!([0, 1, 47, 48].map(lasts), ["less than an hour", "1 hour", "47 hours", "2 days"]);
    }
}
