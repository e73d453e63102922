//! The secrets of the interface: the keys that sign access tokens, and one secret from which every other token is computed.
//!
//! They lie in one file, made at the first start. Every process that serves the interface needs the same file: with another one it
//! knows no session that is open.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

const SECRET_BYTES: usize = 32;

/// What the file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// PKCS#8, base64url. The first signs; all are accepted, so an old one stays until its last token ran out.
    signing: Vec<String>,
    secret: String,
}

/// The secrets, read.
pub struct Secrets {
    /// The signing keys as PKCS#8, the one that signs first.
    pub signing: Vec<Vec<u8>>,
    mac: hmac::Key,
    seal: LessSafeKey,
}

impl Secrets {
    /// Reads the file, and makes it where there is none.
    pub fn open(path: &Path, random: impl Fn() -> [u8; 16]) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(format!("The secrets {} of `auth.key_file` cannot be used: {why}.", path.display()))
        };
        if !path.exists() {
            create(path, &random).map_err(|error| failed(&error))?;
        }
        let others = std::fs::metadata(path).map_err(|error| failed(&error))?.permissions().mode() & 0o007;
        if others != 0 {
            return Err(failed(&"everybody on this machine can read it; take that away by `chmod 600`"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        let stored: Stored = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        let decoded = |text: &String| BASE64.decode(text).map_err(|error| failed(&error));
        let secret = decoded(&stored.secret)?;
        let signing = stored.signing.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
        if secret.len() != SECRET_BYTES || signing.is_empty() {
            return Err(failed(&"it needs a secret of 32 bytes and a signing key"));
        }
        Self::new(&secret, signing).ok_or_else(|| failed(&"the secret is no key"))
    }

    fn new(secret: &[u8], signing: Vec<Vec<u8>>) -> Option<Self> {
        // Two keys from one secret, so that neither use can be turned against the other.
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = |label: &str| hmac::sign(&root, label.as_bytes());
        let mac = hmac::Key::new(hmac::HMAC_SHA256, derived("mac").as_ref());
        let seal = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, derived("seal").as_ref()).ok()?);
        Some(Self { signing, mac, seal })
    }

    /// The code that only this platform can compute for these parts. The purpose keeps a token of one kind from being one of another.
    pub fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Vec<u8> {
        hmac::sign(&self.mac, &message(purpose, parts)).as_ref().to_vec()
    }

    /// Whether a code is the one for these parts, in a time that does not tell how much of it is right.
    pub fn is_mac(&self, code: &[u8], purpose: &str, parts: &[&[u8]]) -> bool {
        hmac::verify(&self.mac, &message(purpose, parts), code).is_ok()
    }

    /// The same, as text.
    pub fn text_mac(&self, purpose: &str, parts: &[&[u8]]) -> String {
        BASE64.encode(self.mac(purpose, parts))
    }

    /// Whether a text is the code for these parts.
    pub fn is_text_mac(&self, code: &str, purpose: &str, parts: &[&[u8]]) -> bool {
        BASE64.decode(code).is_ok_and(|code| self.is_mac(&code, purpose, parts))
    }

    /// Encrypts something that belongs to an owner; it cannot be moved to another one.
    pub fn seal(&self, owner: &str, plain: &[u8], random: [u8; 16]) -> Option<String> {
        let nonce: [u8; NONCE_LEN] = random[..NONCE_LEN].try_into().ok()?;
        let mut sealed = plain.to_vec();
        let aad = Aad::from(owner.as_bytes());
        self.seal.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
        Some(BASE64.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Decrypts it again.
    pub fn unseal(&self, owner: &str, sealed: &str) -> Option<Vec<u8>> {
        let mut bytes = BASE64.decode(sealed).ok()?;
        let nonce: [u8; NONCE_LEN] = bytes.get(..NONCE_LEN)?.try_into().ok()?;
        let aad = Aad::from(owner.as_bytes());
        let plain = self.seal.open_in_place(Nonce::assume_unique_for_key(nonce), aad, &mut bytes[NONCE_LEN..]).ok()?;
        Some(plain.to_vec())
    }
}

// The lengths keep apart what is only together the same.
fn message(purpose: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::new();
    for part in [purpose.as_bytes()].iter().chain(parts) {
        message.extend((part.len() as u64).to_be_bytes());
        message.extend_from_slice(part);
    }
    message
}

/// Writes a whole file and then gives it its name, so that of two processes that start at once one wins and both read the same.
fn create(path: &Path, random: &impl Fn() -> [u8; 16]) -> std::io::Result<()> {
    let broken = |_| std::io::Error::other("no signing key could be made");
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new()).map_err(broken)?;
    let stored =
        Stored { signing: vec![BASE64.encode(pkcs8.as_ref())], secret: BASE64.encode([random(), random()].concat()) };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(serde_json::to_string_pretty(&stored)?.as_bytes())?;
    file.sync_all()?;
    let named = std::fs::hard_link(&draft, path);
    std::fs::remove_file(&draft)?;
    match named {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        named => named,
    }
}

#[cfg(test)]
pub mod tests;
