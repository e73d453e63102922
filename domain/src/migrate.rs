//! The migrations, carried in the binary.

use sqlx::ConnectOptions;
use sqlx::migrate::{MigrateError, Migrator};

use crate::db::{Conn, Db, Pools};
use crate::{Error, Result, on};

static MIGRATOR: Migrator = sqlx::migrate!();

/// Brings the tables up to this binary. A database that is newer is refused: an old binary must not write to it.
pub async fn run(db: &Db) -> Result<()> {
    let done = match db.pools() {
        Pools::Sqlite { write, .. } => MIGRATOR.run(write).await,
        // On a connection of its own, because building an index may take longer than any other statement, and so may waiting for the process
        // that builds it.
        Pools::Postgres(pool) => {
            let unbounded = pool.connect_options().as_ref().clone().options([("statement_timeout", "0")]);
            let mut connection = unbounded.connect().await?;
            MIGRATOR.run_direct(None, &mut connection, false).await
        }
    };
    let done = done.map_err(|e| {
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
    });
    done?;
    crate::audit::raise(db).await?;
    crate::wall::raise(db).await
}

/// The newest version that this binary knows.
pub fn newest_version() -> i64 {
    MIGRATOR.iter().map(|m| m.version).max().unwrap_or(0)
}

/// The newest version that was applied to the database; none where no migration ran yet.
pub async fn applied_version(db: &Db) -> Result<Option<i64>> {
    let mut tx = db.read().await?;
    // Each engine keeps the list of its tables elsewhere.
    let exists = match &mut tx.conn {
        Conn::Sqlite(conn) => {
            sqlx::query_scalar::<_, bool>(
                "select exists (select 1 from sqlite_master where name = 'muniment_migrations')",
            )
            .fetch_one(&mut **conn)
            .await?
        }
        Conn::Postgres(conn) => {
            sqlx::query_scalar("select to_regclass('muniment_migrations') is not null").fetch_one(&mut **conn).await?
        }
    };
    if !exists {
        return Ok(None);
    }
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, Option<i64>>("select max(version) from muniment_migrations").fetch_one(conn).await?),
    )
}

/// Which of these extensions PostgreSQL offers here; SQLite needs none.
pub async fn extensions_offered(db: &Db, names: &[&str]) -> Result<Vec<String>> {
    let Pools::Postgres(pool) = db.pools() else { return Ok(names.iter().map(|&n| n.to_owned()).collect()) };
    Ok(sqlx::query_scalar("select cast(name as text) from pg_available_extensions where name = any($1)")
        .bind(names)
        .fetch_all(pool)
        .await?)
}

#[cfg(test)]
mod tests;
