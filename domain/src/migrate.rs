//! The migrations, carried in the binary.

use sqlx::migrate::{MigrateError, Migrator};

use crate::db::{Db, Pools};
use crate::{Error, Result};

static MIGRATOR: Migrator = sqlx::migrate!();

/// Brings the tables up to this binary. A database that is newer is refused: an old binary must not write to it.
pub async fn run(db: &Db) -> Result<()> {
    let done = match db.pools() {
        Pools::Sqlite { write, .. } => MIGRATOR.run(write).await,
        Pools::Postgres(pool) => MIGRATOR.run(pool).await,
    };
    done.map_err(|e| {
        Error::Migration(match e {
            MigrateError::VersionMissing(version) => format!(
                "The database was migrated to version {version}, which this binary does not know: it is newer. Start a binary of at \
                 least that version, or restore the backup that was taken before the upgrade."
            ),
            MigrateError::VersionMismatch(version) => format!(
                "Migration {version} was applied with another text than this binary carries. Do not edit a migration that has run: \
                 restore its file, or the database."
            ),
            other => format!("The migrations failed: {other}"),
        })
    })
}

/// The newest version that this binary knows.
pub fn newest_version() -> i64 {
    MIGRATOR.iter().map(|m| m.version).max().unwrap_or(0)
}
