//! A key that signs access tokens, or only its public half while its tokens are still accepted.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{DecodingKey, EncodingKey};
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::{Digest, Sha256};

use super::eddsa;

/// The key.
pub struct Key {
    /// Its name in tokens (RFC 7638).
    pub kid: String,
    /// Its public half, base64url.
    pub public: String,
    /// The signing key.
    pub encoding: Option<EncodingKey>,
    /// The verifying key.
    pub decoding: DecodingKey,
}

impl Key {
    /// From its public half and, while there is one, the private one as PKCS#8. None if they are no key.
    pub fn of(public: &str, pkcs8: Option<&[u8]>) -> Option<Self> {
        // No token is signed or read without a key, so this comes first.
        eddsa::install();
        if pkcs8.is_some_and(|pkcs8| public_of(pkcs8).as_deref() != Some(public)) {
            return None;
        }
        // RFC 7638: the required members in alphabetical order.
        let thumbprint = Sha256::digest(format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{public}\"}}"));
        let decoding = DecodingKey::from_ed_components(public).ok()?;
        let (kid, encoding) = (BASE64.encode(thumbprint), pkcs8.map(EncodingKey::from_ed_der));
        Some(Self { kid, public: public.to_owned(), encoding, decoding })
    }
}

/// The public half, base64url.
pub fn public_of(pkcs8: &[u8]) -> Option<String> {
    let pair = Ed25519KeyPair::from_pkcs8(pkcs8).ok()?;
    Some(BASE64.encode(pair.public_key().as_ref()))
}
