//! The anchor file: what this host saw of the audit chain, on its own disk, where no database reaches. It only grows. Each line carries a code
//! over the line and the one before, under a key of the host, so that the file itself is a chain that only the host can continue.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
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
    /// A signed anchor.
    Anchor {
        /// The first position.
        from_position: i64,
        /// The last position.
        to_position: i64,
        /// The day.
        day: String,
        /// The root over these positions.
        root: String,
        /// The hash at the last position.
        head_hash: String,
        /// The signature.
        signature: String,
    },
}

impl Seen {
    /// An anchor.
    pub fn anchor(a: &Anchor) -> Self {
        Self::Anchor {
            from_position: a.from_position,
            to_position: a.to_position,
            day: a.day.clone(),
            root: a.root.clone(),
            head_hash: a.head_hash.clone(),
            signature: a.signature.clone(),
        }
    }

    /// The last position that it is about, and the hash there.
    fn end(&self) -> (i64, &str) {
        match self {
            Self::Head { position, hash } => (*position, hash),
            Self::Anchor { to_position, head_hash, .. } => (*to_position, head_hash),
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
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| self.failure(&error))?;
        let known = lines(&text);
        let mut before =
            known.last().and_then(|line| line.as_ref().ok()).map_or_else(String::new, |line| line.mac.clone());
        // A line that a crash cut off is left where it is, and the next one begins anew.
        let mut added = if text.is_empty() || text.ends_with('\n') { String::new() } else { "\n".to_owned() };
        for seen in seen.iter().filter(|seen| !known.iter().flatten().any(|line| line.seen == **seen)) {
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

    /// The last position that an anchor in the file covers. Nothing up to it is signed again.
    pub fn anchored(&self) -> Result<i64, Failure> {
        let ends = self.read()?.into_iter().flatten().filter_map(|line| match line.seen {
            Seen::Anchor { to_position, .. } => Some(to_position),
            Seen::Head { .. } => None,
        });
        Ok(ends.max().unwrap_or(0))
    }

    fn read(&self) -> Result<Vec<Result<Line, ()>>, Failure> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(lines(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
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
        let lines = self.read()?;
        let mut found = Vec::new();
        if let Some(number) = secrets.and_then(|secrets| first_changed(secrets, &lines)) {
            found.push(place(AuditFinding::FileChanged, number, None));
        }
        let anchors: HashMap<_, _> =
            audit::anchors(tx).await?.into_iter().map(|a| (a.from_position, Seen::anchor(&a))).collect();
        let head = audit::head(tx).await?.map_or(0, |(position, _)| position);
        for line in lines.into_iter().flatten() {
            let (end, hash) = line.seen.end();
            if end > head {
                found.push(place(AuditFinding::TailCut, head, None));
            } else if audit::hash_at(tx, end).await?.as_deref() != Some(hash) {
                found.push(place(AuditFinding::LineChanged, end, None));
            }
            if let Seen::Anchor { from_position, day, .. } = &line.seen {
                match anchors.get(from_position) {
                    None => found.push(place(AuditFinding::AnchorDeleted, end, Some(day.clone()))),
                    Some(stored) if *stored != line.seen => {
                        found.push(place(AuditFinding::DayForged, end, Some(day.clone())))
                    }
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

fn lines(text: &str) -> Vec<Result<Line, ()>> {
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).map_err(drop)).collect()
}

fn parts(before: &str, at: DateTime<Utc>, seen: &Seen) -> [Vec<u8>; 3] {
    [before.into(), at.to_rfc3339().into(), serde_json::json!(seen).to_string().into()]
}

/// The number of the first line whose code is not the one of this host.
fn first_changed(secrets: &Secrets, lines: &[Result<Line, ()>]) -> Option<i64> {
    let mut before = String::new();
    for (number, line) in (1..).zip(lines) {
        let Ok(line) = line else { return Some(number) };
        let [a, b, c] = parts(&before, line.at, &line.seen);
        if !secrets.text_macs(PURPOSE, &[&a, &b, &c]).contains(&line.mac) {
            return Some(number);
        }
        line.mac.clone_into(&mut before);
    }
    None
}
