//! Verifying: the chain is computed again from the lines, and the first place where it does not fit is named.

use std::collections::HashMap;

use super::anchor::{Weighed, weighed};
use super::{BEGINNING, Line, head};
use crate::db::Tx;
use crate::{Result, on};

/// How many seals one look takes.
const PORTION: i64 = 1_000;

crate::words! {
    /// What is wrong with a position.
    Flaw {
        /// There is no seal.
        SealMissing = "seal_missing",
        /// The seal does not follow the one before.
        ChainBroken = "chain_broken",
        /// There is no line under the seal.
        LineMissing = "line_missing",
        /// The line is another one than was sealed.
        LineChanged = "line_changed",
    }
}

/// The first position that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Bad {
    pub position: i64,
    pub audit_id: Option<String>,
    pub flaw: Flaw,
}

/// What a verification found.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The first position that was looked at.
    pub from: i64,
    /// The last one; everything behind it is not looked at.
    pub to: i64,
    /// The first position that does not fit.
    pub first_bad: Option<Bad>,
    /// The hash at the last position that fits. Noted elsewhere, it shows later whether the chain was written anew.
    pub hash: String,
    /// Position and hash of the newest seal.
    pub head: Option<(i64, String)>,
    /// Lines that wait for their seal.
    pub unsealed: i64,
    /// Lines more than are sealed or wait; fewer, if it is negative. Both are somebody's work past the platform.
    pub unaccounted: i64,
    /// The newest anchors, whatever part was asked for.
    pub anchors: Vec<Weighed>,
}

impl Verdict {
    /// Whether nothing was found.
    pub fn is_ok(&self) -> bool {
        self.first_bad.is_none() && self.unaccounted == 0 && self.anchors.iter().all(|weighed| weighed.flaw.is_none())
    }
}

#[derive(sqlx::FromRow)]
struct Seal {
    position: i64,
    audit_id: String,
    prev_hash: String,
    hash: String,
}

/// Computes the chain again from one position to another; without a last one, up to so many.
pub async fn verify(tx: &mut Tx, from: i64, to: Option<i64>, positions_max: i64) -> Result<Verdict> {
    let head = head(tx).await?;
    let newest = head.as_ref().map_or(0, |(position, _)| *position);
    let to = to.unwrap_or(newest).min(newest).min(from.saturating_add(positions_max - 1));
    // One statement, so that all three are of one moment.
    let (lines, sealed, unsealed) = on!(tx, conn => sqlx::query_as::<_, (i64, i64, i64)>(
        "select (select count(*) from audit_log), (select count(*) from audit_seals), (select count(*) from audit_unsealed)")
        .fetch_one(conn).await?);
    let before = on!(tx, conn => sqlx::query_scalar::<_, String>("select hash from audit_seals where position = $1")
        .bind(from - 1).fetch_optional(conn).await?);
    let (mut hash, mut first_bad, mut next) = (before.unwrap_or_else(|| BEGINNING.to_owned()), None, from);
    while next <= to && first_bad.is_none() {
        let until = to.min(next + PORTION - 1);
        let (seals, lines) = portion(tx, next, until).await?;
        let mut seals = seals.into_iter().peekable();
        for position in next..=until {
            let seal = seals.next_if(|seal| seal.position == position);
            match judge(&hash, seal.as_ref(), &lines) {
                Ok(followed) => hash = followed,
                Err(flaw) => {
                    first_bad = Some(Bad { position, audit_id: seal.map(|seal| seal.audit_id), flaw });
                    break;
                }
            }
        }
        next = until + 1;
    }
    let anchors = weighed(tx).await?;
    Ok(Verdict { from, to, first_bad, hash, head, unsealed, unaccounted: lines - sealed - unsealed, anchors })
}

async fn portion(tx: &mut Tx, from: i64, to: i64) -> Result<(Vec<Seal>, HashMap<String, Line>)> {
    let seals = on!(tx, conn => sqlx::query_as::<_, Seal>("select * from audit_seals where position between $1 and $2 order by position")
        .bind(from).bind(to).fetch_all(conn).await?);
    let lines = on!(tx, conn => sqlx::query_as::<_, Line>(
        "select a.* from audit_seals s join audit_log a on a.id = s.audit_id where s.position between $1 and $2")
        .bind(from).bind(to).fetch_all(conn).await?);
    Ok((seals, lines.into_iter().map(|line| (line.id.clone(), line)).collect()))
}

/// The hash that the next seal follows, if this one fits.
fn judge(previous: &str, seal: Option<&Seal>, lines: &HashMap<String, Line>) -> Result<String, Flaw> {
    let seal = seal.ok_or(Flaw::SealMissing)?;
    if seal.prev_hash != previous {
        return Err(Flaw::ChainBroken);
    }
    let line = lines.get(&seal.audit_id).ok_or(Flaw::LineMissing)?;
    let hash = line.hash_after(previous);
    if hash == seal.hash { Ok(hash) } else { Err(Flaw::LineChanged) }
}
