//! The reserved part of an offering's hard cap: one sum, updated in the commit of each move.

use crate::db::{Tx, expect_updated};
use crate::id::OfferingId;
use crate::money::Money;
use crate::offering::Offering;
use crate::sql::sql;
use crate::{Error, Result, timer};

/// Reserves an amount if the offering is open and has room.
pub async fn reserve(tx: &mut Tx, offering: &Offering, amount: i64) -> Result<()> {
    let rows = sql("update offerings set committed_total = committed_total + $2
        where id = $1 and status = 'open' and committed_total + $2 <= hard_cap")
    .bind((&offering.id, amount))
    .execute(tx)
    .await?;
    if rows != 1 {
        return Err(exceeded(offering));
    }
    if offering.committed_total + amount == offering.hard_cap {
        // The offering is full. It closes when no subscription can be withdrawn any more, so its timer is due now.
        timer::make_due(tx, &offering.id).await?;
    }
    Ok(())
}

/// The error for an amount above the room that is left.
pub fn exceeded(offering: &Offering) -> Error {
    let room = Money::from_minor((offering.hard_cap - offering.committed_total).max(0)).to_string();
    let detail = format!("The offering has only {room} {} left.", offering.currency);
    Error::field("/amount", "hard_cap_exceeded", detail).with_params(serde_json::json!({ "available": room }))
}

/// Adds an amount without a check of the cap, for the demo and tests.
pub async fn enter(tx: &mut Tx, offering_id: &OfferingId, amount: i64) -> Result<()> {
    let rows = sql("update offerings set committed_total = committed_total + $2 where id = $1")
        .bind((offering_id, amount))
        .execute(tx)
        .await?;
    expect_updated(rows, "offering", offering_id)
}

/// Releases the reserved amount of a subscription.
pub async fn release(tx: &mut Tx, offering_id: &OfferingId, amount: i64) -> Result<()> {
    let rows = sql("update offerings set committed_total = committed_total - $2
        where id = $1 and committed_total >= $2")
    .bind((offering_id, amount))
    .execute(tx)
    .await?;
    expect_updated(rows, "offering", offering_id)
}
