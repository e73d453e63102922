//! The format of the secrets file.

use std::fmt::Display;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ring::{Generation, Ring};
use super::signing::{Key, public_of};
use crate::failure::Failure;

const SECRET_BYTES: usize = 32;

/// The content of the file, the oldest generation first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// At least one.
    pub generations: Vec<Entry>,
}

/// One generation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When it takes over.
    pub from: DateTime<Utc>,
    /// PKCS#8, base64url; taken out by the first rotation after its last token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing: Option<String>,
    /// Its public half stays: what it signed for ever, such as the anchors of the audit log, is checked by it.
    pub public: String,
    /// It stays to decrypt what it encrypted.
    pub secret: String,
}

/// The format before rotations existed. The first key signs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unrotated {
    signing: Vec<String>,
    secret: String,
}

/// Identifies a version of the file.
#[derive(PartialEq, Eq)]
pub struct Stamp(u64, u64, Option<SystemTime>);

impl Stamp {
    /// None where there is no file.
    pub fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self(found.ino(), found.len(), found.modified().ok()))
    }
}

/// The generations of a file.
pub fn read(path: &Path) -> Result<Ring, Failure> {
    let wrong = |why: &dyn Display| failed(path, why);
    let generations = load(path)?.generations.iter().map(ripen).collect::<Option<Vec<_>>>();
    generations
        .and_then(Ring::of)
        .ok_or_else(|| wrong(&"each generation needs a secret of 32 bytes and a key, in their order"))
}

/// The content in either format.
pub fn load(path: &Path) -> Result<Stored, Failure> {
    let wrong = |why: &dyn Display| failed(path, why);
    let others = std::fs::metadata(path).map_err(|error| wrong(&error))?.permissions().mode() & 0o007;
    if others != 0 {
        return Err(wrong(&"every user of the machine can read it; run `chmod 600`"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    if value.get("generations").is_some() {
        return serde_json::from_value(value).map_err(|error| wrong(&error));
    }
    let old: Unrotated = serde_json::from_value(value).map_err(|error| wrong(&error))?;
    let entry = |signing: &String| {
        let public = BASE64.decode(signing).ok().and_then(|pkcs8| public_of(&pkcs8))?;
        let from = DateTime::UNIX_EPOCH;
        Some(Entry { from, signing: Some(signing.clone()), public, secret: old.secret.clone() })
    };
    let generations = old.signing.iter().rev().map(entry).collect::<Option<_>>();
    Ok(Stored { generations: generations.ok_or_else(|| wrong(&"a signing key is not an Ed25519 key"))? })
}

/// A generation, ready to be used; none if it is no key.
pub fn ripen(entry: &Entry) -> Option<Generation> {
    let pkcs8 = entry.signing.as_ref().map(|text| BASE64.decode(text)).transpose().ok()?;
    let secret = BASE64.decode(&entry.secret).ok().filter(|secret| secret.len() == SECRET_BYTES)?;
    Generation::of(entry.from, Key::of(&entry.public, pkcs8.as_deref())?, &secret)
}

/// Why the file cannot be used.
pub fn failed(path: &Path, why: &dyn Display) -> Failure {
    Failure::new(format!("The secrets {} of `auth.key_file` cannot be used: {why}.", path.display()))
}
