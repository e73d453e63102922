//! Writes the secrets file: at the first start, and by a rotation. The file is replaced as a whole, so that a crash leaves the old or the
//! new one.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Duration, Utc};
use ring::signature::Ed25519KeyPair;

use super::file::{Entry, Stored, failed, load, ripen};
use super::ring::SIGNED_GRACE;
use super::signing::public_of;
use crate::failure::Failure;

/// How long a new generation is published before it is used: every process and every portal has read it by then.
const PUBLISHED: Duration = Duration::hours(24);

/// The result of a rotation.
#[derive(Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The key that signs next.
    pub kid: String,
    /// From when on.
    pub from: DateTime<Utc>,
    /// Whether it is new; another one may have waited already.
    pub made: bool,
}

/// Makes a file where there is none. Of two processes that start at once one wins, and both read the same.
pub fn create(path: &Path, now: DateTime<Utc>, random: impl Fn() -> [u8; 16]) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| failed(path, &error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    write(&draft, &Stored { generations: vec![generate(now, &random).map_err(wrong)?] }).map_err(wrong)?;
    let named = std::fs::hard_link(&draft, path);
    std::fs::remove_file(&draft).map_err(wrong)?;
    match named {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // After a power cut the database would have the sample of a file that is not there.
        named => named.and_then(|()| sync_name(path)).map_err(wrong),
    }
}

/// Adds a generation, which takes over in a day, and takes out the private keys that nothing needs any more. Where one waits already there is
/// nothing to add: two that rotate at once rotate once.
pub fn rotate(
    path: &Path,
    now: DateTime<Utc>,
    token_seconds: i64,
    random: impl Fn() -> [u8; 16],
) -> Result<Rotation, Failure> {
    let wrong = |error: std::io::Error| failed(path, &error);
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside(path, "lock"));
    let lock = lock.map_err(wrong)?;
    lock.lock().map_err(wrong)?;
    let mut stored = load(path)?;
    let waits = stored.generations.last().is_some_and(|entry| entry.from > now);
    if !waits {
        stored.generations.push(Entry { from: now + PUBLISHED, ..generate(now, &random).map_err(wrong)? });
        retire(&mut stored.generations, now, token_seconds);
        replace(path, &stored).map_err(wrong)?;
    }
    let next = stored.generations.last().and_then(|entry| Some((entry.from, ripen(entry)?.key.kid)));
    let (from, kid) = next.ok_or_else(|| failed(path, &"it has no generation of secrets"))?;
    Ok(Rotation { kid, from, made: !waits })
}

/// Takes out what signed nothing that is still accepted.
fn retire(generations: &mut [Entry], now: DateTime<Utc>, token_seconds: i64) {
    let ends: Vec<_> = generations.iter().skip(1).map(|next| next.from).collect();
    for (entry, end) in generations.iter_mut().zip(ends) {
        if end + Duration::seconds(token_seconds) + SIGNED_GRACE <= now {
            entry.signing = None;
        }
    }
}

fn generate(from: DateTime<Utc>, random: &impl Fn() -> [u8; 16]) -> std::io::Result<Entry> {
    let broken = || std::io::Error::other("a signing key could not be created");
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).map_err(|_| broken())?;
    let public = public_of(pkcs8.as_ref()).ok_or_else(broken)?;
    let (signing, secret) = (Some(BASE64.encode(pkcs8.as_ref())), BASE64.encode([random(), random()].concat()));
    Ok(Entry { from, signing, public, secret })
}

/// Gives the name to a whole new file, which belongs to whom the old one belonged: it may be an administrator who rotates.
fn replace(path: &Path, stored: &Stored) -> std::io::Result<()> {
    let (draft, old) = (beside(path, "draft"), std::fs::metadata(path)?);
    let own = write(&draft, stored)?.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        chown(&draft, Some(old.uid()), Some(old.gid()))?;
    }
    std::fs::set_permissions(&draft, Permissions::from_mode(old.mode() & 0o770))?;
    std::fs::rename(&draft, path)?;
    // The name is on the disk as well, or a power cut would bring the old file back after portals have read the new key.
    sync_name(path)
}

fn sync_name(path: &Path) -> std::io::Result<()> {
    File::open(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))?.sync_all()
}

fn write(draft: &Path, stored: &Stored) -> std::io::Result<File> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft)?;
    file.write_all(serde_json::to_string_pretty(stored)?.as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

fn beside(path: &Path, word: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(word);
    name.into()
}
