//! Anchors: one signed root hash for each day of the audit chain. It is signed outside the database, with a key that the database
//! does not have.

use chrono::{DateTime, NaiveTime, Utc};
use serde_json::{Value, json};

use super::Entry;
use super::tree::{self, Sibling};
use crate::db::Tx;
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result};

/// Chain positions in one anchor; a busy day has several anchors.
const POSITIONS_MAX: i64 = 65_536;
/// How many of the newest anchors a verification checks.
const ANCHORS_MAX: i64 = 400;

crate::words! {
    /// What is wrong with an anchor.
    AnchorProblem {
        /// The chain ends before it.
        Cut = "cut",
        /// The chain has another hash at the anchor's last position.
        Differs = "differs",
        /// The previous anchor is missing.
        Gap = "gap",
        /// No key of this installation signed it.
        SignatureInvalid = "signature_invalid",
    }
}

/// One row of `audit_anchors`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0023_audit.sql explains those that need it.
pub struct Anchor {
    pub from_position: i64,
    pub to_position: i64,
    pub day: String,
    pub root: String,
    pub head_hash: String,
    pub signature: String,
    pub created_at: DateTime<Utc>,
}

impl Anchor {
    /// The signed statement.
    pub fn statement(&self) -> Value {
        json!({ "from_position": self.from_position, "to_position": self.to_position, "day": self.day, "root": self.root,
            "head_hash": self.head_hash })
    }
}

/// An anchor with the result of its check against the chain.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct CheckedAnchor {
    pub anchor: Anchor,
    pub flaw: Option<AnchorProblem>,
}

/// A chained entry with the path from its hash to the root of an anchor.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Proof {
    pub position: i64,
    pub prev_hash: String,
    pub hash: String,
    /// The text that was hashed after `prev_hash`.
    pub text: String,
    /// None until the day of the entry is over.
    pub anchor: Option<Anchor>,
    pub way: Vec<Sibling>,
}

/// The next unsigned anchor. None until the day of the next entries is over and all of them are chained.
pub async fn draft(tx: &mut Tx) -> Result<Option<Anchor>> {
    let anchored = sql("select max(to_position) from audit_anchors").scalar::<Option<i64>>(tx).await?;
    let from = anchored.unwrap_or(0) + 1;
    let head = sql("select max(position) from audit_seals").scalar::<Option<i64>>(tx).await?;
    let (head, end) = (head.unwrap_or(0), from + POSITIONS_MAX - 1);
    let today = tx.now().date_naive().and_time(NaiveTime::MIN).and_utc();
    let Some(first) = written_at(tx, from).await? else { return Ok(None) };
    // A full anchor ends at its limit; otherwise with the last entry before today.
    let to = match (head >= end, first < today) {
        (true, _) => Some(end),
        (false, true) => {
            sql("select max(s.position) from audit_seals s join audit_log a on a.id = s.audit_id
                 where s.position between $1 and $2 and a.at < $3")
            .bind((from, end, today))
            .scalar::<Option<i64>>(tx)
            .await?
        }
        (false, false) => None,
    };
    let Some(to) = to else { return Ok(None) };
    let hashes = hashes(tx, from, to).await?;
    let Some(head_hash) = hashes.last().cloned() else { return Ok(None) };
    let day = written_at(tx, to).await?.unwrap_or(first).format("%Y-%m-%d").to_string();
    let (root, signature, created_at) = (tree::root(&hashes), String::new(), tx.now());
    Ok(Some(Anchor { from_position: from, to_position: to, day, root, head_hash, signature, created_at }))
}

/// Stores a signed anchor. False if another process stored it first.
pub async fn insert_anchor(tx: &mut Tx, a: &Anchor) -> Result<bool> {
    let rows = insert_into("audit_anchors")
        .set("from_position", a.from_position)
        .set("to_position", a.to_position)
        .set("day", &a.day)
        .set("root", &a.root)
        .set("head_hash", &a.head_hash)
        .set("signature", &a.signature)
        .set("created_at", a.created_at)
        .push(" on conflict do nothing")
        .execute(tx)
        .await?;
    Ok(rows == 1)
}

/// All anchors, oldest first.
pub async fn anchors(tx: &mut Tx) -> Result<Vec<Anchor>> {
    sql("select * from audit_anchors order by from_position").rows(tx).await
}

/// The newest anchors, newest first, checked against the chain.
pub(super) async fn checked_anchors(tx: &mut Tx) -> Result<Vec<CheckedAnchor>> {
    let anchors = sql("select * from audit_anchors order by from_position desc limit $1")
        .bind(ANCHORS_MAX)
        .rows::<Anchor>(tx)
        .await?;
    let mut weighed = Vec::with_capacity(anchors.len());
    for (place, anchor) in anchors.iter().enumerate() {
        let found = sql("select hash from audit_seals where position = $1")
            .bind(anchor.to_position)
            .optional_scalar::<String>(tx)
            .await?;
        let before = anchors.get(place + 1).map(|before| before.to_position);
        // The anchor before the oldest one checked here is not loaded, so its gap cannot be checked.
        let last_looked_at = i64::try_from(place + 1) == Ok(ANCHORS_MAX);
        let flaw = match found {
            None => Some(AnchorProblem::Cut),
            Some(hash) if hash != anchor.head_hash => Some(AnchorProblem::Differs),
            Some(_) if before.unwrap_or(0) + 1 != anchor.from_position && !last_looked_at => Some(AnchorProblem::Gap),
            Some(_) => None,
        };
        weighed.push(CheckedAnchor { anchor: anchor.clone(), flaw });
    }
    Ok(weighed)
}

/// The proof of an entry by its id or position; `not_found` if it does not exist or is not chained yet.
pub async fn proof(tx: &mut Tx, line: &str) -> Result<Proof> {
    // A position has one spelling: digits without a sign or leading zeros.
    let is_number = line.bytes().all(|byte| byte.is_ascii_digit()) && !line.starts_with('0');
    let position = line.parse::<i64>().ok().filter(|_| is_number).unwrap_or(0);
    let seal = sql("select position, audit_id, prev_hash, hash from audit_seals
        where audit_id = $1 or position = $2")
    .bind((line, position))
    .optional::<(i64, String, String, String)>(tx)
    .await?;
    let unknown = || {
        Error::refused(
            Code::NotFound,
            format!("There is no chained audit entry {line}. A new entry is chained after a few seconds."),
        )
    };
    let (position, audit_id, prev_hash, hash) = seal.ok_or_else(unknown)?;
    let stored = sql("select * from audit_log where id = $1").bind(&audit_id).optional::<Entry>(tx).await?;
    let text = stored.ok_or_else(unknown)?.canonical();
    let anchor = sql("select * from audit_anchors where from_position <= $1 and to_position >= $1
        order by from_position desc limit 1")
    .bind(position)
    .optional::<Anchor>(tx)
    .await?;
    let way = match &anchor {
        Some(anchor) => {
            let hashes = hashes(tx, anchor.from_position, anchor.to_position).await?;
            tree::path(&hashes, usize::try_from(position - anchor.from_position).unwrap_or(0))
        }
        None => Vec::new(),
    };
    Ok(Proof { position, prev_hash, hash, text, anchor, way })
}

async fn hashes(tx: &mut Tx, from: i64, to: i64) -> Result<Vec<String>> {
    sql("select hash from audit_seals where position between $1 and $2 order by position")
        .bind((from, to))
        .scalars(tx)
        .await
}

async fn written_at(tx: &mut Tx, position: i64) -> Result<Option<DateTime<Utc>>> {
    sql("select a.at from audit_seals s join audit_log a on a.id = s.audit_id where s.position = $1")
        .bind(position)
        .optional_scalar(tx)
        .await
}
