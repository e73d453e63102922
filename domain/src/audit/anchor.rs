//! Anchors: what the chain had come to at the end of each day, as one hash. The signature is made outside, by a key that the database does not
//! have.

use chrono::{DateTime, NaiveTime, Utc};
use serde_json::{Value, json};

use super::Line;
use super::tree::{self, Sibling};
use crate::db::Tx;
use crate::{Code, Error, Result, on};

/// How many positions one anchor holds; a busier day has several.
const POSITIONS_MAX: i64 = 65_536;
/// How many anchors a verification looks at, the newest ones.
const ANCHORS_MAX: i64 = 400;

crate::words! {
    /// What is wrong with an anchor, or shown by it.
    AnchorFlaw {
        /// The chain ends before it.
        Cut = "cut",
        /// Another hash stands at its last position.
        Differs = "differs",
        /// The one before it is missing.
        Gap = "gap",
        /// No key of this installation has signed what it says.
        SignatureInvalid = "signature_invalid",
    }
}

/// One anchor.
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
    /// What is signed.
    pub fn statement(&self) -> Value {
        json!({ "from_position": self.from_position, "to_position": self.to_position, "day": self.day, "root": self.root,
            "head_hash": self.head_hash })
    }
}

/// An anchor beside the chain as it is now.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Weighed {
    pub anchor: Anchor,
    pub flaw: Option<AnchorFlaw>,
}

/// A sealed line, with the way from its hash up to an anchor's root.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Proof {
    pub position: i64,
    pub prev_hash: String,
    pub hash: String,
    /// What was hashed behind `prev_hash`.
    pub text: String,
    /// None until its day is over.
    pub anchor: Option<Anchor>,
    pub way: Vec<Sibling>,
}

/// The next anchor, not signed yet; none while the day of what is not anchored goes on, or not all of it is sealed.
pub async fn draft(tx: &mut Tx) -> Result<Option<Anchor>> {
    let anchored = on!(tx, conn => sqlx::query_scalar::<_, Option<i64>>("select max(to_position) from audit_anchors").fetch_one(conn).await?);
    let from = anchored.unwrap_or(0) + 1;
    let head = on!(tx, conn => sqlx::query_scalar::<_, Option<i64>>("select max(position) from audit_seals").fetch_one(conn).await?);
    let (head, end) = (head.unwrap_or(0), from + POSITIONS_MAX - 1);
    let today = tx.now().date_naive().and_time(NaiveTime::MIN).and_utc();
    let Some(first) = written_at(tx, from).await? else { return Ok(None) };
    let to = match (head >= end, first < today) {
        (true, _) => Some(end),
        (false, true) => {
            on!(tx, conn => sqlx::query_scalar::<_, Option<i64>>(
                "select max(s.position) from audit_seals s join audit_log a on a.id = s.audit_id \
                 where s.position between $1 and $2 and a.at < $3")
                .bind(from).bind(end).bind(today).fetch_one(conn).await?)
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

/// Keeps a signed anchor; false if another process was first.
pub async fn insert_anchor(tx: &mut Tx, a: &Anchor) -> Result<bool> {
    let rows = on!(tx, conn => sqlx::query(
        "insert into audit_anchors (from_position, to_position, day, root, head_hash, signature, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing")
        .bind(a.from_position).bind(a.to_position).bind(&a.day).bind(&a.root).bind(&a.head_hash).bind(&a.signature).bind(a.created_at)
        .execute(conn).await?.rows_affected());
    Ok(rows == 1)
}

/// The newest anchors, the newest first, beside the chain.
pub(super) async fn weighed(tx: &mut Tx) -> Result<Vec<Weighed>> {
    let anchors = on!(tx, conn => sqlx::query_as::<_, Anchor>("select * from audit_anchors order by from_position desc limit $1")
        .bind(ANCHORS_MAX).fetch_all(conn).await?);
    let mut weighed = Vec::with_capacity(anchors.len());
    for (place, anchor) in anchors.iter().enumerate() {
        let found = on!(tx, conn => sqlx::query_scalar::<_, String>("select hash from audit_seals where position = $1")
            .bind(anchor.to_position).fetch_optional(conn).await?);
        let before = anchors.get(place + 1).map(|before| before.to_position);
        let last_looked_at = i64::try_from(place + 1) == Ok(ANCHORS_MAX);
        let flaw = match found {
            None => Some(AnchorFlaw::Cut),
            Some(hash) if hash != anchor.head_hash => Some(AnchorFlaw::Differs),
            Some(_) if before.unwrap_or(0) + 1 != anchor.from_position && !last_looked_at => Some(AnchorFlaw::Gap),
            Some(_) => None,
        };
        weighed.push(Weighed { anchor: anchor.clone(), flaw });
    }
    Ok(weighed)
}

/// The proof of a line, by its id or its position; `not_found` if there is none, or it is not sealed yet.
pub async fn proof(tx: &mut Tx, line: &str) -> Result<Proof> {
    // One spelling for each: no signs, no zeros in front.
    let is_number = line.bytes().all(|byte| byte.is_ascii_digit()) && !line.starts_with('0');
    let position = line.parse::<i64>().ok().filter(|_| is_number).unwrap_or(0);
    let seal = on!(tx, conn => sqlx::query_as::<_, (i64, String, String, String)>(
        "select position, audit_id, prev_hash, hash from audit_seals where audit_id = $1 or position = $2")
        .bind(line).bind(position).fetch_optional(conn).await?);
    let unknown = || {
        Error::refused(
            Code::NotFound,
            format!("There is no sealed line {line}; a new one waits some seconds for its seal."),
        )
    };
    let (position, audit_id, prev_hash, hash) = seal.ok_or_else(unknown)?;
    let stored = on!(tx, conn => sqlx::query_as::<_, Line>("select * from audit_log where id = $1").bind(&audit_id).fetch_optional(conn).await?);
    let text = stored.ok_or_else(unknown)?.canonical();
    let anchor = on!(tx, conn => sqlx::query_as::<_, Anchor>(
        "select * from audit_anchors where from_position <= $1 and to_position >= $1 order by from_position desc limit 1")
        .bind(position).fetch_optional(conn).await?);
    let way = match &anchor {
        Some(anchor) => {
            let hashes = hashes(tx, anchor.from_position, anchor.to_position).await?;
            tree::way(&hashes, usize::try_from(position - anchor.from_position).unwrap_or(0))
        }
        None => Vec::new(),
    };
    Ok(Proof { position, prev_hash, hash, text, anchor, way })
}

async fn hashes(tx: &mut Tx, from: i64, to: i64) -> Result<Vec<String>> {
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, String>("select hash from audit_seals where position between $1 and $2 order by position")
        .bind(from).bind(to).fetch_all(conn).await?),
    )
}

async fn written_at(tx: &mut Tx, position: i64) -> Result<Option<DateTime<Utc>>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, DateTime<Utc>>(
        "select a.at from audit_seals s join audit_log a on a.id = s.audit_id where s.position = $1")
        .bind(position).fetch_optional(conn).await?))
}
