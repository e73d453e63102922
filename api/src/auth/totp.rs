//! Six-digit codes that change every 30 seconds (RFC 6238), as authenticator apps compute them.

use ring::hmac;

/// For how many seconds a code is shown.
const STEP_SECONDS: i64 = 30;
/// How many steps a clock may be off.
const STEPS_OFF: i64 = 1;
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The step that a code belongs to, if it is right now and later than the last one that was taken.
pub fn step_of(secret: &[u8], code: &str, now: i64, last: i64) -> Option<i64> {
    let current = now / STEP_SECONDS;
    // All are computed, whichever fits: the time says nothing about which it was.
    let fits: Vec<_> =
        (current - STEPS_OFF..=current + STEPS_OFF).filter(|step| code_at(secret, *step) == code).collect();
    fits.into_iter().find(|step| *step > last)
}

fn code_at(secret: &[u8], step: i64) -> String {
    // SHA-1 is what the apps know; as a keyed code it is not broken.
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[tag.len() - 1] & 0xf);
    let word = u32::from_be_bytes([tag[offset] & 0x7f, tag[offset + 1], tag[offset + 2], tag[offset + 3]]);
    format!("{:06}", word % 1_000_000)
}

/// Base32 without padding, which is what the apps are given.
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut held, mut bits) = (0u32, 0u32);
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(ALPHABET[(held >> bits & 31) as usize]));
        }
    }
    if bits > 0 {
        text.push(char::from(ALPHABET[(held << (5 - bits) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn totp_codes_match_the_rfc() {
        for (at, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")]
        {
            assert_eq!(step_of(SECRET, code, at, 0), Some(at / 30), "{at}");
        }
    }

    #[test]
    fn totp_code_works_once_and_only_near_its_time() {
        assert_eq!(step_of(SECRET, "287082", 59 + 30, 0), Some(1));
        assert_eq!(step_of(SECRET, "287082", 59 + 60, 0), None);
        assert_eq!(step_of(SECRET, "287082", 59, 1), None);
        assert_eq!(step_of(SECRET, "28708", 59, 0), None);
    }

    #[test]
    fn base32_is_what_the_standard_says() {
        for (plain, text) in [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foobar", "MZXW6YTBOI")] {
            assert_eq!(base32(plain.as_bytes()), text);
        }
    }
}
