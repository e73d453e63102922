//! Whether the key file is the one of the database. The database has a sample that the file encrypted at the first start. Generations stay in
//! the file, so a rotation leaves the sample readable.

use std::path::Path;

use muniment_domain::db::Db;
use muniment_domain::point::Point;
use muniment_domain::{second_factor, secrets_sample};

use super::{Ring, Secrets, file, write};
use crate::failure::Failure;

const OWNER: &str = "secrets sample";
const PLAIN: &[u8] = b"muniment";

/// What to do about a file that is missing or another one.
pub const RESTORE: &str = "Restore the file from its backup, or set `auth.key_file` to where it is. If it is lost for good, README.md says what to \
                           do under \"If the key file is lost\".";

/// What the key file is to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    /// It decrypts the sample.
    Fits,
    /// The database has no sample yet: the first start stores one.
    Untried,
    /// There is no file, and the database was not used with one.
    New,
    /// There is no file, and the database was used with one.
    Missing,
    /// It does not decrypt the sample.
    Foreign,
}

impl KeyFile {
    /// Refuses a file with which nothing of the database could be read.
    pub fn accepted(self, path: &Path) -> Result<Self, Failure> {
        match self {
            Self::Missing => Err(Failure::new(format!(
                "The key file {} of `auth.key_file` is missing, and this database was used with one. No new file was created. {RESTORE}",
                path.display()
            ))),
            Self::Foreign => Err(Failure::new(format!(
                "The key file {} of `auth.key_file` is not the one of this database: it cannot decrypt what is stored there. {RESTORE}",
                path.display()
            ))),
            fitting => Ok(fitting),
        }
    }
}

/// Compares the file with the database. Nothing is changed.
pub async fn compare(path: &Path, db: &Db) -> Result<KeyFile, Failure> {
    let mut tx = db.read().await?;
    let sample = secrets_sample::find(&mut tx).await?;
    if !path.try_exists().map_err(|error| file::failed(path, &error))? {
        let used = sample.is_some() || secrets_sample::is_needed(&mut tx).await?;
        return Ok(if used { KeyFile::Missing } else { KeyFile::New });
    }
    let ring = file::read(path)?;
    Ok(match sample {
        // An older database has no sample. What it encrypted for logins tells as well.
        None => match second_factor::all(&mut tx).await?.as_slice() {
            [] => KeyFile::Untried,
            all if all.iter().any(|one| ring.unseal(&one.user_id, &one.secret_sealed).is_some()) => KeyFile::Untried,
            _ => KeyFile::Foreign,
        },
        Some(sample) if decrypts(&ring, &sample) => KeyFile::Fits,
        Some(_) => KeyFile::Foreign,
    })
}

/// Refuses generations that cannot decrypt the sample.
pub fn check(ring: &Ring, sample: Option<&str>, path: &Path) -> Result<(), Failure> {
    let fits = sample.is_none_or(|sample| decrypts(ring, sample));
    let file = if fits { KeyFile::Fits } else { KeyFile::Foreign };
    file.accepted(path).map(drop)
}

/// The sample of the database. The first process stores its own.
pub async fn stored(secrets: &Secrets, db: &Db) -> Result<String, Failure> {
    if let Some(sample) = secrets_sample::find(&mut db.read().await?).await? {
        return Ok(sample);
    }
    let own = encrypted(secrets, db)?;
    let mut tx = db.begin().await?;
    // Not an act of the command that happens to be the first to open the secrets.
    tx.exclude_from_audit();
    secrets_sample::insert(&mut tx, &own).await?;
    // Of two processes that start at once one is the first, and both read the same.
    let sample = secrets_sample::find(&mut tx).await?.unwrap_or(own);
    tx.commit(Point::Housekeeping).await?;
    Ok(sample)
}

/// Goes on with another file, or a new one, after the file of the database was lost. Second factors that it cannot decrypt are removed, because
/// they would keep their users out. Returns how many.
pub async fn accept_loss(path: &Path, db: &Db) -> Result<usize, Failure> {
    match compare(path, db).await? {
        KeyFile::Missing => write::create(path, db.clock().now(), || db.ids().bytes())?,
        KeyFile::Foreign => {}
        KeyFile::Fits | KeyFile::Untried | KeyFile::New => {
            return Err(Failure::new("No key file was lost: the processes can start. Nothing was changed."));
        }
    }
    let secrets = Secrets::read(path, db.clock())?;
    let mut tx = db.begin().await?;
    secrets_sample::replace(&mut tx, &encrypted(&secrets, db)?).await?;
    let mut removed = 0;
    for factor in second_factor::all(&mut tx).await? {
        if secrets.unseal(&factor.user_id, &factor.secret_sealed).is_none() {
            second_factor::remove(&mut tx, &factor.user_id).await?;
            removed += 1;
        }
    }
    tx.commit(Point::Account).await?;
    Ok(removed)
}

fn encrypted(secrets: &Secrets, db: &Db) -> Result<String, Failure> {
    let sealed = secrets.seal(OWNER, PLAIN, db.ids().bytes());
    sealed.ok_or_else(|| Failure::new("The sample of the secrets cannot be encrypted."))
}

fn decrypts(ring: &Ring, sample: &str) -> bool {
    ring.unseal(OWNER, sample).as_deref() == Some(PLAIN)
}

#[cfg(test)]
mod tests {
    use muniment_domain::clock::Clock;
    use muniment_domain::id::Ids;
    use muniment_domain::role::Role;
    use muniment_domain::{migrate, user};

    use super::*;
    use crate::secrets::tests::Place;

    async fn unused() -> Db {
        let db = Db::open("sqlite::memory:", 1, Clock::System, Ids::Random).await.unwrap();
        migrate::run(&db).await.unwrap();
        db
    }

    #[tokio::test]
    async fn a_database_has_the_key_file_of_the_first_of_two_processes() {
        let (db, one, other) = (unused().await, Place::new("one"), Place::new("other"));
        assert_eq!(compare(&one.path, &db).await.unwrap(), KeyFile::New);
        other.open();
        assert_eq!(compare(&other.path, &db).await.unwrap(), KeyFile::Untried);
        let (first, second) = tokio::join!(Secrets::open(&one.path, &db), Secrets::open(&other.path, &db));
        assert_ne!(first.is_ok(), second.is_ok(), "one of them stored its sample");
        let (fits, foreign) = if first.is_ok() { (&one, &other) } else { (&other, &one) };
        assert_eq!(compare(&fits.path, &db).await.unwrap(), KeyFile::Fits);
        assert_eq!(compare(&foreign.path, &db).await.unwrap(), KeyFile::Foreign);
        assert!(Secrets::open(&fits.path, &db).await.is_ok());
    }

    #[tokio::test]
    async fn a_database_without_a_sample_gets_no_new_file_if_something_is_encrypted() {
        let (db, place) = (unused().await, Place::new("older"));
        let secrets = place.open();
        let mut tx = db.begin().await.unwrap();
        let user_id = user::insert(&mut tx, "ada@people.example", "Ada", Role::Investor).await.unwrap();
        let sealed = secrets.seal(&user_id, b"seed", db.ids().bytes()).unwrap();
        second_factor::enrol(&mut tx, &user_id, &sealed).await.unwrap();
        tx.commit(Point::Account).await.unwrap();

        let away = place.path.with_extension("away");
        std::fs::rename(&place.path, &away).unwrap();
        assert!(Secrets::open(&place.path, &db).await.is_err() && !place.path.exists());
        std::fs::rename(&away, &place.path).unwrap();
        assert!(Secrets::open(&place.path, &db).await.is_ok());
        assert!(accept_loss(&place.path, &db).await.is_err(), "nothing was lost");

        std::fs::remove_file(&place.path).unwrap();
        assert_eq!(accept_loss(&place.path, &db).await.unwrap(), 1);
        assert_eq!(compare(&place.path, &db).await.unwrap(), KeyFile::Fits);
    }

    #[tokio::test]
    async fn a_file_of_another_database_is_not_read_later_either() {
        let (db, place, other) = (unused().await, Place::new("own"), Place::new("foreign"));
        let secrets = Secrets::open(&place.path, &db).await.unwrap();
        let code = secrets.mac("refresh", &[b"a"]);
        other.open();
        std::fs::rename(&other.path, &place.path).unwrap();
        assert!(secrets.look_again().is_err());
        assert_eq!((secrets.look_again().unwrap(), secrets.mac("refresh", &[b"a"])), (false, code));
    }
}
