//! A SQLite database in a folder of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::kept::Kept;

/// How long a statement waits for the platform's: a machine may be busy with other tests.
const BUSY: Duration = Duration::from_secs(180);

/// Dropping the value deletes the folder.
pub struct Sqlite {
    folder: TempDir,
    kept: Kept<SqliteConnection>,
}

impl Sqlite {
    /// A file that does not exist yet, in a fresh folder.
    pub fn fresh() -> Self {
        let folder = tempfile::Builder::new().prefix("muniment-sqlite.").tempdir();
        Self { folder: folder.expect("the temporary folder is writable"), kept: Kept::none() }
    }

    /// The address to open; the file is created where it is missing.
    pub fn url(&self) -> String {
        format!("sqlite://{}?mode=rwc", self.path().display())
    }

    /// A connection past the platform's code, for `keep` afterwards.
    pub async fn connect(&self) -> SqliteConnection {
        match self.kept.take().await {
            Some(kept) => kept,
            None => {
                let options = SqliteConnectOptions::new().filename(self.path()).busy_timeout(BUSY);
                options.connect().await.expect("the file is a database")
            }
        }
    }

    /// Keeps a connection for the next statement.
    pub fn keep(&self, connection: SqliteConnection) {
        self.kept.give_back(connection);
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("muniment.db")
    }

    /// Its folder, for files beside the database.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
