//! The journal: an append-only file of frames, each checked by length and checksum.
//!
//! A frame is `MBLK`, the payload's length (4 bytes, little-endian), the first 8 bytes of the
//! Keccak-256 of length and payload, and the payload. A frame is one commit: it is there or not.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use alloy::primitives::Keccak256;

use crate::error::{Error, Result};

const MARK: &[u8; 4] = b"MBLK";
const HEAD: usize = 16;

/// An open journal, positioned at its end.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

/// The next frame at an offset of a journal.
enum NextFrame<'a> {
    Complete(&'a [u8]),
    End,
    Damage(&'static str),
}

impl Journal {
    /// Opens or creates the journal and hands every payload to `replay`, oldest first.
    ///
    /// A last frame that is incomplete was never acknowledged to anybody and is cut off.
    pub fn open(path: &Path, mut replay: impl FnMut(&[u8]) -> Result<(), String>) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        let bytes = std::fs::read(path).map_err(io)?;
        let mut offset = 0;
        let corrupt =
            |offset: usize, reason: String| Error::Corrupt { path: path.to_owned(), offset: offset as u64, reason };
        loop {
            match next(&bytes[offset..]) {
                NextFrame::End => break,
                NextFrame::Complete(payload) => {
                    replay(payload).map_err(|reason| corrupt(offset, reason))?;
                    offset += HEAD + payload.len();
                }
                NextFrame::Damage(reason) => {
                    // Only a tail can be torn: whatever a whole frame follows was once whole too.
                    if whole_frame_in(&bytes[offset + 1..]) {
                        return Err(corrupt(offset, reason.to_owned()));
                    }
                    tracing::warn!(journal.offset = offset, journal.reason = reason, "cut off a torn last record");
                    file.set_len(offset as u64).map_err(io)?;
                    file.sync_all().map_err(io)?;
                    break;
                }
            }
        }
        file.seek(SeekFrom::Start(offset as u64)).map_err(io)?;
        sync_parent(path).map_err(io)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// A journal that cannot be written.
    #[cfg(test)]
    pub fn read_only(path: &Path) -> Self {
        Self { file: File::open(path).unwrap(), path: path.to_owned() }
    }

    /// Appends one frame and waits until the disk has it.
    pub fn append(&mut self, payload: &[u8]) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        if u32::try_from(payload.len()).is_err() {
            return Err(io(ErrorKind::FileTooLarge.into()));
        }
        self.file.write_all(&frame(payload)).map_err(io)?;
        self.file.sync_data().map_err(io)
    }
}

/// A new file is durable only when its folder is.
fn sync_parent(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn checksum(length: &[u8], payload: &[u8]) -> [u8; 8] {
    let mut hasher = Keccak256::new();
    hasher.update(length);
    hasher.update(payload);
    let digest = hasher.finalize();
    let mut sum = [0; 8];
    sum.copy_from_slice(&digest[..8]);
    sum
}

/// The bytes of one frame.
fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(&checksum(&length, payload));
    bytes.extend_from_slice(payload);
    bytes
}

/// Reads what begins at the front of `bytes`.
fn next(bytes: &[u8]) -> NextFrame<'_> {
    if bytes.is_empty() {
        return NextFrame::End;
    }
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else { return NextFrame::Damage("the frame's head is cut") };
    let (mark, sizes) = head.split_at(4);
    let (length, sum) = sizes.split_at(4);
    if mark != MARK {
        return NextFrame::Damage("no frame begins here");
    }
    let size = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    match rest.get(..size) {
        None => NextFrame::Damage("the frame's payload is cut"),
        Some(payload) if checksum(length, payload) != sum => NextFrame::Damage("the checksum does not match"),
        Some(payload) => NextFrame::Complete(payload),
    }
}

fn whole_frame_in(bytes: &[u8]) -> bool {
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| window == MARK);
    marks.into_iter().any(|(offset, _)| matches!(next(&bytes[offset..]), NextFrame::Complete(_)))
}

#[cfg(test)]
#[path = "journal_test.rs"]
mod test;
