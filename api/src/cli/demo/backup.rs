//! A backup of the demo's database, taken at each start, to try what a restore from an older backup means.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The database and its write-ahead log, which belong together.
const FILES: [&str; 2] = ["muniment.db", "muniment.db-wal"];

/// Takes the backup. The database is not open yet.
pub fn take(folder: &Path) -> Result<(), Failure> {
    let backup = beside(folder);
    std::fs::create_dir_all(&backup).map_err(|error| failed("taken", &error))?;
    copy(folder, &backup).map_err(|error| failed("taken", &error))
}

/// Puts it in the place of the database, which no process may have open.
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
            // Without a log everything is in the database, and an old log must not be applied to it.
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
