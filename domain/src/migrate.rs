//! The migrations, embedded in the binary.

use sqlx::ConnectOptions;
use sqlx::migrate::{MigrateError, Migrator};

use crate::db::{Conn, Db, Pools};
use crate::sql::sql;
use crate::{Error, Result};

static MIGRATOR: Migrator = sqlx::migrate!();

/// Migrates the database to this binary's version. A newer database is refused, because an old binary must not write to it.
pub async fn run(db: &Db) -> Result<()> {
    let done = match db.pools() {
        Pools::Sqlite { write, .. } => MIGRATOR.run(write).await,
        // A separate connection without a statement timeout, because building an index, or waiting for a process that builds it, can take
        // longer than any other statement.
        Pools::Postgres(pool) => {
            let unbounded = pool.connect_options().as_ref().clone().options([("statement_timeout", "0")]);
            let mut connection = unbounded.connect().await?;
            MIGRATOR.run_direct(None, &mut connection, false).await
        }
    };
    let done = done.map_err(|e| {
        Error::Migration(match e {
            MigrateError::VersionMissing(version) => format!(
                "The database was migrated to version {version}, which is newer than this binary. Start a binary of at \
                 least that version, or restore the backup that was taken before the upgrade."
            ),
            MigrateError::VersionMismatch(version) => format!(
                "Migration {version} was applied with another text than this binary has. Never edit a migration that has run: \
                 restore its file, or the database."
            ),
            other => format!("The migrations failed: {other}"),
        })
    });
    done?;
    crate::audit::create_triggers(db).await?;
    crate::row_security::create_policies(db).await
}

/// The newest version in this binary.
pub fn newest_version() -> i64 {
    MIGRATOR.iter().map(|m| m.version).max().unwrap_or(0)
}

/// The newest version applied to the database; none before the first migration.
pub async fn applied_version(db: &Db) -> Result<Option<i64>> {
    let mut tx = db.read().await?;
    // The two databases list their tables in different places.
    let exists = match tx.conn {
        Conn::Sqlite(..) => sql("select exists (select 1 from sqlite_master where name = 'muniment_migrations')"),
        Conn::Postgres(..) => sql("select to_regclass('muniment_migrations') is not null"),
    };
    if !exists.scalar::<bool>(&mut tx).await? {
        return Ok(None);
    }
    sql("select max(version) from muniment_migrations").scalar(&mut tx).await
}

/// Which of these extensions PostgreSQL offers; SQLite needs none.
pub async fn extensions_offered(db: &Db, names: &[&str]) -> Result<Vec<String>> {
    let Pools::Postgres(pool) = db.pools() else { return Ok(names.iter().map(|&n| n.to_owned()).collect()) };
    Ok(sqlx::query_scalar("select cast(name as text) from pg_available_extensions where name = any($1)")
        .bind(names)
        .fetch_all(pool)
        .await?)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod word_checks;
