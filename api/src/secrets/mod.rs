//! The secrets of the interface: the keys that sign access tokens, and the secrets from which every other token is computed.
//!
//! 1. All of them are in the file of `auth.key_file`, which the first start creates. Every process that serves the interface needs the same
//!    file: the database has a sample that it encrypted, and a process whose file cannot decrypt the sample does not start.
//! 2. Refresh tokens, CSRF tokens and the tokens of mails are codes over ids. The database has none of them, so a copy of it opens nothing.
//! 3. The file has generations. A rotation adds one a day before it is used, and running processes read it by themselves. Tokens, codes and
//!    sealed data of an older generation stay valid as long as they live.

mod eddsa;
mod file;
mod ring;
mod sample;
mod signing;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ::ring::aead::{Aad, NONCE_LEN, Nonce};
use ::ring::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::db::Db;
use tokio_util::sync::CancellationToken;

pub use self::ring::Ring;
pub use self::sample::{KeyFile, RESTORE, accept_loss, compare};
pub use self::signing::Key;
pub use self::write::rotate;
use crate::failure::Failure;

/// How often it is looked whether the file is another one: a look at its name, and no more.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The secrets as they were read last.
pub struct Secrets {
    path: PathBuf,
    clock: Clock,
    /// The sample of the database, which a file that is read later has to decrypt as well. None where there is no database.
    sample: Option<String>,
    held: RwLock<Held>,
}

struct Held {
    ring: Arc<Ring>,
    stamp: Option<file::Stamp>,
}

impl Secrets {
    /// The secrets of a database. The file is created if the database was not used with one yet; a file of another database is refused.
    pub async fn open(path: &Path, db: &Db) -> Result<Self, Failure> {
        if compare(path, db).await?.accepted(path)? == KeyFile::New {
            write::create(path, db.clock().now(), || db.ids().bytes())?;
        }
        let secrets = Self::read(path, db.clock())?;
        let sample = Some(sample::stored(&secrets, db).await?);
        sample::check(&secrets.ring(), sample.as_deref(), path)?;
        Ok(Self { sample, ..secrets })
    }

    fn read(path: &Path, clock: &Clock) -> Result<Self, Failure> {
        // Looked at first: what changes while it is read is read again.
        let stamp = file::Stamp::of(path);
        let held = RwLock::new(Held { ring: Arc::new(file::read(path)?), stamp });
        Ok(Self { path: path.to_owned(), clock: clock.clone(), sample: None, held })
    }

    /// Reads the file again if it has changed, and returns whether it had. On an error the previous secrets stay in use.
    pub fn look_again(&self) -> Result<bool, Failure> {
        let stamp = file::Stamp::of(&self.path);
        if self.held.read().unwrap_or_else(PoisonError::into_inner).stamp == stamp {
            return Ok(false);
        }
        let read = file::read(&self.path).and_then(|ring| {
            sample::check(&ring, self.sample.as_deref(), &self.path)?;
            Ok(ring)
        });
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.stamp = stamp;
        held.ring = Arc::new(read?);
        Ok(true)
    }

    /// All generations.
    pub fn ring(&self) -> Arc<Ring> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).ring.clone()
    }

    /// The time by which generations come and go.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The code that only this platform can compute for these parts. The purpose keeps a token of one kind from being one of another.
    pub fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Vec<u8> {
        hmac::sign(&self.ring().current(self.now()).mac, &message(purpose, parts)).as_ref().to_vec()
    }

    /// The code under every generation, the current one first. A row has the code of its time.
    pub fn macs(&self, purpose: &str, parts: &[&[u8]]) -> Vec<Vec<u8>> {
        let (ring, message) = (self.ring(), message(purpose, parts));
        let of = |mac: &hmac::Key| hmac::sign(mac, &message).as_ref().to_vec();
        let today = of(&ring.current(self.now()).mac);
        let others = ring.all().map(|generation| of(&generation.mac)).filter(|code| *code != today);
        std::iter::once(today.clone()).chain(others.collect::<Vec<_>>()).collect()
    }

    /// Whether a code is the one for these parts, in a time that does not tell how much of it is right.
    pub fn is_mac(&self, code: &[u8], purpose: &str, parts: &[&[u8]]) -> bool {
        let message = message(purpose, parts);
        self.ring().computing(self.now()).any(|generation| hmac::verify(&generation.mac, &message, code).is_ok())
    }

    /// The same, as text.
    pub fn text_mac(&self, purpose: &str, parts: &[&[u8]]) -> String {
        BASE64.encode(self.mac(purpose, parts))
    }

    /// The code of the text under every generation, the current one first.
    pub fn text_macs(&self, purpose: &str, parts: &[&[u8]]) -> Vec<String> {
        self.macs(purpose, parts).iter().map(|code| BASE64.encode(code)).collect()
    }

    /// Whether a text is the code for these parts.
    pub fn is_text_mac(&self, code: &str, purpose: &str, parts: &[&[u8]]) -> bool {
        BASE64.decode(code).is_ok_and(|code| self.is_mac(&code, purpose, parts))
    }

    /// Encrypts something that belongs to an owner; it cannot be moved to another one.
    pub fn seal(&self, owner: &str, plain: &[u8], random: [u8; 16]) -> Option<String> {
        let nonce: [u8; NONCE_LEN] = random[..NONCE_LEN].try_into().ok()?;
        let mut sealed = plain.to_vec();
        let (ring, aad) = (self.ring(), Aad::from(owner.as_bytes()));
        let key = &ring.current(self.now()).seal;
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
        Some(BASE64.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Decrypts it again.
    pub fn unseal(&self, owner: &str, sealed: &str) -> Option<Vec<u8>> {
        self.ring().unseal(owner, sealed)
    }
}

/// Follows the file until it is told to stop, so that a rotation needs no restart.
pub async fn follow(secrets: Arc<Secrets>, stop: CancellationToken) -> Result<(), Failure> {
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        match secrets.look_again() {
            Ok(false) => {}
            Ok(true) => tracing::info!(auth.generations = secrets.ring().all().count(), "the secrets were read again"),
            Err(failure) => {
                tracing::error!(error.cause = %failure, "the secrets could not be read, the previous ones stay in use")
            }
        }
    }
    Ok(())
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

#[cfg(test)]
pub mod tests;
