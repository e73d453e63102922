//! What strangers write goes through parsers. Here they get what nobody would write: chance, and sound texts with a few bytes changed.
//! The seed is fixed, so that a failure comes again.

use axum::http::{HeaderMap, HeaderValue, Uri};
use chrono::{DateTime, Duration};
use muniment_domain::id;
use muniment_domain::money::Money;
use serde_json::Value;

use crate::address::Typed;
use crate::amount::Amount;
use crate::body;
use crate::cause::{CaseReference, Digest, Partition};
use crate::csrf;
use crate::idempotency;
use crate::pages::{LIMIT_MAX, Page, Parameters};
use crate::principal::bearer;
use crate::secrets::tests::fresh;

const ROUNDS: usize = 20_000;
/// What parsers trip over: signs, escapes, zeros, other scripts, the ends of ranges.
const SPICE: &[&str] = &[
    "",
    "0",
    "-",
    "+",
    ".",
    "..",
    "00",
    "%",
    "%00",
    "%2B",
    "&",
    "=",
    "\"",
    "\\",
    "\u{0}",
    "\n",
    " ",
    "_",
    "1e9",
    "NaN",
    "٣",
    "é",
    "\u{202e}",
    "9223372036854775808",
    "18446744073709551616",
    "{",
    "[",
    "null",
    "Bearer ",
    ",",
    "0x",
];

/// A splitmix64 sequence.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 1).unwrap_or(0) % bound.max(1)
    }

    /// A sound text with up to three of its characters changed, doubled or taken away; now and then something else altogether.
    fn spoil(&mut self, sound: &str) -> String {
        let mut letters: Vec<String> = sound.chars().map(String::from).collect();
        if self.below(20) == 0 {
            letters = (0..self.below(12)).map(|_| SPICE[self.below(SPICE.len())].to_owned()).collect();
        }
        for _ in 0..self.below(4) {
            let at = self.below(letters.len() + 1);
            match self.below(4) {
                0 => letters.insert(at, SPICE[self.below(SPICE.len())].to_owned()),
                1 if at < letters.len() => _ = letters.remove(at),
                2 if at < letters.len() => letters[at] = SPICE[self.below(SPICE.len())].to_owned(),
                _ if at < letters.len() => letters.swap(at, 0),
                _ => {}
            }
        }
        letters.concat()
    }
}

#[test]
fn an_amount_that_is_taken_is_written_the_same_way_again() {
    let mut chance = Chance(1);
    for _ in 0..ROUNDS {
        let minor = i64::try_from(chance.below(999_999_999_999_999)).unwrap();
        let text = Money::from_minor(minor).to_string();
        assert_eq!(text.parse::<Money>().map(Money::minor), Ok(minor));
        let spoilt = chance.spoil(&text);
        if let Ok(money) = spoilt.parse::<Money>() {
            assert_eq!(money.to_string(), spoilt);
        }
    }
}

#[test]
fn an_id_that_is_taken_has_its_prefix_and_twenty_six_digits() {
    let mut chance = Chance(2);
    for _ in 0..ROUNDS {
        let text = chance.spoil("off_01jc8yq3k5e9v8w2m4n6p7r9st");
        if id::check("off", &text).is_ok() {
            let digits = text.strip_prefix("off_").unwrap();
            assert!(
                digits.len() == 26 && digits.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase()),
                "{text}"
            );
        }
    }
}

#[test]
fn a_query_is_a_page_in_range_or_refused() {
    let mut chance = Chance(3);
    for _ in 0..ROUNDS {
        let text = chance.spoil("/v1/users?page=17&limit=50");
        let Ok(uri) = text.parse::<Uri>() else { continue };
        match Parameters::read(&uri, &["page", "limit"]).and_then(|parameters| Page::of(&parameters)) {
            Ok(page) => {
                assert!(page.number >= 1 && (1..=LIMIT_MAX).contains(&page.limit) && page.offset() <= 100_000, "{text}")
            }
            Err(problem) => assert_eq!(problem.code.status(), 400, "{text}"),
        }
    }
}

#[test]
fn a_body_is_read_or_told_where_it_does_not_fit() {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether it can be read matters")]
    struct Form {
        amount: Amount,
        address: Typed,
        case: Option<CaseReference>,
        digest: Digest,
        partition: Partition,
        at: Option<DateTime<chrono::Utc>>,
    }
    let sound = serde_json::json!({
        "amount": "250.00", "address": "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "case": "7", "digest": "ab".repeat(32),
        "partition": "1", "at": "2026-12-31T12:00:00Z",
    });
    assert!(body::parse::<Form>(sound.to_string().as_bytes()).is_ok());
    let mut chance = Chance(4);
    for _ in 0..ROUNDS {
        let text = chance.spoil(&sound.to_string());
        if let Err(problem) = body::parse::<Form>(text.as_bytes()) {
            let told = problem.body("/v1/x", "req_1");
            assert!(matches!(problem.code.status(), 400 | 422), "{text}");
            assert_eq!(told["errors"].is_array(), problem.code.status() == 422, "{text}: {told}");
        } else {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }
}

#[test]
fn a_token_with_a_byte_changed_is_no_token() {
    let (secrets, now) = (fresh(), DateTime::UNIX_EPOCH + Duration::days(20_000));
    let token = csrf::issue(&secrets, "ses_1", now + Duration::hours(1), [3; 16]);
    let mut chance = Chance(5);
    for _ in 0..ROUNDS {
        let spoilt = chance.spoil(&token);
        let taken = csrf::judge(&secrets, spoilt.as_bytes(), "ses_1", now).is_ok();
        assert_eq!(taken, spoilt == token, "{spoilt}");
    }
}

#[test]
fn headers_are_read_or_refused() {
    let mut chance = Chance(6);
    for _ in 0..ROUNDS {
        let text = chance.spoil("Bearer rap_live_4f9G");
        if let Some(token) = bearer(&text) {
            assert!(!token.is_empty() && text.ends_with(token) || text.trim_end().ends_with(token), "{text}");
        }
        let Ok(value) = HeaderValue::from_bytes(chance.spoil("\"mint-2026-11\"").as_bytes()) else { continue };
        let headers = HeaderMap::from_iter([(axum::http::HeaderName::from_static(idempotency::HEADER), value)]);
        if let Ok(key) = idempotency::key_of(&headers) {
            assert!((1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
        }
    }
}
