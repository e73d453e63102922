//! Why a chain could not be opened or written; each text says what to do.

use std::path::PathBuf;

/// Errors of opening, writing and serving a chain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}; check that the folder exists, is writable and has free space", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Another process has the chain open.
    #[error("{} is locked by another process; stop it, or give this one a data folder of its own", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// A record in the middle of the journal is damaged.
    #[error(
        "{} is damaged at byte {offset}: {reason}; restore the file and the database from the same backup, \
         or move both away to start a new chain",
        path.display()
    )]
    Corrupt {
        /// The journal.
        path: PathBuf,
        /// The offset of the bad frame.
        offset: u64,
        /// The reason.
        reason: String,
    },
    /// The stored chain is another one.
    #[error(
        "the stored chain has id {stored}, the configuration says {configured}; use the stored id or another data folder"
    )]
    ChainId {
        /// Id in the journal.
        stored: u64,
        /// Id in the configuration.
        configured: u64,
    },
    /// An earlier write failed and left the journal in an unknown state.
    #[error("an earlier write to the chain's journal failed; free space on the disk and restart")]
    Broken,
    /// The server could not be run.
    #[error("the chain's server stopped: {0}")]
    Serve(std::io::Error),
}

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
