//! A backup of the demo's database, taken at each start, to try a restore from an older backup.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The database and its write-ahead log, which belong together.
const FILES: [&str; 2] = ["muniment.db", "muniment.db-wal"];

/// Takes the backup, before the database is open.
pub fn take(folder: &Path) -> Result<(), Failure> {
    let backup = beside(folder);
    std::fs::create_dir_all(&backup).map_err(|error| failed("taken", &error))?;
    copy(folder, &backup).map_err(|error| failed("taken", &error))
}

/// Replaces the database by the backup. No process may have the database open.
pub fn restore(folder: &Path) -> Result<(), Failure> {
    let backup = beside(folder);
    if !backup.join(FILES[0]).exists() {
        return Err(Failure::new(
            "There is no backup yet. The demo takes one at its second start, and at each further one.",
        ));
    }
    copy(&backup, folder).map_err(|error| failed("restored", &error))
}

fn beside(folder: &Path) -> PathBuf {
    folder.join("backup")
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for file in FILES {
        match std::fs::copy(from.join(file), to.join(file)) {
            // Without a log the database is complete, and an older log must not be applied to it.
            Err(error) if error.kind() == ErrorKind::NotFound => match std::fs::remove_file(to.join(file)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            },
            copied => drop(copied?),
        }
    }
    Ok(())
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("The backup could not be {what}: {error}."))
}
