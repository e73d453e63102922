//! Verifies the audit chain: computes it again from the entries and reports the first position that does not match.

use std::collections::HashMap;

use super::anchor::{CheckedAnchor, checked_anchors};
use super::{BEGINNING, Entry, head};
use crate::Result;
use crate::db::Tx;
use crate::id::AuditId;
use crate::sql::sql;

/// Positions in one read.
const PORTION: i64 = 1_000;

crate::words! {
    /// What is wrong at a position.
    ChainProblem {
        /// The chain has no hash there.
        SealMissing = "seal_missing",
        /// The hash does not follow the previous one.
        ChainBroken = "chain_broken",
        /// The entry is missing.
        LineMissing = "line_missing",
        /// The entry was changed after it was chained.
        LineChanged = "line_changed",
    }
}

/// The first position that does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Mismatch {
    pub position: i64,
    pub audit_id: Option<AuditId>,
    pub flaw: ChainProblem,
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct Verification {
    /// First position checked.
    pub from: i64,
    /// Last position checked.
    pub to: i64,
    /// First position that does not match.
    pub first_bad: Option<Mismatch>,
    /// The hash at the last matching position. If it is noted elsewhere, it shows later whether the chain was rewritten.
    pub hash: String,
    /// Position and hash of the newest chained entry.
    pub head: Option<(i64, String)>,
    /// Entries that are not chained yet.
    pub unsealed: i64,
    /// Entries neither chained nor waiting; negative if entries are missing. Anything but zero means that somebody bypassed the platform.
    pub unaccounted: i64,
    /// The newest anchors, checked whatever range was requested.
    pub anchors: Vec<CheckedAnchor>,
}

impl Verification {
    /// Whether everything matches.
    pub fn is_ok(&self) -> bool {
        self.first_bad.is_none() && self.unaccounted == 0 && self.anchors.iter().all(|weighed| weighed.flaw.is_none())
    }
}

#[derive(sqlx::FromRow)]
struct Seal {
    position: i64,
    audit_id: AuditId,
    prev_hash: String,
    hash: String,
}

/// Computes the chain again between two positions; without an end, up to `positions_max` positions.
pub async fn verify(tx: &mut Tx, from: i64, to: Option<i64>, positions_max: i64) -> Result<Verification> {
    let head = head(tx).await?;
    let newest = head.as_ref().map_or(0, |(position, _)| *position);
    let to = to.unwrap_or(newest).min(newest).min(from.saturating_add(positions_max - 1));
    // One statement, so that the three counts are of the same moment.
    let (lines, sealed, unsealed) = sql("select (select count(*) from audit_log), (select count(*) from audit_seals),
            (select count(*) from audit_unsealed)")
    .row::<(i64, i64, i64)>(tx)
    .await?;
    let before =
        sql("select hash from audit_seals where position = $1").bind(from - 1).optional_scalar::<String>(tx).await?;
    let (mut hash, mut first_bad, mut next) = (before.unwrap_or_else(|| BEGINNING.to_owned()), None, from);
    while next <= to && first_bad.is_none() {
        let until = to.min(next + PORTION - 1);
        let (seals, lines) = portion(tx, next, until).await?;
        let mut seals = seals.into_iter().peekable();
        for position in next..=until {
            let seal = seals.next_if(|seal| seal.position == position);
            match follow(&hash, seal.as_ref(), &lines) {
                Ok(followed) => hash = followed,
                Err(flaw) => {
                    first_bad = Some(Mismatch { position, audit_id: seal.map(|seal| seal.audit_id), flaw });
                    break;
                }
            }
        }
        next = until + 1;
    }
    let anchors = checked_anchors(tx).await?;
    Ok(Verification { from, to, first_bad, hash, head, unsealed, unaccounted: lines - sealed - unsealed, anchors })
}

async fn portion(tx: &mut Tx, from: i64, to: i64) -> Result<(Vec<Seal>, HashMap<AuditId, Entry>)> {
    let seals = sql("select * from audit_seals where position between $1 and $2 order by position")
        .bind((from, to))
        .rows::<Seal>(tx)
        .await?;
    let lines = sql("select a.* from audit_seals s join audit_log a on a.id = s.audit_id
        where s.position between $1 and $2")
    .bind((from, to))
    .rows::<Entry>(tx)
    .await?;
    Ok((seals, lines.into_iter().map(|line| (line.id.clone(), line)).collect()))
}

/// Returns the hash after this position if the position matches.
fn follow(previous: &str, seal: Option<&Seal>, lines: &HashMap<AuditId, Entry>) -> Result<String, ChainProblem> {
    let seal = seal.ok_or(ChainProblem::SealMissing)?;
    if seal.prev_hash != previous {
        return Err(ChainProblem::ChainBroken);
    }
    let line = lines.get(&seal.audit_id).ok_or(ChainProblem::LineMissing)?;
    let hash = line.hash_after(previous);
    if hash == seal.hash { Ok(hash) } else { Err(ChainProblem::LineChanged) }
}
