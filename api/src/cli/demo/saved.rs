//! `demo.env` in the demo's folder: the credentials, the addresses, and the finished exhibits. A shell can read the same file.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The name of the file.
pub const FILE: &str = "demo.env";

/// The names of the values.
pub mod name {
    pub const API: &str = "API";
    pub const CHAIN: &str = "CHAIN";
    pub const KEY: &str = "KEY";
    pub const PASSWORD: &str = "PASSWORD";
    pub const OFFERING: &str = "OFFERING";
    pub const SECOND: &str = "SECOND";
    pub const PID: &str = "DEMO_PID";
    pub const SINCE: &str = "SINCE";
    pub const STAGED: &str = "STAGED";
    pub const EXHIBIT: &str = "EXHIBIT";
}

/// The values of the file.
pub struct Saved {
    path: PathBuf,
    values: BTreeMap<String, String>,
}

impl Saved {
    /// Reads the file of a folder. A folder without one has no values.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| Failure::new(format!("{} cannot be read: {error}.", path.display())))?,
        };
        let pair = |line: &str| {
            let (name, value) = line.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('\'').to_owned()))
        };
        Ok(Self { path, values: text.lines().filter_map(pair).collect() })
    }

    /// Whether the folder has the file.
    pub fn is_there(&self) -> bool {
        !self.values.is_empty()
    }

    /// A value, or nothing.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// A value that every started demo has.
    pub fn need(&self, name: &str) -> Result<&str, Failure> {
        self.get(name)
            .ok_or_else(|| Failure::new(format!("{} has no {name}. Start the demo first.", self.path.display())))
    }

    /// Writes a value, and keeps the others. The file is replaced as a whole and readable by its owner alone.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        self.values.insert(name.to_owned(), value.to_owned());
        self.write().map_err(|error| Failure::new(format!("{} cannot be written: {error}.", self.path.display())))
    }

    fn write(&self) -> std::io::Result<()> {
        let draft = self.path.with_extension("draft");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        for (name, value) in &self.values {
            writeln!(file, "{name}='{value}'")?;
        }
        file.sync_all()?;
        std::fs::rename(&draft, &self.path)
    }
}
