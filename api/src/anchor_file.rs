//! The anchor file: what this host saw of the audit chain, on its own disk, where no database reaches. It only grows. Each line carries a code
//! over the line and the one before, under a key of the host, so that the file itself is a chain that only the host can continue.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use muniment_domain::audit::{self, Anchor};
use muniment_domain::db::Tx;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::config::Config;
use crate::failure::Failure;
use crate::secrets::Secrets;

const PURPOSE: &str = "audit anchor file";
/// How much of the end of the file is read to note a head.
const TAIL_BYTES: u64 = 64 * 1024;
/// How many of the newest heads a comparison reads: those of a day.
const HEADS_MAX: usize = 1_440;
/// The name of the file beside the secrets.
const NAME: &str = "audit-anchors.jsonl";

/// What the host saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Seen {
    /// The end of the chain.
    Head {
        /// The position.
        position: i64,
        /// The hash at this position.
        hash: String,
    },
    /// A signed anchor that is about to be stored. Only this one may be stored for its day, also after a crash.
    Signing(Signed),
    /// A signed anchor that is stored.
    Anchor(Signed),
}

/// An anchor, as the file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    from_position: i64,
    to_position: i64,
    day: String,
    root: String,
    head_hash: String,
    signature: String,
}

impl Signed {
    /// An anchor.
    pub fn of(a: &Anchor) -> Self {
        Self {
            from_position: a.from_position,
            to_position: a.to_position,
            day: a.day.clone(),
            root: a.root.clone(),
            head_hash: a.head_hash.clone(),
            signature: a.signature.clone(),
        }
    }
}

impl Seen {
    /// The last position that it is about, and the hash there.
    fn end(&self) -> (i64, &str) {
        match self {
            Self::Head { position, hash } => (*position, hash),
            Self::Signing(a) | Self::Anchor(a) => (a.to_position, &a.head_hash),
        }
    }
}

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    at: DateTime<Utc>,
    seen: Seen,
    mac: String,
}

/// What was done to the log, as the file shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditFinding {
    /// The newest entries were removed: the chain ends before a position that this host saw.
    TailCut,
    /// An entry up to this position was changed, and the chain computed again.
    LineChanged,
    /// The anchor that ends here was deleted.
    AnchorDeleted,
    /// Another anchor stands in the place of the one that this host saw.
    DayForged,
    /// The anchor file itself was changed at or before this line.
    FileChanged,
    /// The anchor file is missing.
    FileMissing,
}

/// The answer to whether a day may be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaySign {
    /// It was not signed.
    Yes,
    /// It was signed with this signature and perhaps not stored.
    Already(String),
    /// It was stored and is gone, or another chain was signed.
    No,
}

/// A finding with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AuditFileFinding)]
pub struct Found {
    /// What was done.
    finding: AuditFinding,
    /// The position in the chain; for the file itself, its line.
    position: i64,
    /// The day of the anchor.
    #[schema(example = "2026-11-20")]
    day: Option<String>,
}

/// The file.
#[derive(Clone, Debug)]
pub struct AnchorFile {
    path: PathBuf,
}

impl AnchorFile {
    /// The configured file; by default beside the secrets.
    pub fn of(config: &Config) -> Self {
        let beside = config.auth.key_file.parent().unwrap_or(Path::new("")).join(NAME);
        let named = &config.audit.anchor_file;
        Self { path: if named.as_os_str().is_empty() { beside } else { named.clone() } }
    }

    /// Refuses a file that cannot be written, and creates one that does not exist.
    pub fn check(&self) -> Result<(), Failure> {
        self.open().map(drop)
    }

    fn open(&self) -> Result<File, Failure> {
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path);
        opened.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &std::io::Error) -> Failure {
        let path = self.path.display();
        Failure::new(format!("The anchor file {path} cannot be used: {error}. Set audit.anchor_file to another path."))
    }

    /// Appends what was not seen before. Processes of one host take turns.
    pub fn note(&self, secrets: &Secrets, now: DateTime<Utc>, seen: &[Seen]) -> Result<(), Failure> {
        let mut file = self.open()?;
        file.lock().map_err(|error| self.failure(&error))?;
        let (mut before, mut is_whole, mut known) = (String::new(), true, Vec::new());
        // A head is compared with the last lines alone: the file has one for each minute of years.
        let is_head = seen.iter().all(|seen| matches!(seen, Seen::Head { .. }));
        let from = if is_head { file.metadata().map_or(0, |file| file.len().saturating_sub(TAIL_BYTES)) } else { 0 };
        file.seek(SeekFrom::Start(from)).map_err(|error| self.failure(&error))?;
        each_line(&file, |line, ends| {
            is_whole = ends;
            if let Ok(Line { seen, mac, .. }) = line {
                before = mac;
                if is_head || !matches!(seen, Seen::Head { .. }) {
                    known.push(seen);
                }
            }
        })
        .map_err(|error| self.failure(&error))?;
        // A line that a crash cut off is left where it is, and the next one begins anew.
        let mut added = if is_whole { String::new() } else { "\n".to_owned() };
        for seen in seen.iter().filter(|seen| !known.contains(seen)) {
            let [a, b, c] = parts(&before, now, seen);
            let mac = secrets.text_mac(PURPOSE, &[&a, &b, &c]);
            let line = Line { at: now, seen: (*seen).clone(), mac: mac.clone() };
            added += &format!("{}\n", serde_json::json!(line));
            before = mac;
        }
        if added.trim().is_empty() {
            return Ok(());
        }
        file.write_all(added.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| self.failure(&error))
    }

    /// Whether a drafted anchor may be signed, or was signed already.
    pub fn may_sign(&self, draft: &Anchor) -> Result<MaySign, Failure> {
        let (mut verdict, unsigned) = (MaySign::Yes, Signed { signature: String::new(), ..Signed::of(draft) });
        self.read(|line| match line.map(|line| line.seen) {
            // Stored once, and now it is not there.
            Ok(Seen::Anchor(a)) if a.to_position >= draft.from_position => verdict = MaySign::No,
            Ok(Seen::Signing(a)) if a.to_position >= draft.from_position && verdict != MaySign::No => {
                let signature = a.signature.clone();
                let is_same = Signed { signature: String::new(), ..a } == unsigned;
                verdict = if is_same { MaySign::Already(signature) } else { MaySign::No };
            }
            _ => {}
        })?;
        Ok(verdict)
    }

    fn read(&self, with: impl FnMut(Result<Line, ()>)) -> Result<(), Failure> {
        let mut with = with;
        match File::open(&self.path) {
            Ok(file) => each_line(&file, |line, _| with(line)).map_err(|error| self.failure(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Compares the database with what this host saw. Without the secrets the file's own codes are not checked.
    pub async fn compare(&self, tx: &mut Tx, secrets: Option<&Secrets>) -> Result<Vec<Found>, Failure> {
        let place = |finding, position, day| Found { finding, position, day };
        if !self.path.exists() {
            let anchors = audit::anchors(tx).await?;
            return Ok(anchors
                .last()
                .map(|a| place(AuditFinding::FileMissing, a.to_position, None))
                .into_iter()
                .collect());
        }
        let (mut found, mut kept, mut heads) = (Vec::new(), Vec::new(), VecDeque::new());
        let (mut chain, mut number, mut changed) = (String::new(), 0, None);
        self.read(|line| {
            number += 1;
            if secrets.is_some_and(|secrets| changed.is_none() && !follows(secrets, &mut chain, line.as_ref().ok())) {
                changed = Some(number);
            }
            match line.map(|line| line.seen) {
                Ok(head @ Seen::Head { .. }) => heads.push_back(head),
                Ok(anchor) => kept.push(anchor),
                Err(()) => {}
            }
            // The anchors cover the heads of the days before.
            if heads.len() > HEADS_MAX {
                heads.pop_front();
            }
        })?;
        if let Some(number) = changed {
            found.push(place(AuditFinding::FileChanged, number, None));
        }
        let anchors: HashMap<_, _> =
            audit::anchors(tx).await?.into_iter().map(|a| (a.from_position, Signed::of(&a))).collect();
        let head = audit::head(tx).await?.map_or(0, |(position, _)| position);
        for seen in kept.into_iter().chain(heads) {
            let (end, hash) = seen.end();
            if end > head {
                found.push(place(AuditFinding::TailCut, head, None));
            } else if audit::hash_at(tx, end).await?.as_deref() != Some(hash) {
                found.push(place(AuditFinding::LineChanged, end, None));
            }
            if let Seen::Anchor(a) = &seen {
                match anchors.get(&a.from_position) {
                    None => found.push(place(AuditFinding::AnchorDeleted, end, Some(a.day.clone()))),
                    Some(stored) if stored != a => found.push(place(AuditFinding::DayForged, end, Some(a.day.clone()))),
                    Some(_) => {}
                }
            }
        }
        // One cut or change shows at every later line; the first of each kind says where it begins.
        let mut first: Vec<Found> = Vec::new();
        for found in found {
            let once = matches!(found.finding, AuditFinding::TailCut | AuditFinding::LineChanged);
            if !(once && first.iter().any(|known| known.finding == found.finding)) {
                first.push(found);
            }
        }
        Ok(first)
    }
}

/// Reads the lines from the present place of a file on, each with whether it ends. In the middle of a file the first one may be cut.
fn each_line(file: &File, mut with: impl FnMut(Result<Line, ()>, bool)) -> std::io::Result<()> {
    let (mut lines, mut text) = (BufReader::new(file), String::new());
    while lines.read_line(&mut text)? > 0 {
        let ends = text.ends_with('\n');
        if !text.trim().is_empty() {
            with(serde_json::from_str(&text).map_err(drop), ends);
        }
        text.clear();
    }
    Ok(())
}

fn parts(before: &str, at: DateTime<Utc>, seen: &Seen) -> [Vec<u8>; 3] {
    [before.into(), at.to_rfc3339().into(), serde_json::json!(seen).to_string().into()]
}

/// Whether a line follows the code before it, by a key of this host. The code becomes the line's own.
fn follows(secrets: &Secrets, before: &mut String, line: Option<&Line>) -> bool {
    let Some(line) = line else { return false };
    let [a, b, c] = parts(before, line.at, &line.seen);
    line.mac.clone_into(before);
    secrets.text_macs(PURPOSE, &[&a, &b, &c]).contains(&line.mac)
}
