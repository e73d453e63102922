//! What a claim of withheld money remembers: the sums of its accounts, and why each line was held before.

use muniment_domain::db::Tx;
use muniment_domain::entitlement::{self, HoldReason, Status};
use muniment_domain::operation::Operation;
use muniment_domain::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::engine::effect;

/// What an operation claims for one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// The units, as a decimal number.
    units: String,
    /// The number of its lines in the operation. After recoveries one account can have several; the contract pays them together.
    pub lines: usize,
}

impl Sum {
    /// The sum of these lines.
    pub fn of(lines: impl ExactSizeIterator<Item = u128>) -> Self {
        let count = lines.len();
        Self { units: lines.sum::<u128>().to_string(), lines: count }
    }
}

/// What an operation claims, in the order of its accounts.
pub fn sums(op: &Operation) -> Result<Vec<Sum>> {
    if op.payload.0["claims"].is_array() {
        return effect::payload(op, "claims");
    }
    // An operation of the first edition claims for one account.
    Ok(vec![Sum { units: effect::payload(op, "units")?, lines: effect::payload(op, "lines")? }])
}

/// The units of these sums.
pub fn units(op: &Operation, sums: &[Sum]) -> Result<Vec<u128>> {
    let unreadable =
        || Error::Unreadable { what: "operation", id: op.id.to_string(), why: "its sums cannot be read".to_owned() };
    sums.iter().map(|sum| sum.units.parse().ok()).collect::<Option<_>>().ok_or_else(unreadable)
}

/// Why a line was withheld before the operation claimed it.
pub fn before(op: &Operation, line: i64) -> Option<HoldReason> {
    let known = &op.payload.0["withheld"];
    let reason = usize::try_from(line).ok().and_then(|line| known.get(line)).unwrap_or(known);
    reason.as_str().and_then(|reason| reason.parse().ok())
}

/// Holds the lines of a claim that is given up again: their money stays in the contract. Returns whether it was a claim.
pub async fn give_up(tx: &mut Tx, op: &Operation) -> Result<bool> {
    if op.payload.0["withheld"].is_null() {
        return Ok(false);
    }
    let queued = entitlement::of_operation(tx, &op.id).await?.into_iter().filter(|e| e.status == Status::Queued);
    let kept: Vec<_> =
        queued.filter_map(|e| e.line_index).filter_map(|line| before(op, line).map(|reason| (line, reason))).collect();
    entitlement::withhold(tx, &op.id, &kept).await?;
    Ok(true)
}
