//! A SQLite database in a folder of its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Dropping the value deletes the folder.
pub struct Sqlite {
    folder: TempDir,
}

impl Sqlite {
    /// A file that does not exist yet, in a fresh folder.
    pub fn fresh() -> Self {
        let folder = tempfile::Builder::new().prefix("muniment-sqlite.").tempdir();
        Self { folder: folder.expect("the temporary folder is writable") }
    }

    /// The address to open; the file is created where it is missing.
    pub fn url(&self) -> String {
        format!("sqlite://{}?mode=rwc", self.path().display())
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
