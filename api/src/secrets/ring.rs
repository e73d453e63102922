//! The generations of the secrets. Each takes over at its time; the one before is accepted as long as its tokens can live.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Duration, Utc};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

use super::signing::Key;

/// How long after its last token a signing key stays known.
pub const SIGNED_GRACE: Duration = Duration::hours(1);
/// How long codes of an older generation are accepted: a session, whose refresh tokens they are, ends after a month. CSRF tokens and links of
/// mails say themselves when they end.
const CODES_LIFE: Duration = Duration::days(31);

/// One generation.
pub struct Generation {
    /// When it takes over.
    pub from: DateTime<Utc>,
    /// The key that signs access tokens.
    pub key: Key,
    /// The key of codes.
    pub mac: hmac::Key,
    /// The encryption key.
    pub seal: LessSafeKey,
}

impl Generation {
    /// From the parts of the file; none if the secret is no key.
    pub fn of(from: DateTime<Utc>, key: Key, secret: &[u8]) -> Option<Self> {
        // Two keys from one secret, so that neither use can be turned against the other.
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = |label: &str| hmac::sign(&root, label.as_bytes());
        let mac = hmac::Key::new(hmac::HMAC_SHA256, derived("mac").as_ref());
        let seal = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, derived("seal").as_ref()).ok()?);
        Some(Self { from, key, mac, seal })
    }
}

/// All of them, the oldest first; at least one, and at least one that signs.
pub struct Ring(Vec<Generation>);

impl Ring {
    /// None without one that signs.
    pub fn of(generations: Vec<Generation>) -> Option<Self> {
        let signs = generations.iter().any(|generation| generation.key.encoding.is_some());
        (signs && generations.is_sorted_by_key(|generation| generation.from)).then_some(Self(generations))
    }

    /// All, the oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Generation> {
        self.0.iter()
    }

    /// The generation that creates new codes.
    pub fn current(&self, now: DateTime<Utc>) -> &Generation {
        let ripe = |generation: &&Generation| generation.from <= now && generation.key.encoding.is_some();
        // A clock that went back behind all of them leaves the oldest that can still sign.
        let first = || self.0.iter().find(|generation| generation.key.encoding.is_some());
        self.0.iter().rev().find(ripe).or_else(first).unwrap_or(&self.0[0])
    }

    /// The generations whose codes are accepted, including the current and future ones.
    pub fn computing(&self, now: DateTime<Utc>) -> impl Iterator<Item = &Generation> {
        self.until(now, CODES_LIFE)
    }

    /// Decrypts what was sealed for an owner, under whichever generation it was: rows keep it for years.
    pub fn unseal(&self, owner: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = BASE64.decode(sealed).ok()?;
        let nonce: [u8; NONCE_LEN] = bytes.get(..NONCE_LEN)?.try_into().ok()?;
        self.all().rev().find_map(|generation| {
            let (mut text, aad) = (bytes[NONCE_LEN..].to_vec(), Aad::from(owner.as_bytes()));
            let plain = generation.seal.open_in_place(Nonce::assume_unique_for_key(nonce), aad, &mut text).ok()?;
            Some(plain.to_vec())
        })
    }

    /// The keys by which access tokens of so many seconds are accepted, the one that signs first.
    pub fn signing(&self, now: DateTime<Utc>, token_seconds: i64) -> Vec<&Key> {
        let known = self.until(now, Duration::seconds(token_seconds) + SIGNED_GRACE).map(|generation| &generation.key);
        let mut keys: Vec<_> = known.filter(|key| key.encoding.is_some()).collect();
        let signs = &self.current(now).key.kid;
        keys.sort_by_key(|key| key.kid != *signs);
        keys
    }

    /// The keys that are current, or were replaced recently.
    fn until(&self, now: DateTime<Utc>, life: Duration) -> impl Iterator<Item = &Generation> {
        let replaced = self.0.iter().skip(1).map(|next| Some(next.from)).chain([None]);
        let lives = move |end: Option<DateTime<Utc>>| end.is_none_or(|end| now < end + life);
        self.0.iter().zip(replaced).filter(move |(_, end)| lives(*end)).map(|(generation, _)| generation)
    }
}
