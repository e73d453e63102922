//! Parsers get random input, and valid input with some bytes changed. The seed is fixed, so that a failure can be repeated.

use std::net::IpAddr;

use alloy_primitives::{Address, hex};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Duration};
use muniment_activities::wallet_proof;
use muniment_domain::id::{self, OfferingId};
use muniment_domain::money::Money;
use muniment_domain::webhook::url;
use serde_json::Value;

use crate::access::csrf;
use crate::access::principal::bearer;
use crate::auth::access_token::AccessTokens;
use crate::auth::totp;
use crate::change::idempotency;
use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::field::cause::{CaseReference, Digest, Partition};
use crate::http::body;
use crate::http::instant::{self, Instant};
use crate::http::origin::{self, Origin, Peer};
use crate::http::pages::{LIMIT_MAX, Page};
use crate::http::version::{IfMatch, etag};
use crate::secrets::tests::fresh;

const ROUNDS: usize = 20_000;
/// Input that often breaks parsers: signs, escapes, zeros, other scripts, the ends of ranges.
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

/// A sequence that repeats.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(id::split_mix(&mut self.0) >> 1).unwrap_or(0) % bound.max(1)
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
fn accepted_amount_round_trips() {
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
fn accepted_id_has_prefix_and_26_digits() {
    let mut chance = Chance(2);
    for _ in 0..ROUNDS {
        let text = chance.spoil("off_01jc8yq3k5e9v8w2m4n6p7r9st");
        if OfferingId::from(text.as_str()).is_sound() {
            let digits = text.strip_prefix("off_").unwrap();
            assert!(
                digits.len() == 26 && digits.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase()),
                "{text}"
            );
        }
    }
}

#[test]
fn query_out_of_range_is_refused() {
    let mut chance = Chance(3);
    for _ in 0..ROUNDS {
        let text = chance.spoil("/v1/users?page=17&limit=50");
        let Ok(uri) = text.parse::<Uri>() else { continue };
        match Page::read(&uri, &[]) {
            Ok((page, _)) => {
                assert!(page.number >= 1 && (1..=LIMIT_MAX).contains(&page.limit) && page.offset() <= 100_000, "{text}")
            }
            Err(problem) => assert_eq!(problem.code.status(), 400, "{text}"),
        }
    }
}

#[test]
fn body_errors_name_the_field() {
    #[derive(serde::Deserialize, utoipa::ToSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether it can be read matters")]
    struct Form {
        amount: Amount,
        address: Typed,
        case: Option<CaseReference>,
        digest: Digest,
        partition: Partition,
        at: Option<Instant>,
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
            let told = problem.body("", "/v1/x", "req_1");
            assert!(matches!(problem.code.status(), 400 | 422), "{text}");
            assert_eq!(told["errors"].is_array(), problem.code.status() == 422, "{text}: {told}");
        } else {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }
}

#[test]
fn changed_token_is_refused() {
    let (secrets, now) = (fresh(), DateTime::UNIX_EPOCH + Duration::days(20_000));
    let token = csrf::issue(&secrets, &"ses_1".into(), now + Duration::hours(1), [3; 16]);
    let mut chance = Chance(5);
    for _ in 0..ROUNDS {
        let spoilt = chance.spoil(&token);
        let taken = csrf::verify(&secrets, spoilt.as_bytes(), &"ses_1".into(), now).is_ok();
        assert_eq!(taken, spoilt == token, "{spoilt}");
    }
}

#[test]
fn invalid_headers_are_refused() {
    let mut chance = Chance(6);
    for _ in 0..ROUNDS {
        let text = chance.spoil("Bearer rap_live_4f9G");
        if let Some(token) = bearer(&text) {
            assert!(!token.is_empty() && text.ends_with(token) || text.trim_end().ends_with(token), "{text}");
        }
        let Ok(value) = HeaderValue::from_bytes(chance.spoil("\"mint-2026-11\"").as_bytes()) else { continue };
        let headers = HeaderMap::from_iter([(HeaderName::from_static(idempotency::HEADER), value)]);
        if let Ok(Some(key)) = idempotency::key_of(&headers) {
            assert!((1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
        }
    }
}

/// A header that may hold any bytes that a connection lets through.
fn header_of(name: HeaderName, text: &str) -> Option<HeaderMap> {
    Some(HeaderMap::from_iter([(name, HeaderValue::from_bytes(text.as_bytes()).ok()?)]))
}

#[test]
fn accepted_version_round_trips() {
    let mut chance = Chance(7);
    for _ in 0..ROUNDS {
        let text = chance.spoil("\"v17\"");
        let Some(headers) = header_of(header::IF_MATCH, &text) else { continue };
        match IfMatch::optional(&headers) {
            Ok(Some(IfMatch(version))) => {
                let digits = text.trim().trim_matches(|c| c == '"' || c == 'v').trim_start_matches('0');
                assert!(etag(version) == format!("\"v{digits}\"") || version == 0, "{text}");
            }
            Ok(None) => panic!("{text} was sent"),
            Err(problem) => assert_eq!(problem.code.status(), 400, "{text}"),
        }
    }
}

#[test]
fn accepted_time_round_trips() {
    let mut chance = Chance(8);
    for _ in 0..ROUNDS {
        let text = chance.spoil("2026-11-20T23:41:07.123+02:00");
        let Some(at) = instant::read(&text) else { continue };
        let again = instant::read(&instant::text(at)).unwrap();
        // A leap second is the end of the one before it.
        assert!((again - at).num_milliseconds().abs() <= 1_000 && instant::text(again).len() == 24, "{text}");
    }
}

#[test]
fn signature_has_the_required_form() {
    let message = "portal.example wants you to sign in with your Ethereum account:";
    let (victim, mut chance) = (Address::repeat_byte(7), Chance(9));
    let sound = format!("{}1b", "5d".repeat(64));
    for _ in 0..ROUNDS / 10 {
        let text = chance.spoil(&sound);
        let bytes = hex::decode(&text).unwrap_or_else(|_| text.clone().into_bytes());
        let found = wallet_proof::signer(message, &bytes);
        assert!(found != Some(victim) && (found.is_none() || bytes.len() == 65), "{text}");
    }
    assert!(wallet_proof::signer(message, &hex::decode(&sound).unwrap()).is_some());
}

#[test]
fn unsigned_access_token_is_refused() {
    let (tokens, mut chance) = (AccessTokens::new(fresh().into(), "https://api.example", 900), Chance(10));
    let kid = serde_json::json!(tokens.jwks())["keys"][0]["kid"].clone();
    let head = serde_json::json!({ "typ": "at+jwt", "alg": "EdDSA", "kid": kid }).to_string();
    let claims =
        r#"{"iss":"https://api.example","aud":"platform-api","sub":"usr_1","sid":"ses_1","exp":4102444800,"nbf":0}"#;
    for _ in 0..ROUNDS {
        let part = |text: &str| BASE64.encode(text);
        // Now the texts are spoilt, now what they are wrapped in.
        let token = match chance.below(3) {
            0 => format!("{}.{}.{}", part(&chance.spoil(&head)), part(claims), part("c")),
            1 => format!("{}.{}.{}", part(&head), part(&chance.spoil(claims)), "A".repeat(86)),
            _ => chance.spoil(&format!("{}.{}.{}", part(&head), part(claims), "A".repeat(86))),
        };
        assert!(tokens.read(&token).is_err(), "{token}");
    }
}

#[test]
fn six_digit_codes_are_checked() {
    let (secret, now, mut chance) = (b"12345678901234567890", 1_111_111_109, Chance(11));
    for _ in 0..ROUNDS / 10 {
        let code = chance.spoil("081804");
        let taken = totp::step_of(secret, &code, now, 0).is_some();
        assert!(!taken || (code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit())), "{code}");
    }
    assert!(totp::step_of(secret, "081804", now, 0).is_some());
}

#[test]
fn client_address_cannot_be_forged() {
    let peer: IpAddr = "203.0.113.9".parse().unwrap();
    let mut chance = Chance(12);
    for _ in 0..ROUNDS {
        let text = chance.spoil("198.51.100.7, 2001:db8::1, 203.0.113.10");
        let Some(headers) = header_of(HeaderName::from_static("x-forwarded-for"), &text) else { continue };
        assert_eq!(Origin::of(&headers, Some(&Peer(peer)), &[]).ip, peer, "{text}");
        // A proxy of ours is believed for the hop that it heard, and for no other.
        let last =
            text.rsplit(',').next().unwrap_or_default().trim().parse().map_or(peer, |ip: IpAddr| ip.to_canonical());
        let told = Origin::of(&headers, Some(&Peer(peer)), &[peer]).ip;
        assert!(
            told == last || last == peer || HeaderValue::from_bytes(text.as_bytes()).is_ok_and(|v| v.to_str().is_err()),
            "{text}"
        );
        let network = chance.spoil("2001:db8::/32");
        if origin::is_within(peer, &network) == Some(true) {
            assert!(network.parse::<IpAddr>() == Ok(peer) || network.contains('/'), "{network}");
        }
        let page = chance.spoil("https://portal.example");
        let Some(headers) = header_of(header::ORIGIN, &page) else { continue };
        let known = ["https://portal.example".to_owned()];
        assert_eq!(origin::check_page(&headers, &known).is_ok(), page == known[0], "{page}");
    }
}

#[test]
fn accepted_endpoint_is_a_public_host() {
    let mut chance = Chance(13);
    for _ in 0..ROUNDS {
        let text = chance.spoil("https://hooks.portal.example:8443/in?a=b");
        if let Ok((host, port)) = url::check(&text, false) {
            let plain = host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'));
            assert!(plain && host.parse::<IpAddr>().is_err() && port > 0, "{text}");
        }
    }
}
